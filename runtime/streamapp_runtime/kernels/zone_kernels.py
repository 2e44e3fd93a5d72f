"""The kernel of time zones in texts, and the offsets of zones for others."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

import pyarrow as pa

from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.time_zones import time_zone
from streamapp_runtime.kernels.row_functions import each_row

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000_000
_FIRST, _END = -719_161 * _DAY, 2_932_895 * _DAY
"""The moments of which Python has dates in all zones; before them, zones have the offset of the first."""
_ERA = 146_097 * _DAY
"""400 years, after which years are alike again."""


def zone_name(texts: pa.Array) -> pa.Array:
    """Return the names of regions; a fixed offset of whole minutes has one, too: `GMT-03:30`."""
    return pa.array(each_row(_name, texts), pa.string())


@lru_cache(maxsize=16)
def zone_offset(written: str) -> Callable[[int], int]:
    """Return a function of microseconds since 1970: the seconds that clocks of a zone are ahead of UTC then."""
    zone = time_zone(written)
    clock = ZoneInfo(zone.name) if zone.name else timezone(timedelta(seconds=zone.offset))

    def offset(microseconds: int) -> int:
        if microseconds < _FIRST:
            microseconds = _FIRST
        elif microseconds >= _END:
            microseconds = _END - _ERA + (microseconds - _END) % _ERA
        moment = _EPOCH + timedelta(microseconds=microseconds)
        return int((moment.astimezone(clock).utcoffset() or timedelta()).total_seconds())

    return offset


@lru_cache(maxsize=1024)
def _name(written: str) -> str | None:
    try:
        zone = time_zone(written)
    except Refusal:
        return None
    if zone.name:
        return zone.name
    minutes, seconds = divmod(abs(zone.offset), 60)
    if seconds:
        return None
    return f"GMT{'-' if zone.offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}" if minutes else "UTC"
