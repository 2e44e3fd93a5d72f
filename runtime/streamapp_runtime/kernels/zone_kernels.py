"""The kernel of time zones in texts."""

from functools import lru_cache

import pyarrow as pa

from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.time_zones import time_zone
from streamapp_runtime.kernels.row_functions import each_row


def zone_name(texts: pa.Array) -> pa.Array:
    """Return the names of regions; a fixed offset of whole minutes has one, too: `GMT-03:30`."""
    return pa.array(each_row(_name, texts), pa.string())


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
