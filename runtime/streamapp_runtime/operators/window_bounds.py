"""The bounds of windows: as columns of results, and as keys that order state by the ends of windows."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.control.messages import END_OF_TIME

BEGINNING = -(1 << 63)
"""A time before every watermark."""

BOUNDS = tuple(pa.field(name, pa.timestamp("us", tz="UTC")) for name in ("window_start", "window_end"))
_MICROSECONDS = 1_000

EMITTED_AT_ONCE = 500_000
"""Results per commit: what follows from them must fit a commit that takes seconds."""


def end_key(end: int) -> bytes:
    """Encode a window's end so that bytes order as numbers do."""
    return (end - BEGINNING).to_bytes(8, "big")


def due_below(watermark: int) -> bytes:
    """Return the key below which all windows end at or before the watermark."""
    return end_key(min(watermark, END_OF_TIME - 1) + 1)


def result_row(by: Sequence[Any], start: int, end: int, partials: Sequence[Any]) -> list[Any]:
    """Return a row for `AggregateResults` with `BOUNDS`; its event time is the last moment of the window."""
    return [*by, start * _MICROSECONDS, end * _MICROSECONDS, *partials, end - 1]


def bound_columns(ends: pa.Array, length: int) -> list[pa.Array]:
    """Return `BOUNDS` of windows with these ends, all times in milliseconds."""
    starts = pc.subtract(ends, length)
    return [
        pc.multiply_checked(times, _MICROSECONDS).cast(field.type)
        for times, field in zip((starts, ends), BOUNDS, strict=True)
    ]
