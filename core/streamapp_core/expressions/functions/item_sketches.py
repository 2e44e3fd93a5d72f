"""Sketches of items: their types, and the most frequent items in one."""

from streamapp_core.data_types import Column, array_of, struct_of
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.kernels import FREQUENT_ITEMS
from streamapp_core.expressions.number_literals import whole
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import BIGINT, BINARY, INT, STRING, DataType, TypeKind

MOST_TRACKED, FOUND = 1_000_000, 5
ITEMS = {
    TypeKind.BOOLEAN: "item BOOLEAN NOT NULL",
    TypeKind.TINYINT: "item TINYINT NOT NULL",
    TypeKind.SMALLINT: "item SMALLINT NOT NULL",
    TypeKind.INT: "item INT NOT NULL",
    TypeKind.BIGINT: "item BIGINT NOT NULL",
    TypeKind.DATE: "item DATE NOT NULL",
    TypeKind.TIMESTAMP: "item TIMESTAMP NOT NULL",
    TypeKind.TIMESTAMP_NTZ: "item TIMESTAMP_NTZ NOT NULL",
    TypeKind.STRING: "item string not null",
}
"""How Spark writes the types of items."""


def found_items(sketch: Value, most: Value | None = None) -> Value:
    """Write `approx_top_k_estimate`."""
    if most is not None and not whole(most, 1, MOST_TRACKED):
        raise invalid(f"the second argument of approx_top_k_estimate is how many items are found: up to {MOST_TRACKED}")
    item = item_type("approx_top_k_estimate", sketch)
    result = items_type(item)
    number = FOUND if most is None else int(str(most.literal))

    def write(value: str) -> str:
        found = FREQUENT_ITEMS.over(
            text(item.kind.value), f"{value}['sketch']", f"{value}['maxItemsTracked']", str(number)
        )
        return f"list_transform({found}, lambda __i: {{'item': {_of_text('__i.item', item)}, 'count': __i.count}})"

    return Value(result, cast(bound([sketch], write), result))


def _of_text(sql: str, item: DataType) -> str:
    if item.kind is TypeKind.DATE:
        return f"TRY(DATE '1970-01-01' + {cast(sql, INT)})"
    if item.kind in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ):
        return cast(f"make_timestamp({cast(sql, BIGINT)})", item)
    return sql if item == STRING else cast(sql, item)


def item_type(name: str, sketch: Value) -> DataType:
    """Return the type of the items of a sketch.

    Raises:
        Refusal: It is no sketch.
    """
    fields = sketch.type.fields if sketch.type and sketch.kind is TypeKind.STRUCT else ()
    types = [field.type for field in fields]
    named = [field.name for field in fields] == ["sketch", "maxItemsTracked", "itemDataType", "itemDataTypeDDL"]
    if not named or types[:2] != [BINARY, INT] or types[2].kind not in ITEMS or types[3] != STRING:
        raise Refusal(f"{name} takes what approx_top_k_accumulate makes, got {sketch.type}")
    return types[2]


def items_type(item: DataType) -> DataType:
    """Return the type of items with the number of each."""
    return array_of(struct_of([Column("item", item), Column("count", BIGINT)]))


def item_sketch_type(item: DataType) -> DataType:
    """Return the type of a sketch of items, which describes itself."""
    fields = ("sketch", BINARY), ("maxItemsTracked", INT), ("itemDataType", item), ("itemDataTypeDDL", STRING)
    return struct_of([Column(name, data_type) for name, data_type in fields])
