"""Values as text, in both directions: what CSV and JSON files hold, as columns.

What is written reads back as the same value. Timestamps are ISO 8601 in UTC, `2013-01-01T10:00:00Z` (without the `Z` if
they have no time zone), with as many digits after the second as are needed; numbers have the shortest text that gives
the same number; binary is base64. Dates and times beyond the years 0 to 9999 are written with the sign of the year, as
ISO 8601 asks for, and are not read.
"""

import base64
import re
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.data_types import MAX_PRECISION
from streamapp_systems.zoned_clocks import moments_of

_ZONE = r":\d{2}.*(Z|[+-]\d{2}(:?\d{2})?)$"
_LONG_FRACTION = (r"(\.\d{6})\d+", r"\1")
_UTC = pa.timestamp("us", tz="UTC")
_NAIVE = pa.timestamp("us")
_OVERFLOWING = r"[eE]|[\d.]{39}"
"""What texts have of which Arrow may make another decimal: an exponent, or more digits than decimals have."""
_DECIMAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?\s*", re.ASCII)
_TIME_OF_DAY = " 10:00:00.000000"
_SHOWN = 80
_FIRST, _END = np.datetime64("0000-01-01"), np.datetime64("10000-01-01")


def parse_text(texts: pa.Array, to: pa.DataType) -> pa.Array:
    """Read a column of texts as values of a type; each row for itself.

    Spaces around a value are ignored, except in strings; empty text is null, except in strings and binary. Timestamps:
    ISO 8601 with `T` or a space, with or without fraction (what is finer than microseconds is dropped) and zone (none
    means that of the type).

    Raises:
        ValueError: a text is no value of the type; `pa.ArrowInvalid` is one.
    """
    if pa.types.is_string(to):
        return texts
    try:
        return _parse(texts, to)
    except ValueError:
        trimmed = pc.utf8_trim_whitespace(texts)
        if pa.types.is_binary(to):
            return _parse(trimmed, to)
        return _parse(pc.if_else(pc.equal(trimmed, ""), None, trimmed), to)


def format_text(values: pa.Array) -> pa.Array:
    """Write a column as text; nulls stay null.

    Raises:
        pa.ArrowException: the type has no text form, as lists and structs.
    """
    if pa.types.is_binary(values.type):
        return pa.array(
            [None if value is None else base64.b64encode(value) for value in values.to_pylist()], pa.string()
        )
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        return _format_times(values)
    return pc.cast(values, pa.string())


def _format_times(values: pa.Array) -> pa.Array:
    """Write dates or timestamps; those that Arrow can't write, with numpy."""
    timed = pa.types.is_timestamp(values.type)
    unit = "us" if timed else "D"
    numbers = values.cast(pa.timestamp("us", tz=values.type.tz) if timed else pa.date32(), safe=False)
    numbers = pc.fill_null(numbers.view(pa.int64() if timed else pa.int32()).cast(pa.int64()), 0).to_numpy()
    moments = numbers.view(f"M8[{unit}]")
    beyond = np.flatnonzero((moments < _FIRST) | (moments >= _END))
    if not len(beyond):
        return _format_usual_times(values)
    usual = np.ones(len(values), np.bool_)
    usual[beyond] = False
    texts = _format_usual_times(pc.if_else(pa.array(usual), values, None)).to_pylist()
    for place in beyond:
        year, rest = np.datetime_as_string(moments[place]).removeprefix("-").split("-", 1)
        shortest = rest.rstrip("0").rstrip(".") if "." in rest else rest
        zone = "Z" if timed and values.type.tz is not None else ""
        texts[place] = f"{'-' if moments[place] < _FIRST else '+'}{int(year):04}-{shortest}{zone}"
    return pa.array(texts, pa.string())


def _format_usual_times(values: pa.Array) -> pa.Array:
    if pa.types.is_date(values.type):
        return pc.cast(values, pa.string())
    moments = pc.cast(values, options=pc.CastOptions(target_type=_NAIVE, allow_time_truncate=True))
    texts = pc.cast(moments, pa.string())
    texts = pc.binary_replace_slice(texts, -len(_TIME_OF_DAY), 1 - len(_TIME_OF_DAY), "T")
    shortest = pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")
    return shortest if values.type.tz is None else pc.binary_join_element_wise(shortest, "Z", "")


def shorten(text: str) -> str:
    """Quote a value for a message, cut when it is long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _parse(texts: pa.Array, to: pa.DataType) -> pa.Array:
    if pa.types.is_binary(to):
        decoded = [None if text is None else base64.b64decode(text, validate=True) for text in texts.to_pylist()]
        return pa.array(decoded, to)
    if pa.types.is_decimal(to):
        return _parse_decimals(texts, to)
    if not pa.types.is_timestamp(to):
        return pc.cast(texts, to)
    if to.tz is None:
        return pc.cast(pc.replace_substring_regex(texts, *_LONG_FRACTION), to)
    for parse in (_with_zones, _without_zones):
        with suppress(pa.ArrowInvalid):
            return parse(texts, to)
    return _mixed(texts, to)


def _parse_decimals(texts: pa.Array, to: pa.DataType) -> pa.Array:
    """Read decimals; Arrow's own cast overflows in silence."""
    overflowing = pc.fill_null(pc.match_substring_regex(texts, _OVERFLOWING), False)
    if not pc.any(overflowing).as_py():
        return pc.cast(texts, to)
    rows = zip(texts.to_pylist(), overflowing.to_pylist(), strict=True)
    exact = pa.array([_decimal(text) if careful else None for text, careful in rows], to)
    return pc.if_else(overflowing, exact, pc.cast(pc.if_else(overflowing, None, texts), to))


def _decimal(text: str) -> Decimal:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{shorten(text)} is no decimal")
    value = Decimal(text.strip())
    if value and abs(value.adjusted()) >= MAX_PRECISION:
        raise ValueError(f"{shorten(text)} has more than {MAX_PRECISION} digits before or behind the point")
    return value or Decimal(0)


def _with_zones(texts: pa.Array, to: pa.DataType) -> pa.Array:
    return pc.cast(pc.cast(texts, _UTC), to)


def _without_zones(texts: pa.Array, to: pa.DataType) -> pa.Array:
    return moments_of(pc.cast(texts, _NAIVE), to)


def _mixed(texts: pa.Array, to: pa.DataType) -> pa.Array:
    texts = pc.replace_substring_regex(texts, *_LONG_FRACTION)
    has_zone = pc.match_substring_regex(texts, _ZONE)
    with_zones = _with_zones(pc.if_else(has_zone, texts, None), to)
    return pc.coalesce(with_zones, _without_zones(pc.if_else(has_zone, None, texts), to))
