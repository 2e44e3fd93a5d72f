"""The function `sequence`: whole numbers, dates or timestamps at equal distances."""

from streamapp_core.data_types import INTERVALS, array_of
from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.growth import MAX_ELEMENTS
from streamapp_core.expressions.interval_types import DAY_TO_SECOND, MICROSECONDS
from streamapp_core.expressions.time_arithmetic import TIMES, clock
from streamapp_core.expressions.type_rules import INTEGRAL, common_number, common_type
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import BIGINT, DATE, INT, VOID, DataType, TypeKind

_DAY = MICROSECONDS["day"]


def _sequence(start: Value, stop: Value, step: Value | None = None) -> Value:
    values = [start, stop] + ([step] if step else [])
    kinds = {value.kind for value in values} - {None}
    if kinds & TIMES:
        return _of_moments(start, stop, step)
    if not kinds <= INTEGRAL:
        raise Refusal("sequence takes whole numbers, or dates or timestamps and an interval; cast them")
    common = start.type or INT
    for value in values[1:]:
        common = common_number(common, value.type or common)
    ends = [Value(BIGINT, cast(value.sql, "HUGEINT")) for value in values]

    def write(a: str, b: str, by: str | None = None) -> str:
        step_ = by or f"(CASE WHEN {b} < {a} THEN -1 ELSE 1 END)"
        listed = f"generate_series(CAST({a} AS BIGINT), CAST({b} AS BIGINT), CAST({step_} AS BIGINT))"
        return _stepped((a, b, step_), f"({b} - {a}) // {step_}", f"[CAST({a} AS BIGINT)]", listed)

    return Value(array_of(common), cast(bound(ends, write), array_of(common)))


def _of_moments(start: Value, stop: Value, step: Value | None) -> Value:
    """Write the sequence of dates or timestamps; the distance is an interval, by default a day.

    Dates that no timestamp reaches have none.
    """
    element = common_type([start.type, stop.type], texts=False) or VOID
    if element.kind not in TIMES - INTERVALS or (step is not None and step.kind not in INTERVALS):
        raise Refusal(
            "sequence takes whole numbers, or dates or timestamps and an interval, got "
            + ", ".join(str(value.type or "null") for value in (start, stop, step) if value)
        )
    ends = [clock(converted(value, element)) for value in (start, stop)]
    target = array_of(element)
    if step and step.kind is TypeKind.YEAR_MONTH_INTERVAL:
        listed = bound([*ends, step], lambda a, b, by: _by_months(element, a, b, by))
        return Value(target, f"TRY({listed})")
    numbers = [Value(BIGINT, cast(f"epoch_us({value.sql})", "HUGEINT")) for value in ends]
    by = step or Value(DAY_TO_SECOND, f"CASE WHEN {ends[1].sql} < {ends[0].sql} THEN -{_DAY} ELSE {_DAY} END")
    listed = bound([*numbers, by], lambda a, b, by: _by_length(element, a, b, by))
    return Value(target, f"TRY({listed})")


def _by_months(element: DataType, a: str, b: str, by: str) -> str:
    count = f"((year({b}) - year({a})) * 12 + month({b}) - month({a})) // {by}"
    steps = f"list_transform(range({count} + 1), lambda __i: {a} + to_months(CAST(__i * {by} AS INTEGER)))"
    reached = f"list_filter({steps}, lambda __t: CASE WHEN {by} > 0 THEN __t <= {b} ELSE __t >= {b} END)"
    listed = _stepped((a, b, by), count, f"[{a}]", reached)
    sql = _shown(listed, element, "__t")
    return f"CASE WHEN {by} <> 0 THEN {sql} END" if element == DATE else sql


def _by_length(element: DataType, a: str, b: str, by: str) -> str:
    count = f"({b} - {a}) // {by}"
    steps = f"list_transform(range(CAST({count} + 1 AS BIGINT)), lambda __i: CAST({a} + __i * {by} AS BIGINT))"
    listed = _stepped((a, b, by), count, f"[CAST({a} AS BIGINT)]", steps)
    sql = _shown(listed, element, "make_timestamp(__t)")
    return f"CASE WHEN abs({by}) >= {_DAY} THEN {sql} END" if element == DATE else sql


def _stepped(values: tuple[str, str, str], count: str, first: str, listed: str) -> str:
    """Write `first` where the ends are equal, and the whole list where the step leads from one to the other."""
    a, b, by = values
    forward = f"({by} > 0 AND {b} > {a}) OR ({by} < 0 AND {b} < {a})"
    return (
        f"CASE WHEN {a} = {b} AND {by} IS NOT NULL THEN {first} "
        f"WHEN {forward} THEN CASE WHEN {count} < {MAX_ELEMENTS} THEN {listed} END END"
    )


def _shown(listed: str, element: DataType, naive: str) -> str:
    shown = {TypeKind.DATE: cast(naive, DATE), TypeKind.TIMESTAMP_NTZ: naive}
    return f"list_transform({listed}, lambda __t: {shown.get(element.kind, f'make_timestamptz(epoch_us({naive}))')})"


SEQUENCES = (
    Function(
        name="sequence",
        parameters=tuple(Parameter(name, Accepts.ANY) for name in ("start", "stop", "step")),
        optional=1,
        result="an array",
        doc="The whole numbers, dates or timestamps from the start to the stop, at the distance of a number or an "
        f"interval (1, a day); null if these are more than {MAX_ELEMENTS}, the step leads away, or it is less than a "
        "day between dates.",
        write=_sequence,
    ),
)
