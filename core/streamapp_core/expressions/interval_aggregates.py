"""Aggregates of intervals, which are computed as the numbers of microseconds or months that they are."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from streamapp_core.data_types import INTERVALS
from streamapp_core.expressions.aggregate_calls import AggregateCall
from streamapp_core.expressions.functions.aggregates_and_generators import NULLS_COUNT
from streamapp_core.expressions.interval_types import DAY_TO_SECOND, YEAR_TO_MONTH
from streamapp_core.expressions.time_arithmetic import combined
from streamapp_core.expressions.typed_sql import Value, try_cast
from streamapp_core.schema import BIGINT, INT, TypeKind

_AVERAGES = frozenset({"avg", "mean", "try_avg"})
_SUMS = frozenset({"sum", "try_sum"})
OF_INTERVALS = frozenset({"count", "min", "max", *NULLS_COUNT, *_SUMS, *_AVERAGES})
"""The aggregates that take intervals."""

_Write = Callable[[AggregateCall, Sequence[Value]], Value]


def is_of_interval(call: AggregateCall, arguments: Sequence[Value]) -> bool:
    """Return whether a call is an aggregate of one interval."""
    return call.name in OF_INTERVALS and len(arguments) == 1 and arguments[0].kind in INTERVALS


def of_interval(write: _Write, call: AggregateCall, interval: Value) -> Value:
    """Write an aggregate of an interval by those of numbers; a sum that is too long is null."""
    months = interval.kind is TypeKind.YEAR_MONTH_INTERVAL
    data_type = interval.type or DAY_TO_SECOND
    number = Value(INT if months else BIGINT, interval.sql)
    if call.name == "count":
        return write(call, [number])
    if call.name not in _SUMS | _AVERAGES:
        return replace(write(call, [number]), type=data_type)
    total = write(replace(call, name="try_sum"), [number]).sql
    if call.name in _SUMS:
        return Value(data_type, try_cast(total, data_type))
    whole = YEAR_TO_MONTH if months else DAY_TO_SECOND
    count = write(replace(call, name="count"), [number])
    return combined("/", Value(whole, try_cast(total, whole)), count)
