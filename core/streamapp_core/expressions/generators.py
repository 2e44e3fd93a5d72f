"""Generators: explode, inline, stack and their like make many rows of one, each from the elements of lists.

Of json_tuple the lists have one element.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from streamapp_core.data_types import VARIANT, array_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.comparisons import alike
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.kernels import JSON_FIELDS, VARIANT_MEMBERS
from streamapp_core.expressions.typed_sql import NULL, Value, cast
from streamapp_core.schema import INT, STRING, VOID, TypeKind

GeneratedColumn = tuple[str, Value]
"""The name of a column, unless another one is given, and the list of its values, one for each row that is made."""


def generated(name: str, arguments: Sequence[Value]) -> list[GeneratedColumn]:
    """Return the columns that a generator makes; all lists of a row have the same length, and a null makes no row.

    Raises:
        Refusal: The arguments are others than it takes.
    """
    generator, outer = name.removesuffix("_outer"), name.endswith("_outer")
    if generator == "stack":
        return _stacked(arguments)
    if name == "json_tuple":
        return _json_fields(arguments)
    if len(arguments) != 1:
        raise invalid(f"{name} takes one argument, got {len(arguments)}")
    columns = _GENERATORS[generator](name, arguments[0])
    return [(column, _outer(values, columns[-1][1])) for column, values in columns] if outer else columns


def _exploded(name: str, value: Value) -> list[GeneratedColumn]:
    data_type = value.type or VOID
    if data_type.kind is TypeKind.MAP:
        return [
            ("key", Value(array_of(data_type.key), f"map_keys({value.sql})")),
            ("value", Value(array_of(data_type.value), f"map_values({value.sql})")),
        ]
    if data_type.kind is not TypeKind.ARRAY:
        raise Refusal(f"{name} takes an array or map, got {data_type}")
    return [("col", value)]


def _with_places(name: str, value: Value) -> list[GeneratedColumn]:
    columns = _exploded(name, value)
    places = f"range(len({columns[0][1].sql}))"
    return [("pos", Value(array_of(INT), cast(places, array_of(INT)))), *columns]


def _members(name: str, value: Value) -> list[GeneratedColumn]:
    if value.type != VARIANT:
        raise Refusal(f"{name} takes a variant, got {value.type}; parse_json makes one of a JSON text")
    return _inlined(name, Value(VARIANT_MEMBERS.result, VARIANT_MEMBERS.over(value.sql)))


def _inlined(name: str, value: Value) -> list[GeneratedColumn]:
    data_type = value.type or VOID
    element = data_type.element if data_type.kind is TypeKind.ARRAY else VOID
    if element.kind is not TypeKind.STRUCT:
        raise Refusal(f"{name} takes an array of structs, got {data_type}")
    return [
        (field.name, Value(array_of(field.type), nested_values.each(value.sql, element, part)))
        for field in element.fields
        for part in [partial(_field, field.name)]
    ]


def _field(name: str, element: Value) -> str:
    return nested_values.field(element, name).sql


def _stacked(arguments: Sequence[Value]) -> list[GeneratedColumn]:
    rows = arguments[0].literal if arguments else None
    values = list(arguments[1:])
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1 or not values:
        raise invalid("stack takes the number of rows, a literal from 1 on, then the values of one row after the other")
    width = -(-len(values) // rows)
    values += [NULL] * (rows * width - len(values))
    columns = (alike(values[place::width], texts=False) for place in range(width))
    return [(f"col{place}", nested_values.array(column)) for place, column in enumerate(columns)]


def _json_fields(arguments: Sequence[Value]) -> list[GeneratedColumn]:
    if len(arguments) < 2 or any(argument.type != STRING for argument in arguments):  # noqa: PLR2004
        raise invalid("json_tuple takes a JSON text, then the names of fields, which are texts")
    found = JSON_FIELDS.over(*(argument.sql for argument in arguments))
    return [
        (f"c{place}", Value(array_of(STRING), f"{found}[{place + 1}:{place + 1}]"))
        for place in range(len(arguments) - 1)
    ]


def _outer(values: Value, others: Value) -> Value:
    """Return a list with one null in place of an empty list, or of null."""
    data_type = values.type or VOID
    nothing = cast("[NULL]", data_type)
    return Value(data_type, f"CASE WHEN coalesce(len({others.sql}), 0) = 0 THEN {nothing} ELSE {values.sql} END")


_GENERATORS: Mapping[str, Callable[[str, Value], list[GeneratedColumn]]] = {
    "explode": _exploded,
    "posexplode": _with_places,
    "inline": _inlined,
    "variant_explode": _members,
}
