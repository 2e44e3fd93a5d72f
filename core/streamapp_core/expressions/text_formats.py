"""Between texts and other values, in DuckDB SQL: what Spark reads and writes, character by character."""

from collections.abc import Callable
from functools import partial

from streamapp_core.expressions.kernels import DOUBLE_TEXT, FLOAT_TEXT, ZONE_NAME
from streamapp_core.expressions.local_times import moment_in, read_in
from streamapp_core.expressions.session_zone import session_zone
from streamapp_core.expressions.time_zones import UTC
from streamapp_core.expressions.typed_sql import Value, bound, cast, text, try_cast
from streamapp_core.schema import BOOLEAN, DOUBLE, MAX_PRECISION, DataType, TypeKind

# Spark trims these around numbers, booleans, dates and timestamps; Java's own number parsers leave 0x7f.
_SPACE = r"[\x00-\x20\x7f]*"
_JAVA_SPACE = r"[\x00-\x20]*"
_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_MICROSECONDS = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000}

_WHOLE_TEXT = rf"^{_SPACE}([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]*)){_SPACE}$"
_DECIMAL_TEXT = rf"^{_JAVA_SPACE}([+-]?{_NUMBER}){_JAVA_SPACE}$"
_INFINITY = "[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
_FLOATING_TEXT = rf"^{_JAVA_SPACE}(?:([+-]?{_NUMBER})[dDfF]?|({_INFINITY})|[+-]?(NaN)|([nN][aA][nN])){_JAVA_SPACE}$"
_DATE_TEXT = rf"^{_SPACE}([+-]?[0-9]{{4,7}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:[ T](?s:.*))?)?)?{_SPACE}$"
_TIMESTAMP_TEXT = (
    rf"^{_SPACE}([+-]?[0-9]{{4,6}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})"
    r"(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,6})[0-9]*)?"
    r"(?: *(?:([+-][0-9]{1,2})(?::?([0-9]{1,2}))?|([A-Za-z][A-Za-z0-9/_:+-]*)))?)?)?)?)?)?"
    rf"{_SPACE}$"
)


def whole_from_text(sql: str, target: DataType) -> str:
    """Read an int or bigint; digits after a point are checked and dropped."""
    number = f"regexp_extract({sql}, {text(_WHOLE_TEXT)}, 1)"
    return try_cast(rf"regexp_replace({number}, '^([+-]?)([0-9]*)\.[0-9]*$', '\10\2')", target)


def floating_from_text(sql: str, target: DataType) -> str:
    """Read a float or double."""
    names = "['n', 'i', 'x', 'y']"
    value = Value(None, f"regexp_extract({sql}, {text(_FLOATING_TEXT)}, {names})")
    return bound([value], lambda v: try_cast(f"concat({v}.n, {v}.i, {v}.x, {v}.y)", target))


def decimal_from_text(sql: str, target: DataType) -> str:
    """Read a decimal, rounded half up; null where it has too many digits before the point."""
    return decimal_from_number(f"regexp_extract({sql}, {text(_DECIMAL_TEXT)}, 1)", target)


def decimal_from_number(sql: str, target: DataType) -> str:
    """Read a decimal from a text that is a number, perhaps with an exponent."""
    # By way of more digits before the point: DuckDB reads 1e-2 as 1 first, and with an exponent some of 39 digits.
    widest = f"DECIMAL({MAX_PRECISION},{target.scale})"
    nines = "9" * (MAX_PRECISION - target.scale) + "." + "9" * target.scale

    def within(d: str) -> str:
        return f"CASE WHEN abs({d}) <= CAST('{nines}' AS {widest}) THEN {try_cast(d, target)} END"

    return bound([Value(target, try_cast(sql, widest))], within)


def boolean_from_text(value: Value) -> str:
    """Read a boolean: t, true, y, yes, 1 and their opposites."""

    def read(v: str) -> str:
        return (
            f"CASE WHEN {v} IN ('t', 'true', 'y', 'yes', '1') THEN true "
            f"WHEN {v} IN ('f', 'false', 'n', 'no', '0') THEN false END"
        )

    word = rf"regexp_extract(lower({value.sql}), '^{_SPACE}([a-z0-9]*){_SPACE}$', 1)"
    return bound([Value(BOOLEAN, word)], read)


def date_from_text(sql: str) -> str:
    """Read a date: a year, perhaps a month, perhaps a day and then anything after a space or T."""
    parts = Value(None, f"regexp_extract({sql}, {text(_DATE_TEXT)}, ['y', 'm', 'd'])")
    return bound([parts], lambda v: f"TRY(make_date({_year_month_day(v)}))")


def timestamp_from_text(sql: str, *, zoned: bool = True) -> str:
    """Read a timestamp, without a time zone in that of the app. Not `zoned`: leave zones out of account."""
    names = "['y', 'm', 'd', 'hh', 'mm', 'ss', 'f', 'zh', 'zm', 'r']"
    parts = Value(None, f"regexp_extract({sql}, {text(_TIMESTAMP_TEXT)}, {names})")

    def number(name: str) -> str:
        return f"coalesce(TRY_CAST(v.{name} AS BIGINT), 0)"

    def read(v: str) -> str:
        hour, minute, second, zone_hour, zone_minute = (
            number(name).replace("v.", f"{v}.") for name in ("hh", "mm", "ss", "zh", "zm")
        )
        day = f"epoch_us(TRY(make_timestamp({_year_month_day(v)}, 0, 0, 0)))"
        clock = (
            f"{hour} * {_MICROSECONDS['h']} + {minute} * {_MICROSECONDS['m']} + {second} * {_MICROSECONDS['s']}"
            f" + CAST(rpad({v}.f, 6, '0') AS BIGINT)"
        )
        sign = f"CASE WHEN starts_with({v}.zh, '-') THEN -1 ELSE 1 END"
        offset = f"({zone_hour} * {_MICROSECONDS['h']} + {sign} * {zone_minute} * {_MICROSECONDS['m']})"
        valid = (
            f"{hour} < 24 AND {minute} < 60 AND {second} < 60 AND {zone_minute} < 60 "
            f"AND abs({offset}) <= {18 * _MICROSECONDS['h']}"
        )
        local, region = f"make_timestamp({day} + {clock})", Value(None, ZONE_NAME.over(f"{v}.r"))
        if not zoned:
            return f"CASE WHEN {valid} AND ({v}.r IN ('', 'Z') OR {region.sql} IS NOT NULL) THEN TRY({local}) END"
        at_offset = f"TRY(make_timestamptz({day} + {clock} - {offset}))"
        in_region = bound([region], partial(moment_in, local))
        of_zone = f"CASE WHEN {v}.r IN ('', 'Z') THEN {at_offset} ELSE {in_region} END"
        if session_zone() != UTC:
            here = f"TRY({read_in(session_zone(), local)})"
            of_zone = f"CASE WHEN {v}.r = '' AND {v}.zh = '' THEN {here} ELSE {of_zone} END"
        return f"CASE WHEN {valid} THEN {of_zone} END"

    return bound([parts], read)


def _year_month_day(parts: str) -> str:
    month, day = (f"coalesce(TRY_CAST({parts}.{name} AS BIGINT), 1)" for name in "md")
    return f"TRY_CAST({parts}.y AS BIGINT), {month}, {day}"


def text_of_floating(value: Value) -> str:
    """Write a float or double as Java does: with an exponent below 1e-3 and from 1e7."""

    def write(number: Value) -> str:
        return bound([number, Value(None, cast(number.sql, "VARCHAR"))], _with_exponent)

    return _by_size(value, write)


def digits_of_floating(value: Value) -> str:
    """Write a float or double as a text that a cast to decimal takes, with the digits of Java."""
    return _by_size(value, lambda number: cast(number.sql, "VARCHAR"))


def _by_size(value: Value, write: Callable[[Value], str]) -> str:
    """Write a text of a number that has the fewest digits in Java, and take Java's of others.

    Those that have more are large, or below 2 to the power of -20.
    """
    single = value.kind is TypeKind.FLOAT
    most = 2**25 if single else 2**53

    def chosen(v: str) -> str:
        number = Value(DOUBLE, _double_of_float(v), simple=False) if single else Value(DOUBLE, v, simple=True)
        usual = bound([number], lambda n: write(Value(DOUBLE, n, simple=True)))
        as_in_java = (FLOAT_TEXT if single else DOUBLE_TEXT).over(v)
        return f"CASE WHEN {v} = 0 OR abs({v}) BETWEEN {2**-20} AND {most} THEN {usual} ELSE {as_in_java} END"

    return bound([value], chosen)


def _with_exponent(v: str, t: str) -> str:
    digits = f"rtrim(ltrim(translate({t}, '-.', ''), '0'), '0')"
    exponent = f"CASE WHEN abs({v}) < 1 THEN -4 ELSE length(split_part(ltrim({t}, '-'), '.', 1)) - 1 END"
    mantissa = f"left({digits}, 1) || '.' || CASE WHEN length({digits}) > 1 THEN {digits}[2:] ELSE '0' END"
    two = f"CASE WHEN contains({t}, '.') THEN {t} ELSE replace({t}, 'e', '.0e') END"
    shorter = bound(
        [Value(None, two)],
        lambda s: f"split_part({s}, 'e', 1) || 'E' || CAST(CAST(split_part({s}, 'e', 2) AS INTEGER) AS VARCHAR)",
    )
    return (
        f"CASE WHEN {v} = 0 OR (abs({v}) >= 1e-3 AND abs({v}) < 1e7) THEN {t} WHEN contains({t}, 'e') THEN {shorter} "
        f"ELSE CASE WHEN {v} < 0 THEN '-' ELSE '' END || {mantissa} || 'E' || {exponent} END"
    )


def _double_of_float(v: str) -> str:
    """Return the double with the fewest digits that still round to the float; DuckDB writes some floats with more."""
    tries = ", ".join(f"format('{{:.{digits}e}}', CAST({v} AS DOUBLE))" for digits in range(1, 9))
    return f"CAST(list_filter([{tries}], lambda __s: CAST(__s AS FLOAT) = {v})[1] AS DOUBLE)"


def plain_decimal(sql: str, data_type: DataType) -> str:
    """Write a decimal without an exponent; DuckDB leaves out the 0 before the point of a type without whole digits."""
    plain = cast(sql, "VARCHAR")
    return rf"regexp_replace({plain}, '^(-?)\.', '\10.')" if data_type.precision == data_type.scale else plain


def text_of_decimal(value: Value, data_type: DataType) -> str:
    """Write a decimal as Java's BigDecimal does: with an exponent below 1e-6."""
    plain = plain_decimal(value.sql, data_type)
    if data_type.scale <= 6:  # noqa: PLR2004 - BigDecimal's own limit
        return plain

    def write(v: str, t: str) -> str:
        digits = f"coalesce(nullif(ltrim(translate({t}, '-.', ''), '0'), ''), '0')"
        scientific = (
            f"CASE WHEN {v} < 0 THEN '-' ELSE '' END || left({digits}, 1) "
            f"|| CASE WHEN length({digits}) > 1 THEN '.' || {digits}[2:] ELSE '' END "
            f"|| 'E' || (length({digits}) - 1 - {data_type.scale})"
        )
        small = f"length({digits}) - 1 - {data_type.scale} < -6"
        return f"CASE WHEN {v} IS NULL THEN NULL WHEN {small} THEN {scientific} ELSE {t} END"

    return bound([value, Value(None, plain)], write)


def text_of_moment(value: Value) -> str:
    """Write a date, or a naive timestamp: years have four digits at least, a sign if they need it."""
    time = "" if value.kind is TypeKind.DATE else " %H:%M:%S.%f"

    def write(v: str) -> str:
        sign = f"CASE WHEN year({v}) < 0 THEN '-' WHEN year({v}) > 9999 THEN '+' ELSE '' END"
        digits = (
            f"CASE WHEN abs(year({v})) > 9999 THEN abs(year({v})) || '' ELSE lpad(abs(year({v})) || '', 4, '0') END"
        )
        rest = f"strftime({v}, '-%m-%d{time}')"
        if time:
            rest = f"rtrim(rtrim({rest}, '0'), '.')"
        plain = f"CAST({v} AS VARCHAR)"
        return f"CASE WHEN year({v}) BETWEEN 1 AND 9999 THEN {plain} ELSE {sign} || {digits} || {rest} END"

    return bound([value], write)
