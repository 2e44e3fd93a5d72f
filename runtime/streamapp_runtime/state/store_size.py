"""The sizes of stores: how many entries they have, and how much of the disk."""

from collections.abc import Iterable, Mapping

import msgspec


class StoreSize(msgspec.Struct, frozen=True, kw_only=True):
    """The size of the stores of one operator or table: their entries, and the bytes of the pages that hold them."""

    entries: int
    bytes: int


def add_sizes(sizes: Iterable[Mapping[str, StoreSize]]) -> dict[str, StoreSize]:
    """Add the sizes of stores with the same name."""
    total: dict[str, StoreSize] = {}
    for name, size in (item for part in sizes for item in part.items()):
        known = total.get(name, StoreSize(entries=0, bytes=0))
        total[name] = StoreSize(entries=known.entries + size.entries, bytes=known.bytes + size.bytes)
    return total
