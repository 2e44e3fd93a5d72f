"""The function `sequence`: whole numbers, dates or timestamps at equal distances."""

from streamapp_core.data_types import INTERVALS, array_of
from streamapp_core.expressions.conversions import aware, converted, naive
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.growth import MAX_ELEMENTS
from streamapp_core.expressions.interval_types import DAY_TO_SECOND, MICROSECONDS
from streamapp_core.expressions.session_zone import in_zone, session_zone
from streamapp_core.expressions.time_arithmetic import TIMES, clock, later, passed, turned_clock
from streamapp_core.expressions.time_zones import UTC
from streamapp_core.expressions.type_rules import INTEGRAL, common_number, common_type
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import BIGINT, DATE, INT, TIMESTAMP, TIMESTAMP_NTZ, VOID, DataType, TypeKind

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
    ends = [converted(value, element) for value in (start, stop)]
    by = step or Value(DAY_TO_SECOND, f"CASE WHEN {ends[1].sql} < {ends[0].sql} THEN -{_DAY} ELSE {_DAY} END")
    if not session_zone().name or element == TIMESTAMP_NTZ:
        listed = _evenly(element, ends[0], ends[1], by)
    elif element == DATE and by.kind is TypeKind.DAY_TIME_INTERVAL:
        with in_zone(UTC):
            by_days = _evenly(element, ends[0], ends[1], by)
        listed = f"CASE WHEN {by.sql} % {_DAY} = 0 THEN {by_days} ELSE {_turning(element, ends[0], ends[1], by)} END"
    else:
        listed = _turning(element, ends[0], ends[1], by)
    return Value(array_of(element), f"TRY({listed})")


def _evenly(element: DataType, start: Value, stop: Value, by: Value) -> str:
    """Write the sequence where all days are equally long."""
    ends = [clock(value) for value in (start, stop)]
    if by.kind is TypeKind.YEAR_MONTH_INTERVAL:
        return bound([*ends, by], lambda a, b, by_: _by_months(element, a, b, by_))
    numbers = [Value(BIGINT, cast(f"epoch_us({value.sql})", "HUGEINT")) for value in ends]
    return bound([*numbers, by], lambda a, b, by_: _by_length(element, a, b, by_))


def _turning(element: DataType, start: Value, stop: Value, by: Value) -> str:
    """Write the sequence in a time zone whose clocks are turned."""
    ends = [converted(value, TIMESTAMP) for value in (start, stop)]
    return bound([*ends, by], lambda a, b, by_: _by_clock(element, a, b, Value(by.type, by_)))


def _by_months(element: DataType, a: str, b: str, by: str) -> str:
    count = f"((year({b}) - year({a})) * 12 + month({b}) - month({a})) // {by}"
    steps = f"list_transform(range({count} + 1), lambda __i: {a} + to_months(CAST(__i * {by} AS INTEGER)))"
    reached = f"list_filter({steps}, lambda __t: CASE WHEN {by} > 0 THEN __t <= {b} ELSE __t >= {b} END)"
    listed = _stepped((a, b, by), count, f"[{a}]", reached)
    sql = _shown(listed, element, "__t")
    return f"CASE WHEN {by} <> 0 THEN {sql} END" if element == DATE else sql


def _by_clock(element: DataType, a: str, b: str, step: Value) -> str:
    """Write the sequence, whose ends are timestamps: each of its moments is counted from the first."""
    start, by = Value(TIMESTAMP, a, simple=True), step.sql
    if step.kind is TypeKind.YEAR_MONTH_INTERVAL:
        first, last = (f"CAST({naive(Value(TIMESTAMP, end))} AS DATE)" for end in (a, b))
        count = f"((year({last}) - year({first})) * 12 + month({last}) - month({first})) // {by}"
        moment = turned_clock(start, lambda clock: f"{clock} + to_months(CAST(__i * {by} AS INTEGER))")
        enough = f"{by} <> 0"
    else:
        count = f"(CAST(epoch_us({b}) AS HUGEINT) - epoch_us({a})) // {by} + 1"
        moment = later(start, f"CAST(__i * ({by} // {_DAY}) * {_DAY} AS BIGINT)")
        moment = passed(moment, f"CAST(__i * ({by} % {_DAY}) AS BIGINT)")
        enough = f"abs({by}) >= {_DAY}"
    steps = f"list_transform(range(CAST({count} + 1 AS BIGINT)), lambda __i: {moment.sql})"
    reached = f"list_filter({steps}, lambda __t: CASE WHEN {by} > 0 THEN __t <= {b} ELSE __t >= {b} END)"
    listed = _stepped((a, b, by), count, f"[{a}]", reached)
    if element != DATE:
        return listed
    days = f"list_transform({listed}, lambda __t: {cast(naive(Value(TIMESTAMP, '__t')), DATE)})"
    return f"CASE WHEN {enough} THEN {days} END"


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


def _shown(listed: str, element: DataType, clock: str) -> str:
    shown = {TypeKind.DATE: cast(clock, DATE), TypeKind.TIMESTAMP_NTZ: clock}
    return f"list_transform({listed}, lambda __t: {shown.get(element.kind, aware(clock))})"


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
