"""Functions that take dates and timestamps apart, move them, make them of numbers, and write them by patterns."""

from collections.abc import Callable
from functools import partial

from streamapp_core.data_types import INTERVALS
from streamapp_core.expressions.arithmetic import digits_of
from streamapp_core.expressions.conversions import aware, converted, floor_division, implied, naive, start_of, wrapped
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.date_patterns import has_zone, moment_text, read_moment
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter, fixed
from streamapp_core.expressions.interval_values import part_of_interval
from streamapp_core.expressions.local_times import moment_of
from streamapp_core.expressions.session_zone import in_zone, session_zone
from streamapp_core.expressions.time_zones import UTC
from streamapp_core.expressions.type_rules import INTEGRAL, NUMERIC
from streamapp_core.expressions.typed_sql import Value, bound, cast, try_cast
from streamapp_core.schema import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    TypeKind,
)

_DATE = Parameter("date", Accepts.DATE)
_TIMESTAMP = Parameter("timestamp", Accepts.TIMESTAMP)
_ANY = Parameter("value", Accepts.ANY)
_WHOLE = Accepts.WHOLE
_PATTERN = Parameter("pattern", Accepts.TEXT_LITERAL)
_USUAL_PATTERN = Value(STRING, "", "yyyy-MM-dd HH:mm:ss")
_MICROSECONDS = 1_000_000
"""A second."""
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY_NAMES = {"MON": 1, "TUE": 2, "WED": 3, "THU": 4, "FRI": 5, "SAT": 6, "SUN": 7} | {
    name: number
    for number, name in enumerate(("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"), 1)
}
_TRUNCATED = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
    "mm": "month", "week": "week",
}  # fmt: skip
_CLOCK = ("year", "month", "day", "hour", "minute", "second")
_NUMBERS = len(_CLOCK)
_SECONDS = DataType(TypeKind.DECIMAL, 8, 6)
_EXACT_SECONDS = DataType(TypeKind.DECIMAL, MAX_PRECISION, 6)
_SQL = {INT: "INTEGER", STRING: "VARCHAR", DATE: "DATE"}
_FIELDS = {
    "YEAR": ("Y", "YEARS", "YR", "YRS"),
    "YEAROFWEEK": (),
    "QUARTER": ("QTR",),
    "MONTH": ("MON", "MONS", "MONTHS"),
    "WEEK": ("W", "WEEKS"),
    "DAY": ("D", "DAYS"),
    "DAYOFWEEK": ("DOW",),
    "DAYOFWEEK_ISO": ("DOW_ISO",),
    "DOY": (),
    "HOUR": ("H", "HOURS", "HR", "HRS"),
    "MINUTE": ("M", "MIN", "MINS", "MINUTES"),
    "SECOND": ("S", "SEC", "SECONDS", "SECS"),
}
_FIELD_SQL = {
    "YEAR": "year({0})", "YEAROFWEEK": "isoyear({0})", "QUARTER": "quarter({0})", "MONTH": "month({0})",
    "WEEK": "weekofyear({0})", "DAY": "day({0})", "DAYOFWEEK": "dayofweek({0}) + 1", "DAYOFWEEK_ISO": "isodow({0})",
    "DOY": "dayofyear({0})", "HOUR": "hour({0})", "MINUTE": "minute({0})",
}  # fmt: skip
_OF_A_DAY = frozenset({"HOUR", "MINUTE", "SECOND"})
"""Fields of the time of a day; a text of which others are taken is a date."""


def part(field: str, value: Value) -> Value:
    """Write `extract(field from value)`: an int, or, of seconds, a decimal with six digits after the point.

    Raises:
        Refusal: There is no such field, or the value is no moment.
    """
    name = next((known for known, others in _FIELDS.items() if field.upper() in (known, *others)), None)
    if name is None:
        raise invalid(f"there is no field {field.lower()}; the fields are {', '.join(_FIELDS).lower()}")
    if value.kind in INTERVALS:
        return part_of_interval(name.lower(), value)
    moment = naive(implied(value, TIMESTAMP)) if name in _OF_A_DAY else implied(value, DATE).sql
    if name == "SECOND":
        return Value(_SECONDS, cast(f"CAST(microsecond({moment}) AS DECIMAL(14,6)) * 0.000001", _SECONDS))
    return Value(INT, cast(_FIELD_SQL[name].format(moment), INT))


def _next_day(date: Value, name: Value) -> Value:
    written = str(name.literal).strip().upper()
    number = _DAYS.index(written) + 1 if written in _DAYS else _DAY_NAMES.get(written)
    if number is None:
        raise invalid(f"next_day: '{name.literal}' is no day; days are 'MO', 'MON', 'MONDAY' and so on")
    return Value(DATE, bound([date], lambda d: f"TRY({d} + CAST(1 + ({number + 6} - isodow({d})) % 7 AS INTEGER))"))


def _truncated(date: Value, unit: Value) -> Value:
    name = _TRUNCATED.get(str(unit.literal).lower())
    if name is None:
        raise invalid(f"trunc has no unit '{unit.literal}'; the units are {', '.join(_TRUNCATED)}")
    return Value(DATE, f"CAST(date_trunc('{name}', {date.sql}) AS DATE)")


def _made_timestamp(target: DataType, *parts: Value) -> Value:
    """Write `make_timestamp`: of a date, or of six numbers and perhaps a time zone."""
    if len(parts) == 1 and target == TIMESTAMP:
        return converted(implied(parts[0], DATE), TIMESTAMP)
    zoned = parts[_NUMBERS:]
    if len(parts) < _NUMBERS or (zoned and target != TIMESTAMP):
        raise invalid("a timestamp is made of year, month, day, hour, minute and second, with a time zone or without")
    local = _made_clock(*parts[:_NUMBERS])
    if zoned:
        return Value(TIMESTAMP, moment_of(local, implied(zoned[0], STRING)))
    return Value(target, local if target == TIMESTAMP_NTZ else f"TRY({aware(local)})")


def _made_clock(*parts: Value) -> str:
    """Return the naive timestamp of six numbers: 60 seconds are the next minute; null if there is none."""

    def write(*sql: str) -> str:
        y, mo, d, h, mi, s = sql
        microseconds = f"CAST({s} * 1000000 AS BIGINT)"
        time = f"({h} * 60 + {mi}) * 60000000::BIGINT + {microseconds}"
        sound = f"{h} BETWEEN 0 AND 23 AND {mi} BETWEEN 0 AND 59 AND ({s} >= 0 AND {s} < 60 OR {s} = 60)"
        moment = f"make_timestamp(epoch_us(make_date({y}, {mo}, {d})) + {time})"
        return f"CASE WHEN {sound} THEN TRY({moment}) END"

    whole = [Value(BIGINT, cast(implied(value, INT).sql, BIGINT)) for value in parts[:5]]
    seconds = implied(parts[5], DataType(TypeKind.DECIMAL, 16, 6))
    return bound([*whole, seconds], write)


def _months_between(end: Value, start: Value, rounded: Value | None = None) -> Value:
    if rounded is not None and not isinstance(rounded.literal, bool):
        raise invalid("months_between: whether the result is rounded must be true or false, not computed")

    def write(a: str, b: str, m: str = "", n: str = "") -> str:
        months = f"((year({a}) - year({b})) * 12 + month({a}) - month({b}))"
        same = f"day({a}) = day({b}) OR (day({a}) = day(last_day({a})) AND day({b}) = day(last_day({b})))"
        seconds = f"((day({a}) - day({b})) * 86400 + {second_of_day(a, m)} - {second_of_day(b, n)})"
        exact = f"CAST({months} AS DOUBLE) + CAST({seconds} AS DOUBLE) / 2678400.0::DOUBLE"
        if rounded is None or rounded.literal:
            exact = f"round({exact}, 8)"
        missing = f"{a} IS NULL OR {b} IS NULL"
        return f"CASE WHEN {missing} THEN NULL WHEN {same} THEN CAST({months} AS DOUBLE) ELSE {exact} END"

    sides = [Value(TIMESTAMP, naive(value)) for value in (end, start)]
    changing = bool(session_zone().name)
    second_of_day = _seconds_since_midnight if changing else _second_of_day
    return Value(DOUBLE, bound([*sides, end, start] if changing else sides, write))


def _second_of_day(clock: str, _: str) -> str:
    return f"(hour({clock}) * 3600 + minute({clock}) * 60 + second({clock}))"


def _seconds_since_midnight(clock: str, moment: str) -> str:
    """Count the whole seconds that passed since the start of a day, on which clocks may be turned."""
    return f"((epoch_us({moment}) - epoch_us({start_of(cast(clock, DATE))})) // {_MICROSECONDS})"


def _moment_of(value: Value, pattern: Value) -> Value:
    """Read a text by a pattern; a date or timestamp is taken as it is."""
    if value.kind in (TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ):
        return converted(value, TIMESTAMP)
    if value.kind not in (None, TypeKind.STRING):
        raise Refusal(f"expected a string, date or timestamp, got {value.type}")
    sql = bound([implied(value, STRING)], lambda v: read_moment(str(pattern.literal), v))
    return Value(TIMESTAMP, f"TRY({sql})")


def moment_by_pattern(target: DataType, value: Value, pattern: Value) -> Value:
    """Write `to_date(value, pattern)` or `to_timestamp(value, pattern)`; null where the text does not fit.

    Raises:
        Refusal: The pattern has letters that are not supported, or the value is of another type.
    """
    if target == TIMESTAMP_NTZ and has_zone(str(pattern.literal)):
        raise invalid(f"the pattern '{pattern.literal}' has a time zone, which a timestamp_ntz has not")
    if target == TIMESTAMP_NTZ and value.kind in (None, TypeKind.STRING):
        with in_zone(UTC):
            return converted(_moment_of(value, pattern), target)
    return converted(_moment_of(value, pattern), target)


def text_moment(target: DataType, value: Value, pattern: Value) -> Value:
    """Read a date or timestamp in a text of JSON, CSV or XML by a pattern; a date has no time zone there.

    Raises:
        Refusal: As `moment_by_pattern`.
    """
    with in_zone(UTC if target == DATE else session_zone()):
        return moment_by_pattern(target, value, pattern)


def _unix_seconds(value: Value, pattern: Value = _USUAL_PATTERN) -> Value:
    """Write `unix_timestamp`, which rounds towards 1970."""
    moment = value if value.kind is TypeKind.TIMESTAMP_NTZ else _moment_of(value, pattern)
    return Value(BIGINT, f"(epoch_us({moment.sql}) // 1000000)")


def _by_pattern(moment: Value, pattern: Value) -> Value:
    return Value(STRING, moment_text(moment, str(pattern.literal)))


def _from_unix(seconds: Value, pattern: Value = _USUAL_PATTERN) -> Value:
    """Write `from_unixtime`: the microseconds wrap around."""
    microseconds = f"CAST({implied(seconds, BIGINT).sql} AS HUGEINT) * {_MICROSECONDS}"
    return _by_pattern(Value(TIMESTAMP, f"TRY(make_timestamptz({wrapped(microseconds, BIGINT)}))"), pattern)


def _timestamp_of(unit: int, value: Value) -> Value:
    if value.kind not in (None, *(NUMERIC if unit == _MICROSECONDS else INTEGRAL)):
        raise Refusal(f"expected a number, got {value.type}; cast it")
    if value.kind in (None, *INTEGRAL):
        return Value(TIMESTAMP, f"TRY(make_timestamptz({converted(value, BIGINT).sql} * {unit}))")
    if value.kind is TypeKind.DECIMAL:
        exact = Value(_EXACT_SECONDS, try_cast(value.sql, _EXACT_SECONDS))
        return Value(TIMESTAMP, f"TRY(make_timestamptz({try_cast(digits_of(exact), BIGINT)}))")
    return Value(
        TIMESTAMP, f"TRY(make_timestamptz({try_cast(f'trunc({converted(value, DOUBLE).sql} * {unit})', BIGINT)}))"
    )


def since_epoch(name: str, divisor: int, moment: Value) -> Value:
    """Write `unix_seconds` and its like: the microseconds since 1970 over a divisor, rounded down.

    Raises:
        Refusal: The value is no timestamp; the message has the function's name.
    """
    if moment.kind not in (None, TypeKind.TIMESTAMP):
        raise Refusal(f"{name} takes a timestamp, got {moment.type}; cast it")
    microseconds = f"epoch_us({converted(moment, TIMESTAMP).sql})"
    return Value(BIGINT, microseconds if divisor == 1 else cast(floor_division(microseconds, divisor), BIGINT))


def _of_date(name: str, sql: str, doc: str, result: DataType = INT) -> Function:
    return Function(
        name=name,
        parameters=(_DATE,),
        result=str(result),
        doc=doc,
        write=fixed(result, f"CAST({sql} AS {_SQL[result]})"),
    )


def _by_unit(name: str, doc: str, write: Callable[[Value], Value], result: str) -> Function:
    return Function(name=name, parameters=(_ANY,), result=result, doc=doc, write=write)


DATE_PARTS = (
    _of_date("quarter", "quarter({0})", "The quarter, 1 to 4."),
    _of_date("dayofyear", "dayofyear({0})", "The day of the year, 1 to 366."),
    _of_date("weekofyear", "weekofyear({0})", "The week of the year, by ISO 8601: weeks begin on Monday."),
    _of_date("weekday", "isodow({0}) - 1", "The day of the week, 0 (Monday) to 6."),
    _of_date("dayname", "left(dayname({0}), 3)", "The day of the week, `Mon` to `Sun`.", STRING),
    _of_date("monthname", "left(monthname({0}), 3)", "The month, `Jan` to `Dec`.", STRING),
    _of_date("last_day", "last_day({0})", "The last day of the month.", DATE),
    _of_date("unix_date", "{0} - DATE '1970-01-01'", "The days since 1970-01-01."),
    Function(
        name="date_part",
        aliases=("datepart",),
        parameters=(Parameter("field", Accepts.TEXT_LITERAL), _ANY),
        result="int; decimal(8,6) of seconds",
        doc="The `year`, `quarter`, `month`, `week`, `day`, `dow`, `doy`, `hour`, `minute` or `second`, ..., or a part "
        "of an interval (months, hours and minutes are tinyints). Also `extract(year from timestamp)`.",
        write=lambda field, moment: part(str(field.literal), moment),
    ),
    Function(
        name="add_months",
        parameters=(_DATE, Parameter("months", _WHOLE)),
        result="date",
        doc="The date so many months later, or the last day of that month if it is shorter.",
        write=fixed(DATE, "TRY(CAST({0} + to_months({1}) AS DATE))"),
    ),
    Function(
        name="next_day",
        parameters=(_DATE, Parameter("day", Accepts.TEXT_LITERAL)),
        result="date",
        doc="The next day behind the date with this name: `MO`, `MON` or `MONDAY`, ...",
        write=_next_day,
    ),
    Function(
        name="trunc",
        parameters=(_DATE, Parameter("unit", Accepts.TEXT_LITERAL)),
        result="date",
        doc="The first day of the year, quarter, month or week (Monday).",
        write=_truncated,
    ),
    Function(
        name="months_between",
        parameters=(
            Parameter("end", Accepts.TIMESTAMP),
            Parameter("start", Accepts.TIMESTAMP),
            Parameter("rounded", Accepts.ANY),
        ),
        optional=1,
        result="double",
        doc="The months between two moments, counting 31 days for each that is not whole; with 8 digits, unless "
        "`rounded` is false.",
        write=_months_between,
    ),
    Function(
        name="make_date",
        parameters=(Parameter("year", _WHOLE), Parameter("month", _WHOLE), Parameter("day", _WHOLE)),
        result="date",
        doc="The date of these numbers; null if there is none.",
        write=fixed(DATE, "TRY(make_date({0}, {1}, {2}))"),
    ),
    Function(
        name="make_timestamp",
        aliases=("make_timestamp_ltz", "try_make_timestamp", "try_make_timestamp_ltz"),
        parameters=tuple(Parameter(name, Accepts.ANY) for name in (*_CLOCK, "zone")),
        optional=6,
        result="timestamp",
        doc="The timestamp of these numbers, of which the seconds may have a fraction, in a [time zone](#time-zones) "
        "(that of the app); null if there is none. Of one date: its start.",
        write=partial(_made_timestamp, TIMESTAMP),
    ),
    Function(
        name="make_timestamp_ntz",
        aliases=("try_make_timestamp_ntz",),
        parameters=tuple(Parameter(name, Accepts.ANY) for name in _CLOCK),
        result="timestamp_ntz",
        doc="The timestamp without time zone of these numbers; null if there is none.",
        write=partial(_made_timestamp, TIMESTAMP_NTZ),
    ),
    Function(
        name="date_from_unix_date",
        parameters=(Parameter("days", _WHOLE),),
        result="date",
        doc="The date so many days after 1970-01-01.",
        write=fixed(DATE, "TRY(DATE '1970-01-01' + {0})"),
    ),
    _by_unit(
        "timestamp_seconds",
        "The timestamp so many seconds after 1970.",
        lambda value: _timestamp_of(_MICROSECONDS, value),
        "timestamp",
    ),
    _by_unit(
        "timestamp_micros",
        "The timestamp so many microseconds after 1970.",
        lambda value: _timestamp_of(1, value),
        "timestamp",
    ),
    _by_unit(
        "unix_seconds",
        "Seconds since 1970, rounded down.",
        partial(since_epoch, "unix_seconds", _MICROSECONDS),
        "bigint",
    ),
    _by_unit("unix_micros", "Microseconds since 1970.", partial(since_epoch, "unix_micros", 1), "bigint"),
    Function(
        name="unix_timestamp",
        aliases=("to_unix_timestamp",),
        parameters=(_ANY, _PATTERN),
        optional=1,
        result="bigint",
        doc="Seconds since 1970 of a date, a timestamp, or a text with a pattern (`yyyy-MM-dd HH:mm:ss`).",
        write=_unix_seconds,
    ),
    Function(
        name="from_unixtime",
        parameters=(Parameter("seconds", Accepts.ANY), _PATTERN),
        optional=1,
        result="string",
        doc="The moment so many seconds after 1970, written by a pattern (`yyyy-MM-dd HH:mm:ss`).",
        write=_from_unix,
    ),
    Function(
        name="date_format",
        parameters=(_TIMESTAMP, _PATTERN),
        result="string",
        doc="The moment written by a pattern, such as `yyyy-MM-dd HH:mm` ([patterns](#patterns-of-dates-and-times)).",
        write=_by_pattern,
    ),
)
