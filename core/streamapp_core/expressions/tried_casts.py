"""`try_cast`: null of what does not fit, where a cast wraps around, saturates or cuts."""

from streamapp_core.expressions import nested_values
from streamapp_core.expressions.conversions import WHOLE_BITS, converted
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL
from streamapp_core.expressions.typed_sql import Value, bound
from streamapp_core.schema import DataType, TypeKind

_WHOLE_TEXT = r"^[\x00-\x20\x7f]*[+-]?[0-9]+[\x00-\x20\x7f]*$"
_SAFE = frozenset({TypeKind.STRING, TypeKind.BOOLEAN, TypeKind.DATE, TypeKind.TIMESTAMP_NTZ})
"""Types of which a cast is null already where it does not fit, but for texts of whole numbers."""


def tried(value: Value, target: DataType) -> Value:
    """Write `try_cast(value as target)`.

    Raises:
        Refusal: There is no such cast here.
    """
    texts = (
        target.kind is TypeKind.STRING and value.kind is not TypeKind.DECIMAL
    )  # which try_cast writes in another form
    if value.type is None or value.type == target or texts or value.kind is TypeKind.VARIANT:
        return converted(value, target)
    nested = nested_values.converted(value, target, tried)
    if nested is not None:
        return nested
    if target.kind in WHOLE_BITS and value.kind is not TypeKind.BOOLEAN:
        return Value(target, bound([value], lambda v: _whole(Value(value.type, v, simple=True), target)))
    number = value.kind in (*INTEGRAL, *FRACTIONAL, TypeKind.DECIMAL)
    of_number = number and target.kind not in (TypeKind.TIMESTAMP, TypeKind.STRING)  # where try_cast gives other values
    if value.kind in _SAFE or of_number or _is_day(value, target):
        return converted(value, target)
    raise Refusal(f"try_cast takes no {value.type} to {target}; use cast")


def _is_day(value: Value, target: DataType) -> bool:
    moments = (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ)
    return value.kind in moments and target.kind in moments


def _whole(value: Value, target: DataType) -> str:
    result, v = converted(value, target).sql, value.sql
    half = 2 ** (WHOLE_BITS[target.kind] - 1)
    if value.kind is TypeKind.STRING:
        return f"CASE WHEN regexp_matches({v}, '{_WHOLE_TEXT}') THEN {result} END"
    if value.kind in INTEGRAL:
        return f"CASE WHEN {v} BETWEEN -{half} AND {half - 1} THEN {result} END"
    if value.kind in FRACTIONAL:
        fits = f"floor({v}) <= {half - 1}::DOUBLE AND ceil({v}) >= -{half}::DOUBLE"
        return f"CASE WHEN {fits} THEN {result} END"
    if value.kind is TypeKind.DECIMAL and target.kind is not TypeKind.BIGINT:
        return f"CASE WHEN trunc({v}) BETWEEN -{half} AND {half - 1} THEN {result} END"
    raise Refusal(f"try_cast takes no {value.type} to {target}; use cast")
