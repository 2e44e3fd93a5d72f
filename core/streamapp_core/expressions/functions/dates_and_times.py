"""Functions of dates and timestamps, in the time zone of the app."""

from functools import partial

from streamapp_core.expressions.conversions import converted, naive, start_of
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.date_parts import moment_by_pattern, since_epoch
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter, fixed
from streamapp_core.expressions.local_times import read_in, shown_in, turned
from streamapp_core.expressions.session_zone import session_zone
from streamapp_core.expressions.time_arithmetic import days_later
from streamapp_core.expressions.time_zones import UTC
from streamapp_core.expressions.type_rules import INTEGRAL, NUMERIC
from streamapp_core.expressions.typed_sql import Value, cast
from streamapp_core.schema import BIGINT, DATE, INT, TIMESTAMP, TIMESTAMP_NTZ, DataType, TypeKind

_DATE = Parameter("date", Accepts.DATE)
_TIMESTAMP = Parameter("timestamp", Accepts.TIMESTAMP)
_UNITS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
    "mm": "month", "week": "week", "day": "day", "dd": "day", "hour": "hour", "minute": "minute",
    "second": "second", "millisecond": "millisecond", "microsecond": "microsecond",
}  # fmt: skip

_BELOW_MINUTES = frozenset({"second", "millisecond", "microsecond"})
"""Units that begin at the same moments in all time zones."""
_TIMES = frozenset({"day", "hour", "minute"})


def _date_trunc(unit: Value, moment: Value) -> Value:
    name = _UNITS.get(str(unit.literal).lower())
    if name is None:
        raise invalid(f"date_trunc has no unit '{unit.literal}'; the units are {', '.join(_UNITS)}")
    if name in _BELOW_MINUTES:
        return Value(TIMESTAMP, read_in(UTC, f"date_trunc('{name}', {shown_in(UTC, moment.sql)})"))
    if name in _TIMES:
        return Value(TIMESTAMP, turned(session_zone(), moment.sql, lambda clock: f"date_trunc('{name}', {clock})"))
    return Value(TIMESTAMP, start_of(f"date_trunc('{name}', {naive(moment)})"))


def _to(target: DataType, value: Value, pattern: Value | None = None) -> Value:
    if pattern is not None:
        return moment_by_pattern(target, value, pattern)
    numbers = NUMERIC if target == TIMESTAMP else ()
    if value.kind not in (None, TypeKind.STRING, TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ, *numbers):
        raise Refusal(f"to_{target} takes a string, date or timestamp, got {value.type}")
    return converted(value, target)


def _datediff(end: Value, start: Value) -> Value:
    return Value(INT, f"CAST({end.sql} - {start.sql} AS INTEGER)")


def _timestamp_millis(milliseconds: Value) -> Value:
    if milliseconds.kind not in (None, *INTEGRAL):
        raise Refusal(f"timestamp_millis takes an int or bigint, got {milliseconds.type}; cast it")
    sql = f"TRY(make_timestamptz({converted(milliseconds, BIGINT).sql} * 1000))"
    return Value(TIMESTAMP, sql)


def _part_of_date(name: str, template: str, doc: str, *aliases: str) -> Function:
    return Function(
        name=name,
        aliases=aliases,
        parameters=(_DATE,),
        result="int",
        doc=doc,
        write=fixed(INT, f"CAST({template} AS INTEGER)"),
    )


def _part_of_time(name: str, doc: str) -> Function:
    return Function(
        name=name,
        parameters=(_TIMESTAMP,),
        result="int",
        doc=doc,
        write=lambda moment: Value(INT, cast(f"{name}({naive(moment)})", INT)),
    )


MOMENTS = (
    _part_of_date("year", "year({0})", "The year."),
    _part_of_date("month", "month({0})", "The month, 1 to 12."),
    _part_of_date("day", "day({0})", "The day of the month, 1 to 31.", "dayofmonth"),
    _part_of_date("dayofweek", "dayofweek({0}) + 1", "The day of the week, 1 (Sunday) to 7."),
    _part_of_time("hour", "The hour, 0 to 23."),
    _part_of_time("minute", "The minute, 0 to 59."),
    _part_of_time("second", "The second, 0 to 59."),
    Function(
        name="date_trunc",
        parameters=(Parameter("unit", Accepts.TEXT_LITERAL), _TIMESTAMP),
        result="timestamp",
        doc="The start of the unit: year, quarter, month, week (Monday), day, hour, minute, second, ...",
        write=_date_trunc,
    ),
    Function(
        name="to_date",
        aliases=("try_to_date",),
        parameters=(Parameter("value", Accepts.ANY), Parameter("pattern", Accepts.TEXT_LITERAL)),
        optional=1,
        result="date",
        doc="As `cast(value as date)`, or of a text with a [pattern](#patterns-of-dates-and-times).",
        write=partial(_to, DATE),
    ),
    Function(
        name="to_timestamp",
        aliases=("try_to_timestamp", "to_timestamp_ltz"),
        parameters=(Parameter("value", Accepts.ANY), Parameter("pattern", Accepts.TEXT_LITERAL)),
        optional=1,
        result="timestamp",
        doc="As `cast(value as timestamp)`, or of a text with a [pattern](#patterns-of-dates-and-times).",
        write=partial(_to, TIMESTAMP),
    ),
    Function(
        name="to_timestamp_ntz",
        parameters=(Parameter("value", Accepts.ANY), Parameter("pattern", Accepts.TEXT_LITERAL)),
        optional=1,
        result="timestamp_ntz",
        doc="As `cast(value as timestamp_ntz)`, or of a text with a pattern without time zone.",
        write=partial(_to, TIMESTAMP_NTZ),
    ),
    Function(
        name="date_add",
        aliases=("dateadd",),
        parameters=(_DATE, Parameter("days", Accepts.WHOLE)),
        result="date",
        doc="The date so many days later.",
        write=lambda date, days: Value(DATE, days_later(date, "+", days)),
    ),
    Function(
        name="date_sub",
        parameters=(_DATE, Parameter("days", Accepts.WHOLE)),
        result="date",
        doc="The date so many days before.",
        write=lambda date, days: Value(DATE, days_later(date, "-", days)),
    ),
    Function(
        name="datediff",
        aliases=("date_diff",),
        parameters=(Parameter("end", Accepts.DATE), Parameter("start", Accepts.DATE)),
        result="int",
        doc="The days from the start to the end.",
        write=_datediff,
    ),
    Function(
        name="unix_millis",
        parameters=(Parameter("timestamp", Accepts.ANY),),
        result="bigint",
        doc="Milliseconds since 1970, rounded down.",
        write=partial(since_epoch, "unix_millis", 1_000),
    ),
    Function(
        name="timestamp_millis",
        parameters=(Parameter("milliseconds", Accepts.ANY),),
        result="timestamp",
        doc="The timestamp so many milliseconds (int or bigint) after 1970; null if there is none.",
        write=_timestamp_millis,
    ),
)
