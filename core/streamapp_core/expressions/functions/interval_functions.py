"""Functions that make intervals, move moments by units of time, and count these between moments."""

from streamapp_core.data_types import INTERVALS
from streamapp_core.expressions.conversions import converted, implied, naive
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.interval_types import DAY_TO_SECOND, MICROSECONDS, YEAR_TO_MONTH
from streamapp_core.expressions.session_zone import session_zone
from streamapp_core.expressions.time_arithmetic import clock, from_clock, later, moved, passed, turned_clock
from streamapp_core.expressions.typed_sql import Value, bound, cast, try_cast
from streamapp_core.schema import BIGINT, DATE, INT, TIMESTAMP, DataType, TypeKind

_UNIT = Parameter("unit", Accepts.TEXT_LITERAL)
_AMOUNTS = 7
_ZERO = Value(INT, "0", 0, simple=True)
_SECONDS = DataType(TypeKind.DECIMAL, 18, 6)
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_LENGTHS = {
    "microsecond": 1, "millisecond": 1_000, **MICROSECONDS, "dayofyear": MICROSECONDS["day"],
    "week": 7 * MICROSECONDS["day"],
}  # fmt: skip


def _day_time(days: Value, hours: Value = _ZERO, minutes: Value = _ZERO, seconds: Value = _ZERO) -> Value:
    whole = [cast(implied(value, INT).sql, "HUGEINT") for value in (days, hours, minutes)]
    terms = [f"{sql} * {MICROSECONDS[unit]}" for sql, unit in zip(whole, ("day", "hour", "minute"), strict=True)]
    terms.append(cast(f"{cast(implied(seconds, _SECONDS).sql, 'DECIMAL(25,6)')} * 1000000", "HUGEINT"))
    return Value(DAY_TO_SECOND, try_cast(" + ".join(terms), DAY_TO_SECOND))


def _year_month(years: Value, months: Value = _ZERO) -> Value:
    return Value(YEAR_TO_MONTH, try_cast(f"{cast(years.sql, BIGINT)} * 12 + {months.sql}", YEAR_TO_MONTH))


def moved_by_amounts(operator: str, moment: Value, *amounts: Value) -> Value:
    """Write a date or timestamp `+` or `-` `make_interval(years, months, weeks, days, hours, minutes, seconds)`.

    Raises:
        Refusal: It is no date or timestamp, or there are more amounts.
    """
    if moment.kind not in (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ) or len(amounts) > _AMOUNTS:
        raise Refusal("make_interval of up to 7 numbers is added to a date or timestamp, or taken from it")
    years, months, weeks, days, *rest = (*amounts, *[_ZERO] * (_AMOUNTS - len(amounts)))
    back = operator == "-"
    of_weeks = try_cast(f"{cast(implied(weeks, INT).sql, 'HUGEINT')} * {_LENGTHS['week']}", BIGINT)
    result = implied(moment, TIMESTAMP) if moment.kind is TypeKind.DATE else moment
    for interval in (
        _year_month(implied(years, INT), implied(months, INT)), Value(DAY_TO_SECOND, of_weeks), _day_time(days),
    ):  # fmt: skip
        result = moved(result, interval, back=back)
    result = passed(result, f"{'-' if back else ''}({_day_time(_ZERO, *rest).sql})")
    return implied(result, DATE) if moment.kind is TypeKind.DATE else result


def _moved(unit: Value, count: Value, moment: Value) -> Value:
    """Write `timestampadd`: by months in the calendar, by what is shorter in microseconds."""
    name = str(unit.literal).lower()
    number = cast(implied(count, BIGINT).sql, "HUGEINT")
    moment = moment if moment.kind is TypeKind.TIMESTAMP_NTZ else implied(moment, TIMESTAMP)
    if name in _MONTHS:
        months = f"TRY_CAST({number} * {_MONTHS[name]} AS INTEGER)"
        return turned_clock(moment, lambda clock: f"{clock} + to_months({months})")
    if name not in _LENGTHS:
        raise _unknown(name)
    length = f"TRY_CAST({number} * {_LENGTHS[name]} AS BIGINT)"
    return later(moment, length) if _LENGTHS[name] >= MICROSECONDS["day"] else passed(moment, length)


def _between(unit: Value, start: Value, end: Value) -> Value:
    """Write `timestampdiff`: how many whole units lie between two moments."""
    name = str(unit.literal).lower()
    sides = [Value(TIMESTAMP, naive(value)) for value in (start, end)]
    if name in _MONTHS:
        return Value(BIGINT, bound(sides, lambda a, b: f"{_whole_months(a, b)} // {_MONTHS[name]}"))
    if name not in _LENGTHS:
        raise _unknown(name)
    difference = f"(CAST(epoch_us({sides[1].sql}) AS HUGEINT) - epoch_us({sides[0].sql}))"
    return Value(BIGINT, try_cast(f"{difference} // {_LENGTHS[name]}", BIGINT))


def _whole_months(start: str, end: str) -> str:
    """Count months as Java does: one is whole on the same day of the month at the same time."""
    first, last = f"CAST({start} AS DATE)", f"CAST({end} AS DATE)"
    early = f"{last} > {first} AND CAST({end} AS TIME) < CAST({start} AS TIME)"
    late = f"{last} < {first} AND CAST({end} AS TIME) > CAST({start} AS TIME)"
    reached = f"({last} + CASE WHEN {early} THEN -1 WHEN {late} THEN 1 ELSE 0 END)"
    places = [f"((CAST(year({day}) AS BIGINT) * 12 + month({day})) * 32 + day({day}))" for day in (first, reached)]
    return f"(({places[1]} - {places[0]}) // 32)"


def _bucket(width: Value, moment: Value, origin: Value | None = None) -> Value:
    """Write `time_bucket`: the last start of a bucket that is not after the moment."""
    if width.kind not in INTERVALS or moment.kind not in (TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ):
        raise Refusal(f"time_bucket takes an interval and a timestamp, got {width.type} and {moment.type}; cast it")
    if session_zone().name and moment.kind is TypeKind.TIMESTAMP:
        origin = origin or converted(Value(DATE, "DATE '1970-01-01'"), TIMESTAMP)
    origin = origin or Value(moment.type, "make_timestamp(0)")
    if origin.type != moment.type:
        raise Refusal(f"the origin of time_bucket is of the type of the timestamp, {moment.type}, not {origin.type}")
    if session_zone().name and moment.kind is TypeKind.TIMESTAMP:
        return _bucket_in_zone(width, moment, origin)
    start = origin if origin.sql == "make_timestamp(0)" else clock(origin)

    def by_length(w: str, m: str, o: str) -> str:
        past = f"(CAST(epoch_us({m}) AS HUGEINT) - epoch_us({o}))"
        return f"CASE WHEN {w} > 0 THEN make_timestamp(CAST(epoch_us({m}) - ({past} % {w} + {w}) % {w} AS BIGINT)) END"

    def by_months(w: str, m: str, o: str) -> str:
        months = f"((year({m}) - year({o})) * 12 + month({m}) - month({o}))"
        count = f"CAST(floor({months} / CAST({w} AS DOUBLE)) AS INTEGER)"
        late = f"{o} + to_months({count} * {w}) > {m}"
        return f"CASE WHEN {w} > 0 THEN {o} + to_months(({count} - CASE WHEN {late} THEN 1 ELSE 0 END) * {w}) END"

    write = by_months if width.kind is TypeKind.YEAR_MONTH_INTERVAL else by_length
    return from_clock(moment, bound([width, clock(moment), start], write))


def _bucket_in_zone(width: Value, moment: Value, origin: Value) -> Value:
    """Write `time_bucket` where clocks are turned: the last that is not after the moment, of the starts close to it."""
    months = width.kind is TypeKind.YEAR_MONTH_INTERVAL

    def write(w: str, m: str, o: str) -> str:
        start, number = Value(TIMESTAMP, o, simple=True), f"CAST({{}} * {w} AS {'INTEGER' if months else 'BIGINT'})"
        if months:
            first, current = (f"CAST({naive(Value(TIMESTAMP, end))} AS DATE)" for end in (o, m))
            past = f"(CAST(year({current}) AS HUGEINT) - year({first})) * 12 + month({current}) - month({first})"
        else:
            past = f"CAST(epoch_us({m}) AS HUGEINT) - epoch_us({o})"

        def candidate(count: str) -> str:
            if months:
                return turned_clock(start, lambda clock: f"{clock} + to_months({number.format(count)})").sql
            return later(start, number.format(count)).sql

        def last(distance: str) -> str:
            begun = f"(({distance} - (({distance} % {w}) + {w}) % {w}) // {w})"
            starts = ", ".join(candidate(f"({begun} + {step})") for step in ((0, -1) if months else (1, 0, -1)))
            by_clock = f"list_filter([{starts}], lambda __t: __t <= {m})[1]"
            if months:
                return f"CASE WHEN {w} > 0 THEN {by_clock} END"
            by_length = passed(start, number.format(begun)).sql
            return f"CASE WHEN {w} >= {MICROSECONDS['day']} THEN {by_clock} WHEN {w} > 0 THEN {by_length} END"

        return bound([Value(None, past)], last)

    return Value(TIMESTAMP, f"TRY({bound([width, moment, origin], write)})")


def _unknown(name: str) -> Refusal:
    return invalid(f"there is no unit {name[:20]}; the units are {', '.join((*_MONTHS, *_LENGTHS))}")


INTERVAL_FUNCTIONS = (
    Function(
        name="make_dt_interval",
        parameters=tuple(Parameter(name, Accepts.ANY) for name in ("days", "hours", "minutes", "seconds")),
        optional=4,
        result="interval day to second",
        doc="The interval of these numbers, of which the seconds may have a fraction.",
        write=lambda *parts: _day_time(*(parts or (_ZERO,))),
    ),
    Function(
        name="make_ym_interval",
        parameters=(Parameter("years", Accepts.WHOLE), Parameter("months", Accepts.WHOLE)),
        optional=2,
        result="interval year to month",
        doc="The interval of these numbers.",
        write=lambda *parts: _year_month(*(parts or (_ZERO,))),
    ),
    Function(
        name="timestampadd",
        parameters=(_UNIT, Parameter("count", Accepts.ANY), Parameter("timestamp", Accepts.ANY)),
        result="timestamp; timestamp_ntz of one",
        doc="The timestamp so many units later; the unit is a bare word: `year`, `quarter`, `month`, `week`, `day`, "
        "`hour`, `minute`, `second`, `millisecond` or `microsecond`. Also `dateadd` and `date_add` of three arguments.",
        write=_moved,
    ),
    Function(
        name="time_bucket",
        parameters=tuple(Parameter(name, Accepts.ANY) for name in ("width", "timestamp", "origin")),
        optional=1,
        result="the type of the timestamp",
        doc="The start of the bucket with this width (an interval above zero) that a timestamp is in; one starts at "
        "the origin (1970).",
        write=_bucket,
    ),
    Function(
        name="timestampdiff",
        parameters=(_UNIT, Parameter("start", Accepts.TIMESTAMP), Parameter("end", Accepts.TIMESTAMP)),
        result="bigint",
        doc="The number of whole units (as of `timestampadd`) from the start to the end. Also `datediff` and "
        "`date_diff` of three arguments.",
        write=_between,
    ),
)
WITH_UNIT = {
    "timestampadd": "timestampadd", "dateadd": "timestampadd", "date_add": "timestampadd",
    "timestampdiff": "timestampdiff", "datediff": "timestampdiff", "date_diff": "timestampdiff",
    "timediff": "timestampdiff",
}  # fmt: skip
"""The functions that calls of three arguments mean, the first of which is a unit."""
