"""Changelog entries as records: columns of some at a time."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from streamapp_systems.protocols import SentRecords

_ENTRIES = 20_000
_BYTES = 64 << 20
"""Bytes of values that make a column, which has room for 2 GB; single values are a few MB at most."""


def changelog_records(entries: Iterable[tuple[bytes, bytes | None]]) -> Iterator[SentRecords]:
    """Yield entries, keys and values, as records in their order; they have no times of their own."""
    left = iter(entries)
    while some := list(islice(left, _ENTRIES)):
        yield from _parts([key for key, _ in some], [value for _, value in some])


def _parts(keys: Sequence[bytes], values: Sequence[bytes | None]) -> Iterator[SentRecords]:
    if len(values) > 1 and sum(map(len, filter(None, values))) > _BYTES:
        half = len(values) // 2
        yield from _parts(keys[:half], values[:half])
        yield from _parts(keys[half:], values[half:])
    else:
        yield SentRecords.of(timestamps=None, keys=keys, values=values)
