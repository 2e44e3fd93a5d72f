"""Arrays, maps and structs in DuckDB SQL: access to what is inside, their casts, texts and order, as in Spark.

A null stays null on every level; what is not there is null. DuckDB counts elements from 1, Spark from 0.
"""

from collections.abc import Callable, Sequence

from streamapp_core.data_types import (
    INT,
    NESTED,
    VOID,
    Column,
    DataType,
    SchemaError,
    TypeKind,
    array_of,
    check_field_name,
    struct_of,
)
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.type_rules import INTEGRAL
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.problems import ProblemCode

Convert = Callable[[Value, DataType], Value]

_ELEMENT = "__e"
_JOINED = " || ', ' || "


def each(sql: str, element: DataType, body: Callable[[Value], str]) -> str:
    """Write a list of what `body` makes of every element of a list."""
    made = body(Value(element, _ELEMENT, simple=True))
    return sql if made == _ELEMENT else f"list_transform({sql}, lambda {_ELEMENT}: {made})"


def struct_sql(fields: Sequence[tuple[str, str]]) -> str:
    """Write a struct of names and values."""
    return "{" + ", ".join(f"{text(name)}: {sql}" for name, sql in fields) + "}"


def part(sql: str, name: str, data_type: DataType) -> Value:
    """Return a field of a struct; the name is written as in its type."""
    # The cast gives a constant null its type.
    return Value(data_type, cast(f"struct_extract({sql}, {text(name)})", data_type), simple=True)


def entries(value: Value) -> Value:
    """Return the entries of a map: structs of `key` and `value`."""
    data_type = value.type or VOID
    return Value(array_of(struct_of(data_type.fields)), f"map_entries({value.sql})")


def converted_entries(value: Value, target: DataType, convert: Convert) -> str:
    """Write the entries of a map of the target's type, out of a list of structs of a key and a value."""
    entry = value.type.element if value.type else VOID

    def rebuilt(inner: Value) -> str:
        key, held = parts(inner.sql, entry)
        return struct_sql([("key", key.sql), ("value", convert(held, target.value).sql)])

    return each(value.sql, entry, rebuilt)


def parts(sql: str, data_type: DataType) -> list[Value]:
    """Return the fields of a struct in order."""
    return [part(sql, field.name, field.type) for field in data_type.fields]


def over_struct(value: Value, write: Callable[[list[Value]], str]) -> str:
    """Write what is made of the fields of a struct; null for a null struct."""
    data_type = value.type or VOID
    return bound([value], lambda v: f"CASE WHEN {v} IS NULL THEN NULL ELSE {write(parts(v, data_type))} END")


def field(value: Value, name: str) -> Value:
    """Write `value.name`: a field of a struct, those of an array's structs, or a map's value of that key.

    Raises:
        Refusal: There is no such field, or the value has none.
    """
    data_type = value.type or VOID
    match data_type.kind:
        case TypeKind.STRUCT:
            found = _find(data_type, name)
            inner = part(value.sql, found.name, found.type)
            return Value(found.type, inner.sql, simple=value.simple)
        case TypeKind.ARRAY if data_type.element.kind is TypeKind.STRUCT:
            found = _find(data_type.element, name)
            sql = each(value.sql, data_type.element, lambda e: part(e.sql, found.name, found.type).sql)
            return Value(array_of(found.type), sql)
        case TypeKind.MAP if data_type.key.kind is TypeKind.STRING:
            return _value_of(value, data_type, text(name))
        case _:
            raise Refusal(f"`{name}` is looked for in a value of type {data_type}, which has no fields")


def item(value: Value, index: Value, implied: Convert) -> Value:
    """Write `value[index]`: an element by its position from 0, or a map's value of a key; null if there is none.

    Raises:
        Refusal: The value has no elements, or the index is of another type.
    """
    data_type = value.type or VOID
    if data_type.kind is TypeKind.MAP:
        return _value_of(value, data_type, implied(index, data_type.key).sql)
    structs = data_type.kind is TypeKind.STRUCT or (
        data_type.kind is TypeKind.ARRAY and data_type.element.kind is TypeKind.STRUCT
    )
    if structs and isinstance(index.literal, str):
        return field(value, index.literal)
    if data_type.kind is not TypeKind.ARRAY:
        raise Refusal(f"[...] takes an element of an array or map, got {data_type}")
    if index.type is not None and index.kind not in INTEGRAL:
        raise Refusal(f"the position of an element is a whole number, got {index.type}")

    def write(i: str) -> str:
        return f"CASE WHEN {i} >= 0 THEN list_extract({value.sql}, CAST({i} AS BIGINT) + 1) END"

    return Value(data_type.element, cast(bound([implied(index, INT)], write), data_type.element))


def array(elements: Sequence[Value]) -> Value:
    """Write an array of values of one type; of a bare null each is null."""
    element = elements[0].type or VOID if elements else VOID
    listed = ", ".join(value.sql for value in elements)
    return Value(array_of(element), cast(f"[{listed}]", array_of(element)))


def struct(fields: Sequence[tuple[str, Value]]) -> Value:
    """Write a struct.

    Raises:
        Refusal: A name is empty or taken, or there is none.
    """
    try:
        for name, _ in fields:
            check_field_name(name)
        data_type = struct_of([Column(name, value.type or VOID) for name, value in fields])
    except SchemaError as error:
        raise invalid(f"{error}; give fields names by named_struct('a', ..., 'b', ...)") from None
    sql = struct_sql([(name, value.sql if value.type else cast("NULL", VOID)) for name, value in fields])
    return Value(data_type, sql)


def converted(value: Value, target: DataType, convert: Convert) -> Value | None:
    """Cast a nested value part by part, structs by the order of their fields; None if there is no such cast.

    Raises:
        Refusal: A part can't be cast.
    """
    source = value.type or VOID
    if source.kind is TypeKind.VOID:
        return Value(target, cast("NULL", target))
    if source.kind is not target.kind or source.kind not in NESTED or len(source.fields) != len(target.fields):
        return None
    if source.kind is TypeKind.ARRAY:
        return Value(target, each(value.sql, source.element, lambda e: convert(e, target.element).sql))
    if source.kind is TypeKind.STRUCT:

        def rebuild(fields: list[Value]) -> str:
            pairs = zip(fields, target.fields, strict=True)
            return struct_sql([(to.name, convert(inner, to.type).sql) for inner, to in pairs])

        return Value(target, over_struct(value, rebuild))
    _check_keys(source.key, target.key)

    def entry(element: Value) -> str:
        key, held = parts(element.sql, struct_of(source.fields))
        return struct_sql([("key", convert(key, target.key).sql), ("value", convert(held, target.value).sql)])

    pairs = entries(value)
    return Value(target, f"map_from_entries({each(pairs.sql, struct_of(source.fields), entry)})")


def text_of(value: Value, to_text: Callable[[Value], str]) -> str:
    """Write a nested value as text: `[1, null]`, `{a -> 1}`, `{1, x}`."""
    data_type = value.type or VOID

    def shown(inner: Value) -> str:
        return f"coalesce({to_text(inner)}, 'null')"

    if data_type.kind is TypeKind.STRUCT:
        return over_struct(value, lambda fields: f"'{{' || {_JOINED.join(map(shown, fields))} || '}}'")
    if data_type.kind is TypeKind.ARRAY:
        return f"'[' || array_to_string({each(value.sql, data_type.element, shown)}, ', ') || ']'"

    def entry(element: Value) -> str:
        key, held = parts(element.sql, struct_of(data_type.fields))
        return f"{to_text(key)} || ' -> ' || {shown(held)}"

    return f"'{{' || array_to_string({each(entries(value).sql, struct_of(data_type.fields), entry)}, ', ') || '}}'"


def order_key(value: Value) -> str:
    """Write a value that DuckDB sorts and compares as Spark does `value`: nulls inside come before all others."""
    data_type = value.type or VOID
    if data_type.kind is TypeKind.ARRAY:
        return each(value.sql, data_type.element, _ranked)
    if data_type.kind is TypeKind.STRUCT:
        return over_struct(
            value, lambda fields: struct_sql([(f"f{number}", _ranked(inner)) for number, inner in enumerate(fields)])
        )
    return value.sql


def _ranked(value: Value) -> str:
    return struct_sql([("there", f"{value.sql} IS NOT NULL"), ("value", order_key(value))])


def _value_of(value: Value, data_type: DataType, key: str) -> Value:
    return Value(data_type.value, cast(f"map_extract_value({value.sql}, {key})", data_type.value))


def _find(data_type: DataType, name: str) -> Column:
    found = data_type.get(name)
    if found is None:
        names = ", ".join(inner.name for inner in data_type.fields[:20])
        raise Refusal(f"there is no field `{name[:80]}`; fields: {names}", ProblemCode.UNKNOWN_COLUMN)
    return found


def _check_keys(source: DataType, target: DataType) -> None:
    """Refuse casts of keys that could make two of them equal, or null."""
    wider = source.kind in INTEGRAL and target.kind in INTEGRAL and source.kind in _NARROWER.get(target.kind, ())
    exact = source == target or wider or (target.kind is TypeKind.STRING and source.kind in (*INTEGRAL, _DATE))
    if not exact and source.kind is not TypeKind.VOID:
        raise Refusal(f"keys of a map can't be cast from {source} to {target}")


_DATE = TypeKind.DATE
_NARROWER = {
    TypeKind.SMALLINT: (TypeKind.TINYINT,),
    TypeKind.INT: (TypeKind.TINYINT, TypeKind.SMALLINT),
    TypeKind.BIGINT: (TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT),
}
