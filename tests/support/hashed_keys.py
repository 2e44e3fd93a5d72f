"""Keys and the partitions where producers put them: by murmur2, as Java's do."""

from functools import cache, lru_cache
from itertools import count, islice

import numpy as np

from streamapp_core.murmur2 import murmur2, partitions

_COUNT = 64


@lru_cache(maxsize=10_000)
def partition_of(key: str | bytes | None, partition_count: int) -> int:
    """Return the partition of a key."""
    if key is None:
        return 0
    data = key.encode() if isinstance(key, str) else key
    hashes = murmur2(np.frombuffer(data, np.uint8), np.array([0, len(data)]))
    return int(partitions(hashes, partition_count)[0])


@cache
def number_in(place: int) -> int:
    """Return a number of its own for each place; it belongs in partition `place % n` if that count divides 64."""
    turn, residue = divmod(place, _COUNT)
    return next(islice((key for key in count() if partition_of(str(key), _COUNT) == residue), turn, None))
