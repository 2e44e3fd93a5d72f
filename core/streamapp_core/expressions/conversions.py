"""Casts: those that are written, those that Spark adds by itself, and their DuckDB SQL.

A value that does not fit gives null, wraps around or saturates, as in Spark with ANSI mode off.
"""

from collections.abc import Callable

from streamapp_core.data_types import INTERVALS, NESTED, SPATIAL, VARIANT
from streamapp_core.expressions import nested_values, text_formats
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.interval_values import cast_interval, interval_of_number, text_of_interval
from streamapp_core.expressions.local_times import day_start, read_in, shown_in
from streamapp_core.expressions.moment_words import moment_text, timestamp_text
from streamapp_core.expressions.session_zone import session_zone
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL, NUMERIC, as_decimal
from streamapp_core.expressions.typed_sql import Value, bound, cast, duckdb_type, try_cast
from streamapp_core.expressions.variant_values import from_variant, to_variant
from streamapp_core.schema import BIGINT, DOUBLE, INT, STRING, DataType, TypeKind

WHOLE_BITS = {TypeKind.TINYINT: 8, TypeKind.SMALLINT: 16, TypeKind.INT: 32, TypeKind.BIGINT: 64}
_WIDER = {TypeKind.TINYINT: "INTEGER", TypeKind.SMALLINT: "INTEGER", TypeKind.INT: "BIGINT", TypeKind.BIGINT: "HUGEINT"}
_MOMENTS = frozenset({TypeKind.DATE, TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ})
_MICROSECONDS = 1_000_000
_LAST_SECOND = (2**63 - 1) // _MICROSECONDS - 1
_EXACT_DOUBLE_DIGITS = 15
_SECONDS = DataType(TypeKind.DECIMAL, 25, 6)


def wrapped(sql: str, target: DataType) -> str:
    """Wrap a whole number around into the range of a whole-number type, as Java does.

    `sql` yields a wider whole number: at most twice as many bits as the type, less two.
    """
    half = 2 ** (WHOLE_BITS[target.kind] - 1)
    return cast(f"((({sql}) + {half}) & {2 * half - 1}) - {half}", target)


def widened(value: Value, target: DataType) -> str:
    """Return a whole number in the type that `wrapped` takes back to `target`."""
    return cast(value.sql, _WIDER[target.kind])


def naive(value: Value) -> str:
    """Return a timestamp as what clocks in the time zone of the app show, DuckDB's timestamp without time zone."""
    return shown_in(session_zone(), value.sql)


def aware(sql: str) -> str:
    """Return the timestamp at which clocks in the time zone of the app show a naive one."""
    return read_in(session_zone(), sql)


def start_of(date: str) -> str:
    """Return the timestamp at which a date starts in the time zone of the app."""
    return day_start(session_zone(), date)


def converted(value: Value, target: DataType) -> Value:
    """Cast a value, as `cast(value as target)` does.

    Raises:
        Refusal: There is no such cast here.
    """
    if value.type == target:
        return value
    if value.type is None:
        return Value(target, cast("NULL", target), simple=True)
    if VARIANT in (value.type, target):
        return to_variant(value, objects=False) if target == VARIANT else Value(target, from_variant(value, target))
    if target.kind is TypeKind.STRING:
        return Value(STRING, _writer(value.type)(value, value.type))
    nested = nested_values.converted(value, target, converted)
    if nested is not None:
        return nested
    if value.kind in INTERVALS:
        sql = cast_interval(value, target)
    else:
        caster = _CASTS.get((_family(value.type), target.kind))
        sql = caster(value, target) if caster else None
    if sql is None:
        raise Refusal(f"{value.type} can't be cast to {target}{_hint(value.type, target)}")
    return Value(target, sql, simple=value.simple and value.literal is not None)


def implied(value: Value, target: DataType) -> Value:
    """Cast a value where a function or operator needs another type, if Spark does so by itself.

    Raises:
        Refusal: It does not: the text must say what is meant.
    """
    source = value.kind
    allowed = (
        source is None
        or value.type == target
        or (source in NUMERIC and target.kind in NUMERIC)
        or (source is TypeKind.STRING and target.kind is not TypeKind.BOOLEAN)
        or (source in _MOMENTS and target.kind in _MOMENTS)
        or (target == STRING and source not in (*NESTED, *SPATIAL, TypeKind.VARIANT))
        or source is TypeKind.VOID
    )
    if allowed:
        return converted(value, target)
    if source in (TypeKind.ARRAY, TypeKind.MAP):
        nested = nested_values.converted(value, target, implied)
        if nested is not None:
            return nested
    raise Refusal(f"expected {target}, got {value.type}")


def number(value: Value) -> Value:
    """Return a value as a number: a string is cast to double, as Spark does.

    Raises:
        Refusal: It is no number.
    """
    if value.type is None or value.type == STRING:
        return converted(value, DOUBLE)
    if value.kind not in NUMERIC:
        raise Refusal(f"expected a number, got {value.type}")
    return value


def _family(data_type: DataType) -> str:
    if data_type.kind in INTEGRAL:
        return "whole"
    return "floating" if data_type.kind in FRACTIONAL else str(data_type.kind)


def _hint(source: DataType, target: DataType) -> str:
    if target.kind is TypeKind.DATE and source.kind in INTEGRAL:
        return "; use date_from_unix_date of days, or timestamp_millis of milliseconds"
    if (source.kind, target.kind) == (TypeKind.DATE, TypeKind.BIGINT):
        return "; use datediff(date, '1970-01-01')"
    return ""


def _to_text(value: Value, source: DataType) -> str:
    match source.kind:
        case TypeKind.FLOAT | TypeKind.DOUBLE:
            return text_formats.text_of_floating(value)
        case TypeKind.DECIMAL:
            return text_formats.text_of_decimal(value, source)
        case TypeKind.DATE | TypeKind.TIMESTAMP_NTZ:
            return text_formats.text_of_moment(value)
        case TypeKind.TIMESTAMP:
            return text_formats.text_of_moment(Value(source, naive(value)))
        case TypeKind.BINARY:
            return f"TRY(decode({value.sql}))"
        case _:
            return cast(value.sql, STRING)


def _writer(source: DataType) -> Callable[[Value, DataType], str]:
    if source.kind in SPATIAL:
        raise Refusal(f"{source} can't be cast to string; use hex(st_asbinary(...))")
    if source.nested:
        return _text_of_nested
    return text_of_interval if source.kind in INTERVALS else _to_text


def _text_of_nested(value: Value, source: DataType) -> str:
    if TypeKind.BINARY in source.kinds:
        raise Refusal(f"{source} can't be cast to string: bytes inside of it need be no text")
    if TypeKind.VARIANT in source.kinds:
        raise Refusal(f"{source} can't be cast to string; use to_json")
    return nested_values.text_of(value, lambda inner: converted(inner, STRING).sql)


def _whole_to_whole(value: Value, target: DataType) -> str:
    return (
        cast(value.sql, target)
        if target.kind is TypeKind.BIGINT
        else wrapped(f"{value.sql} & {2 ** WHOLE_BITS[target.kind] - 1}", target)
    )


def _floating_to_whole(value: Value, target: DataType) -> str:
    if WHOLE_BITS[target.kind] < WHOLE_BITS[TypeKind.INT]:
        return _whole_to_whole(Value(INT, _floating_to_whole(value, INT)), target)
    half = 2 ** (WHOLE_BITS[target.kind] - 1)

    def saturate(v: str) -> str:
        return (
            f"CASE WHEN isnan({v}) THEN 0 WHEN {v} >= {half}.0::DOUBLE THEN {half - 1} "
            f"WHEN {v} <= -{half}.0::DOUBLE THEN -{half} ELSE CAST(trunc({v}) AS {duckdb_type(target)}) END"
        )

    return cast(bound([value], saturate), target)


def _floating_to_floating(value: Value, target: DataType) -> str:
    if target.kind is TypeKind.DOUBLE:
        return cast(value.sql, target)
    # Out of range is infinity; DuckDB's own cast gives an error.
    return bound(
        [value],
        lambda v: (
            f"CASE WHEN {v} IS NULL THEN NULL ELSE coalesce({try_cast(v, target)}, "
            f"CASE WHEN {v} > 0 THEN 'inf'::FLOAT ELSE '-inf'::FLOAT END) END"
        ),
    )


def _floating_to_decimal(value: Value, target: DataType) -> str:
    # By way of the digits that are printed, not of the binary value.
    number = Value(DOUBLE, cast(value.sql, DOUBLE)) if value.kind is TypeKind.FLOAT else value
    return text_formats.decimal_from_number(text_formats.digits_of_floating(number), target)


def _decimal_to_floating(value: Value, target: DataType) -> str:
    source = value.type or target
    if target.kind is TypeKind.DOUBLE and source.precision <= _EXACT_DOUBLE_DIGITS:
        return cast(value.sql, target)
    return cast(cast(value.sql, "VARCHAR"), target)


def _decimal_to_whole(value: Value, target: DataType) -> str:
    whole = cast(f"trunc({value.sql})", "HUGEINT")
    if target.kind is not TypeKind.BIGINT:
        whole = f"({whole} & {2**64 - 1})"
        return wrapped(whole, target)
    return cast(f"((({whole} & {2**64 - 1}) + {2**63}) & {2**64 - 1}) - {2**63}", target)


def _timestamp_to_date(value: Value, target: DataType) -> str:
    return cast(naive(value), target)


def _timestamp_to_whole(value: Value, target: DataType) -> str:
    return try_cast(floor_division(f"epoch_us({value.sql})", _MICROSECONDS), target)


def _timestamp_to_floating(value: Value, target: DataType) -> str:
    return cast(f"CAST(epoch_us({value.sql}) AS DOUBLE) / 1e6", target)


def _seconds(value: Value) -> Value:
    digits = f"CAST(epoch_us({value.sql}) AS DECIMAL({_SECONDS.precision - _SECONDS.scale},0))"
    return Value(_SECONDS, f"({digits} * 0.000001)")


def _whole_to_timestamp(value: Value, _target: DataType) -> str:
    def moment(v: str) -> str:
        return (
            f"CASE WHEN {v} BETWEEN -{_LAST_SECOND} AND {_LAST_SECOND} "
            f"THEN TRY(make_timestamptz(CAST({v} AS BIGINT) * {_MICROSECONDS})) END"
        )

    return bound([value], moment)


def _floating_to_timestamp(value: Value, _target: DataType) -> str:
    microseconds = f"TRY_CAST(trunc(CAST({value.sql} AS DOUBLE) * 1e6) AS BIGINT)"
    return f"TRY(make_timestamptz({microseconds}))"


def _decimal_to_timestamp(value: Value, _target: DataType) -> str:
    def moment(v: str) -> str:
        whole = f"CAST(trunc({v}) AS HUGEINT) * {_MICROSECONDS}"
        fraction = f"CAST(trunc(({v} - trunc({v})) * {_MICROSECONDS}) AS HUGEINT)"
        return f"TRY(make_timestamptz({wrapped(f'{whole} + {fraction}', BIGINT)}))"

    return bound([value], moment)


def _whole_to_bytes(value: Value, _target: DataType) -> str:
    """Return the bytes of a whole number, the greatest first."""
    digits = WHOLE_BITS[value.kind or TypeKind.BIGINT] // 4
    return f"unhex(right('{'0' * digits}' || hex(CAST({value.sql} AS BIGINT)), {digits}))"


def floor_division(sql: str, divisor: int) -> str:
    """Divide a bigint, rounding down, where DuckDB's own division rounds towards zero; yields a hugeint."""
    shift = 2**63 // divisor + 1
    return f"((CAST({sql} AS HUGEINT) + {shift * divisor}) // {divisor} - {shift})"


def _to_decimal(value: Value, target: DataType) -> str:
    source = value.type and as_decimal(value.type)
    if source and source.scale <= target.scale and source.precision - source.scale <= target.precision - target.scale:
        return cast(value.sql, target)
    return try_cast(value.sql, target)


_Caster = Callable[[Value, DataType], str]
_CASTS: dict[tuple[str, TypeKind], _Caster] = {
    ("string", TypeKind.TINYINT): lambda v, t: text_formats.whole_from_text(v.sql, t),
    ("string", TypeKind.SMALLINT): lambda v, t: text_formats.whole_from_text(v.sql, t),
    ("string", TypeKind.INT): lambda v, t: text_formats.whole_from_text(v.sql, t),
    ("string", TypeKind.BIGINT): lambda v, t: text_formats.whole_from_text(v.sql, t),
    ("string", TypeKind.FLOAT): lambda v, t: text_formats.floating_from_text(v.sql, t),
    ("string", TypeKind.DOUBLE): lambda v, t: text_formats.floating_from_text(v.sql, t),
    ("string", TypeKind.DECIMAL): lambda v, t: text_formats.decimal_from_text(v.sql, t),
    ("string", TypeKind.BOOLEAN): lambda v, _: text_formats.boolean_from_text(v),
    ("string", TypeKind.DATE): lambda v, _: text_formats.date_from_text(moment_text(v)),
    ("string", TypeKind.TIMESTAMP): lambda v, _: text_formats.timestamp_from_text(timestamp_text(v)),
    ("string", TypeKind.BINARY): lambda v, _: f"encode({v.sql})",
    ("whole", TypeKind.TINYINT): _whole_to_whole,
    ("whole", TypeKind.SMALLINT): _whole_to_whole,
    ("whole", TypeKind.INT): _whole_to_whole,
    ("whole", TypeKind.BIGINT): _whole_to_whole,
    ("whole", TypeKind.FLOAT): lambda v, t: cast(v.sql, t),
    ("whole", TypeKind.DOUBLE): lambda v, t: cast(v.sql, t),
    ("whole", TypeKind.DECIMAL): _to_decimal,
    ("whole", TypeKind.BINARY): _whole_to_bytes,
    ("whole", TypeKind.BOOLEAN): lambda v, _: f"({v.sql} <> 0)",
    ("whole", TypeKind.TIMESTAMP): _whole_to_timestamp,
    ("whole", TypeKind.DAY_TIME_INTERVAL): interval_of_number,
    ("whole", TypeKind.YEAR_MONTH_INTERVAL): interval_of_number,
    ("floating", TypeKind.TINYINT): _floating_to_whole,
    ("floating", TypeKind.SMALLINT): _floating_to_whole,
    ("floating", TypeKind.INT): _floating_to_whole,
    ("floating", TypeKind.BIGINT): _floating_to_whole,
    ("floating", TypeKind.FLOAT): _floating_to_floating,
    ("floating", TypeKind.DOUBLE): _floating_to_floating,
    ("floating", TypeKind.DECIMAL): _floating_to_decimal,
    ("floating", TypeKind.BOOLEAN): lambda v, _: f"({v.sql} <> 0)",
    ("floating", TypeKind.TIMESTAMP): _floating_to_timestamp,
    ("decimal", TypeKind.TINYINT): _decimal_to_whole,
    ("decimal", TypeKind.SMALLINT): _decimal_to_whole,
    ("decimal", TypeKind.INT): _decimal_to_whole,
    ("decimal", TypeKind.BIGINT): _decimal_to_whole,
    ("decimal", TypeKind.FLOAT): _decimal_to_floating,
    ("decimal", TypeKind.DOUBLE): _decimal_to_floating,
    ("decimal", TypeKind.DECIMAL): _to_decimal,
    ("decimal", TypeKind.TIMESTAMP): _decimal_to_timestamp,
    ("decimal", TypeKind.BOOLEAN): lambda v, _: f"({v.sql} <> 0)",
    ("boolean", TypeKind.TINYINT): lambda v, t: cast(v.sql, t),
    ("boolean", TypeKind.SMALLINT): lambda v, t: cast(v.sql, t),
    ("boolean", TypeKind.INT): lambda v, t: cast(v.sql, t),
    ("boolean", TypeKind.BIGINT): lambda v, t: cast(v.sql, t),
    ("boolean", TypeKind.FLOAT): lambda v, t: cast(v.sql, t),
    ("boolean", TypeKind.DOUBLE): lambda v, t: cast(v.sql, t),
    ("boolean", TypeKind.DECIMAL): lambda v, t: try_cast(cast(v.sql, "INTEGER"), t),
    ("boolean", TypeKind.TIMESTAMP): lambda v, _: f"make_timestamptz(CAST({v.sql} AS BIGINT))",
    ("string", TypeKind.TIMESTAMP_NTZ): lambda v, _: text_formats.timestamp_from_text(moment_text(v), zoned=False),
    ("date", TypeKind.TIMESTAMP): lambda v, _: start_of(v.sql),
    ("date", TypeKind.TIMESTAMP_NTZ): lambda v, t: cast(v.sql, t),
    ("timestamp", TypeKind.TIMESTAMP_NTZ): lambda v, _: naive(v),
    ("timestamp_ntz", TypeKind.DATE): lambda v, t: cast(v.sql, t),
    ("timestamp_ntz", TypeKind.TIMESTAMP): lambda v, _: aware(v.sql),
    ("timestamp", TypeKind.DATE): _timestamp_to_date,
    ("timestamp", TypeKind.INT): _timestamp_to_whole,
    ("timestamp", TypeKind.BIGINT): _timestamp_to_whole,
    ("timestamp", TypeKind.DOUBLE): _timestamp_to_floating,
    ("timestamp", TypeKind.FLOAT): lambda v, t: cast(_timestamp_to_floating(v, DOUBLE), t),
    ("timestamp", TypeKind.DECIMAL): lambda v, t: _to_decimal(_seconds(v), t),
    ("timestamp", TypeKind.BOOLEAN): lambda v, _: f"(epoch_us({v.sql}) <> 0)",
}
