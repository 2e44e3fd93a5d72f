"""Casts between variants and other values. The kernels go row by row."""

from collections.abc import Callable, Mapping

from streamapp_core.data_types import INTERVALS, SPATIAL, VARIANT, VARIANT_PARTS, VOID, all_types
from streamapp_core.expressions import nested_values, text_formats
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.kernel_texts import parsed_texts
from streamapp_core.expressions.kernels import MADE_VARIANT, READ_VARIANT
from streamapp_core.expressions.local_times import read_in, shown_in
from streamapp_core.expressions.session_zone import session_zone
from streamapp_core.expressions.typed_sql import Value, bound, cast, text, try_cast
from streamapp_core.schema import STRING, DataType, TypeKind

_MAKERS = {
    TypeKind.DATE: "TRY(DATE '1970-01-01' + CAST({} AS INTEGER))",
    TypeKind.TIMESTAMP: "TRY(make_timestamptz(CAST({} AS BIGINT)))",
    TypeKind.TIMESTAMP_NTZ: "TRY(make_timestamp(CAST({} AS BIGINT)))",
}
"""The moments of numbers behind an at sign, which count what the type counts."""


def to_variant(value: Value, *, objects: bool) -> Value:
    """Write a value as a variant; structs and maps become objects only where that is asked for.

    Raises:
        Refusal: There is no variant of its type.
    """
    data_type = value.type or VOID
    kinds = data_type.kinds
    if not objects and kinds & {TypeKind.STRUCT, TypeKind.MAP}:
        raise Refusal(f"{data_type} can't be cast to variant: write to_variant_object(...)")
    keys = (part.key for part in all_types(data_type) if part.kind is TypeKind.MAP)
    if kinds & (INTERVALS | SPATIAL | {TypeKind.VOID}) or any(key != STRING for key in keys):
        raise Refusal(f"there is no variant of {data_type}: no intervals, nulls without a type, and keys but strings")
    return Value(VARIANT, MADE_VARIANT.over(text(str(data_type)), value.sql))


def from_variant(value: Value, target: DataType) -> str:
    """Write the SQL of a cast of a variant; null where what it holds does not fit.

    Raises:
        Refusal: There is no such cast.
    """
    for part in all_types(target):
        if part.kind in INTERVALS or (part.kind is TypeKind.MAP and part.key != STRING):
            raise Refusal(f"variant can't be cast to {target}")
    read = READ_VARIANT.over(value.sql, text(str(target)), text(session_zone().id))
    if not target.nested:
        return _scalar(read, target)
    return _typed(parsed_texts(read, target), target).sql


def _typed(value: Value, target: DataType) -> Value:
    """Write a value of the type out of texts."""
    if target.kind is TypeKind.MAP:
        entries = nested_values.converted_entries(value, target, _typed)
        return Value(target, cast(f"map_from_entries({entries})", target))
    if target.nested:
        return nested_values.converted(value, target, _typed) or value
    return Value(target, _scalar(value.sql, target))


def _scalar(sql: str, target: DataType) -> str:
    writer = _WRITERS.get(target.kind)
    return writer(sql, target) if writer else try_cast(sql, target)


def _variant(sql: str) -> str:
    parts = [(part, f"unhex(split_part({sql}, ':', {place}))") for place, part in enumerate(VARIANT_PARTS, 1)]
    return cast(f"CASE WHEN {sql} IS NOT NULL THEN {nested_values.struct_sql(parts)} END", VARIANT)


def _moment(sql: str, target: DataType) -> str:
    """Write a date or timestamp of a text, or of a number behind a sign: by a tilde, another type is counted."""
    if target.kind is TypeKind.DATE:
        read = text_formats.date_from_text(sql)
    else:
        read = text_formats.timestamp_from_text(sql, zoned=target.kind is TypeKind.TIMESTAMP)
    if target.kind is TypeKind.TIMESTAMP:
        other = read_in(session_zone(), f"make_timestamp(CAST({sql}[2:] AS BIGINT))")
    else:
        other = cast(shown_in(session_zone(), f"make_timestamptz(CAST({sql}[2:] AS BIGINT))"), target)
    same = _MAKERS[target.kind].format(f"{sql}[2:]")
    cases = f"WHEN starts_with({sql}, '@') THEN {same} WHEN starts_with({sql}, '~') THEN TRY({other})"
    return f"CASE {cases} ELSE {read} END"


_WRITERS: Mapping[TypeKind, Callable[[str, DataType], str]] = {
    TypeKind.STRING: lambda sql, _: sql,
    TypeKind.BOOLEAN: lambda sql, _: text_formats.boolean_from_text(Value(STRING, sql)),
    TypeKind.FLOAT: text_formats.floating_from_text,
    TypeKind.DOUBLE: text_formats.floating_from_text,
    TypeKind.DECIMAL: text_formats.decimal_from_text,
    TypeKind.BINARY: lambda sql, _: f"from_base64({sql})",
    TypeKind.VARIANT: lambda sql, _: bound([Value(STRING, sql)], _variant),
    **dict.fromkeys(_MAKERS, lambda sql, target: bound([Value(STRING, sql)], lambda v: _moment(v, target))),
}
