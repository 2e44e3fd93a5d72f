"""Moments of the date and time that clocks of a time zone show, as Arrow arrays."""

import pyarrow as pa
import pyarrow.compute as pc

_NAIVE = pa.timestamp("us")
_UTC = pa.timestamp("us", tz="UTC")
_NUMBER = pa.int64()


def moments_of(clocks: pa.Array, to: pa.DataType) -> pa.Array:
    """Return the timestamps at which clocks in the time zone of a type show naive ones.

    A time that clocks skip is taken as so much later, and of a time that they show twice the first is meant, as in
    Java.
    """
    if to.tz == "UTC":
        return pc.cast(clocks, to)
    found = _assumed(clocks, to.tz, "latest")
    skipped = pc.not_equal(_shown(found, to.tz), clocks)
    if pc.any(skipped).as_py():
        # There is no such time: Arrow returns the moment that clocks are turned. Before it they have their old offset.
        before = pc.cast(pc.subtract(pc.cast(found, _NUMBER), 1), _UTC)
        offset = pc.subtract(_numbers(_shown(before, to.tz)), _numbers(before))
        found = pc.if_else(skipped, pc.cast(pc.subtract(_numbers(clocks), offset), _UTC), pc.cast(found, _UTC))
    return pc.cast(found, to)


def _assumed(clocks: pa.Array, zone: str, nonexistent: str) -> pa.Array:
    return pc.cast(
        pc.assume_timezone(clocks, zone, ambiguous="earliest", nonexistent=nonexistent), pa.timestamp("us", tz=zone)
    )


def _shown(moments: pa.Array, zone: str) -> pa.Array:
    return pc.local_timestamp(pc.cast(moments, pa.timestamp("us", tz=zone)))


def _numbers(moments: pa.Array) -> pa.Array:
    return pc.cast(moments, _NUMBER)
