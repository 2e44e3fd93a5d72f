"""Remarks on comparisons with null, and of texts with numbers, dates and timestamps, which let nothing pass."""

import re
from collections.abc import Sequence

from streamapp_core.expressions.type_rules import NUMERIC
from streamapp_core.expressions.typed_sql import Remark, Value
from streamapp_core.schema import TypeKind

_NUMBER = re.compile(r"\s*([+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?[df]?|[+-]?inf(inity)?|nan)\s*", re.IGNORECASE)
_MOMENT = re.compile(r"\s*[+-]?\d{4,7}(-\d{1,2}(-\d{1,2}([ T].*)?)?)?\s*|.*:.*", re.DOTALL)
_MOMENTS = {
    TypeKind.DATE: "'2026-01-31'",
    TypeKind.TIMESTAMP: "'2026-01-31' or '2026-01-31 12:00:00'",
    TypeKind.TIMESTAMP_NTZ: "'2026-01-31' or '2026-01-31 12:00:00'",
}


_NULL = Remark(
    message="a comparison with null is always null, which is not true",
    repair="write `is null`, `is not null`, or `<=>` where both sides may be null",
)
_NULL_IN_LIST = Remark(
    message="null in a list of `in` equals nothing, and no row passes a `not in` of such a list",
    repair="leave it out, and add `or ... is null` where rows without a value are meant",
)


def remarks_on_list(choices: Sequence[Value]) -> tuple[Remark, ...]:
    """Return what a person should know of the list of an `in`."""
    return (_NULL_IN_LIST,) if any(choice.type is None for choice in choices) else ()


def remarks_on(operator: str, left: Value, right: Value) -> tuple[Remark, ...]:
    """Return what a person should know of a comparison of two values: that a text is taken for what it may not be."""
    if operator != "<=>" and (left.type is None or right.type is None):
        return (_NULL,)
    for one, other in ((left, right), (right, left)):
        if one.kind is TypeKind.STRING:
            remark = _of_literal(one.literal, other) if isinstance(one.literal, str) else _of_text(one, other)
            return () if remark is None else (remark,)
    return ()


def _of_literal(literal: str, other: Value) -> Remark | None:
    if other.kind in NUMERIC:
        what, written = "number", _NUMBER.fullmatch(literal)
        repair = "compare it with a number"
    elif other.kind in _MOMENTS:
        what, written = str(other.type), _MOMENT.fullmatch(literal)
        repair = f"write {_MOMENTS[other.kind]}"
    else:
        return None
    if written is not None:
        return None
    return Remark(
        message=f"'{literal}' is no {what}: it is compared as null, which is not true of anything", repair=repair
    )


def _of_text(text: Value, other: Value) -> Remark | None:
    if other.kind not in NUMERIC:
        return None
    name = "a text" if text.column is None else f"`{text.column}`, a text,"
    cut = (
        "" if other.kind in (TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.DECIMAL) else " without what is behind the point"
    )
    repair = "give the column a number's type in the schema of its stream, cast it (`cast(... as double)`)"
    return Remark(
        message=f"{name} is compared with a number: it is read as {other.type}{cut}, and where it is none, the "
        "comparison is null, which is not true",
        repair=f"{repair}, or compare it with a text ('5')",
    )
