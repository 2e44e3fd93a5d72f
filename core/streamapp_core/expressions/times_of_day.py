"""Timestamps of a date and a literal of a time of day: `make_timestamp(day, time'06:30:45.887')`."""

import re
from collections.abc import Sequence

from sqlglot import exp

from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions import BY_NAME
from streamapp_core.expressions.literals import number
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import DATE, TypeKind

_MAKERS = frozenset(
    prefix + name for prefix in ("", "try_") for name in ("make_timestamp", "make_timestamp_ltz", "make_timestamp_ntz")
)
_FORM = re.compile(r"([01]?\d|2[0-3]):([0-5]\d):([0-5]\d(?:\.\d{1,6})?)", re.ASCII)


def has_time_of_day(name: str, arguments: Sequence[exp.Expr]) -> bool:
    """Return whether a call makes a timestamp of something and a literal of a time of day."""
    time = arguments[1] if name in _MAKERS and len(arguments) in (2, 3) else None
    return type(time) is exp.Cast and time.to.this is exp.DType.TIME


def moment_of_day(name: str, time: exp.Expr, day: Value, zone: Sequence[Value]) -> Value:
    """Write the call of `name`, as one of numbers.

    Raises:
        Refusal: The first argument is no date, or the time not written in full.
    """
    if day.kind not in (None, TypeKind.DATE):
        raise Refusal(f"{name} takes a date and a time, got {day.type}; cast it")
    form = _FORM.fullmatch(str(time.this.this))
    if form is None:
        raise invalid("write time literals as time'06:30:45.887'")
    numbers = [number(part) for part in form.groups()]
    made: list[Value] = []

    def write(d: str) -> str:
        parts = [BY_NAME[part].call([Value(DATE, d, simple=True)]) for part in ("year", "month", "day")]
        made.append(BY_NAME[name].call([*parts, *numbers, *zone]))
        return made[0].sql

    sql = bound([day if day.type else Value(DATE, cast("NULL", DATE))], write)
    return Value(made[0].type, sql)
