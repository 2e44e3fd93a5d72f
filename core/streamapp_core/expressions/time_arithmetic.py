"""The operators + - * / of dates, timestamps and intervals. A result beyond what a type holds is null."""

from collections.abc import Callable

from streamapp_core.data_types import INTERVALS
from streamapp_core.expressions import arithmetic
from streamapp_core.expressions.arithmetic import digits_of, divided
from streamapp_core.expressions.conversions import aware, converted, naive, wrapped
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.interval_types import DAY, DAY_TO_SECOND, MICROSECONDS, YEAR_TO_MONTH, common_interval
from streamapp_core.expressions.local_times import turned
from streamapp_core.expressions.session_zone import session_zone
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL
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

_MOMENTS = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ})
TIMES = _MOMENTS | INTERVALS
"""The kinds of operands that are no numbers."""
_DAYS = frozenset({TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT})
_MOST_FACTOR_DIGITS = 18
"""Times an interval of 19 digits they make a number that DuckDB's widest type holds."""
_WHOLE = DataType(TypeKind.DECIMAL, MAX_PRECISION, 0)


def combined(operator: str, left: Value, right: Value) -> Value:
    """Combine two values by `+ - * / %`: numbers, or dates, timestamps and intervals.

    Raises:
        Refusal: The operator does not take their types.
    """
    return _combined(operator, left, right) or arithmetic.arithmetic(operator, left, right)


def opposite(value: Value) -> Value:
    """Change the sign of a number or an interval; an interval without an opposite gives null.

    Raises:
        Refusal: It is neither.
    """
    return Value(value.type, f"TRY(-({value.sql}))") if value.kind in INTERVALS else arithmetic.negated(value)


def _combined(operator: str, left: Value, right: Value) -> Value | None:
    """Combine two values, one of them a date, timestamp or interval; None if the operator does not take them.

    Raises:
        Refusal: A decimal has too many digits for an interval.
    """
    if left.kind in INTERVALS and right.type is None and operator in "+-":
        right = converted(right, left.type or DAY)
    elif right.kind in INTERVALS and left.type is None and operator in "+-":
        left = converted(left, right.type or DAY)
    if (operator == "+" and right.kind in _MOMENTS) or (operator == "*" and right.kind in INTERVALS):
        left, right = right, left
    if left.kind in _MOMENTS:
        return _of_moment(operator, left, right)
    if operator == "-" and left.type == STRING and right.kind is TypeKind.DATE:
        return _of_moment(operator, converted(left, DATE), right)
    if left.kind in INTERVALS:
        return _of_interval(operator, left, right)
    return None


def moved(moment: Value, interval: Value, *, back: bool = False) -> Value:
    """Return a date or timestamp an interval later, or earlier: a month later is the last day of a shorter month."""
    sql = f"-({interval.sql})" if back else interval.sql
    if interval.kind is TypeKind.YEAR_MONTH_INTERVAL:
        if moment.kind is TypeKind.DATE:
            return Value(DATE, f"TRY(CAST({moment.sql} + to_months({sql}) AS DATE))")
        return turned_clock(moment, lambda clock: f"{clock} + to_months({sql})")
    if moment.kind is TypeKind.DATE and interval.type == DAY:
        return Value(DATE, f"TRY({moment.sql} + CAST({sql} // {MICROSECONDS['day']} AS INTEGER))")
    return later(moment, sql)


def later(moment: Value, length: str) -> Value:
    """Return a date or timestamp so many microseconds later: as many days in the calendar, and the rest of the time."""
    if moment.kind is TypeKind.TIMESTAMP_NTZ or not session_zone().name:
        return turned_clock(moment, lambda clock: f"make_timestamp(epoch_us({clock}) + {length})")

    def write(m: str, us: str) -> str:
        days = f"to_days(CAST({us} // {MICROSECONDS['day']} AS INTEGER))"
        day = turned(session_zone(), m, lambda clock: f"{clock} + {days}")
        return f"make_timestamptz(epoch_us({day}) + {us} % {MICROSECONDS['day']})"

    return Value(TIMESTAMP, f"TRY({bound([converted(moment, TIMESTAMP), Value(BIGINT, length)], write)})")


def passed(moment: Value, length: str) -> Value:
    """Return a timestamp so many microseconds later, however clocks are turned meanwhile."""
    make = "make_timestamp" if moment.kind is TypeKind.TIMESTAMP_NTZ else "make_timestamptz"
    return Value(moment.type, f"TRY({make}(epoch_us({moment.sql}) + {length}))")


def turned_clock(moment: Value, turn: Callable[[str], str]) -> Value:
    """Return the date or timestamp that clocks show when they are turned; null beyond what it holds.

    `turn` writes a naive timestamp over the one that they show.
    """
    if moment.kind is TypeKind.TIMESTAMP_NTZ:
        return Value(moment.type, f"TRY({turn(moment.sql)})")
    return Value(TIMESTAMP, f"TRY({turned(session_zone(), converted(moment, TIMESTAMP).sql, turn)})")


def days_later(date: Value, operator: str, days: Value) -> str:
    """Return a date so many days later, or earlier, by `+` or `-`; the number of days since 1970 wraps around."""
    near = f"TRY({date.sql} {operator} {days.sql})"
    if days.literal is not None:
        return near

    def write(d: str, n: str) -> str:
        sum_of_days = wrapped(f"CAST({d} - DATE '1970-01-01' AS BIGINT) {operator} {n}", INT)
        return f"coalesce(TRY({d} {operator} {n}), TRY(DATE '1970-01-01' + {sum_of_days}))"

    return bound([date, days], write)


def clock(moment: Value) -> Value:
    """Return a date or timestamp as what clocks show: a naive timestamp in SQL, of the type of the moment."""
    if moment.kind is TypeKind.TIMESTAMP_NTZ:
        return moment
    moment = converted(moment, TIMESTAMP)
    return Value(TIMESTAMP, naive(moment))


def from_clock(like: Value, sql: str) -> Value:
    """Return a naive timestamp as a value of the type of another; null beyond what it holds."""
    return Value(like.type, f"TRY({sql if like.kind is TypeKind.TIMESTAMP_NTZ else aware(sql)})")


def _of_moment(operator: str, moment: Value, other: Value) -> Value | None:
    if operator not in "+-":
        return None
    if other.kind in INTERVALS:
        return moved(moment, other, back=operator == "-")
    if moment.kind is TypeKind.DATE and other.kind in _DAYS:
        return Value(DATE, days_later(moment, operator, Value(INT, cast(other.sql, INT), other.literal)))
    if operator == "+" or other.kind not in _MOMENTS:
        return None
    if moment.kind is other.kind is TypeKind.DATE:
        return Value(DAY, f"TRY(CAST({moment.sql} - {other.sql} AS BIGINT) * {MICROSECONDS['day']})")
    if moment.kind is not other.kind:
        common = TIMESTAMP if TypeKind.TIMESTAMP in (moment.kind, other.kind) else TIMESTAMP_NTZ
        moment, other = (converted(side, common) for side in (moment, other))
    end, start = (f"epoch_us({clock(side).sql})" for side in (moment, other))
    return Value(DAY_TO_SECOND, f"TRY({end} - {start})")


def _of_interval(operator: str, interval: Value, other: Value) -> Value | None:
    if operator in "+-":
        common = common_interval(interval.type or DAY, other.type or DAY)
        if common is None:
            return None
        sides = [converted(side, common).sql for side in (interval, other)]
        return Value(common, f"TRY({sides[0]} {operator} {sides[1]})")
    return _scaled(operator, interval, other) if operator in "*/" else None


def _scaled(operator: str, interval: Value, other: Value) -> Value | None:
    """Write an interval times or over a number, rounded half up to a month or microsecond."""
    target = YEAR_TO_MONTH if interval.kind is TypeKind.YEAR_MONTH_INTERVAL else DAY_TO_SECOND
    if other.type is None or other.type == STRING:
        other = converted(other, DOUBLE)
    length = cast(interval.sql, "HUGEINT")
    if other.kind in FRACTIONAL:
        number = cast(other.sql, DOUBLE)
        result = f"CAST({interval.sql} AS DOUBLE) {operator} {number}"
        return Value(target, try_cast(f"round({result})", target))
    if other.kind in INTEGRAL:
        digits, unit = cast(other.sql, "HUGEINT"), 1
    elif other.type and other.kind is TypeKind.DECIMAL:
        if other.type.precision > _MOST_FACTOR_DIGITS:
            raise Refusal(
                f"`{operator}` of an interval takes decimals of {_MOST_FACTOR_DIGITS} digits at most, "
                f"got {other.type}; cast it"
            )
        digits, unit = digits_of(other), 10**other.type.scale
    else:
        return None
    if operator == "*":
        return Value(target, try_cast(divided(f"{length} * {digits}", cast(str(unit), "HUGEINT"), _WHOLE), target))
    return Value(target, try_cast(divided(f"{length} * {unit}", digits, _WHOLE), target))
