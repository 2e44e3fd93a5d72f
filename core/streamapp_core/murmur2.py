"""Kafka's murmur2, over many keys at once.

The hash is the one of the Java client (`org.apache.kafka.common.utils.Utils.murmur2`), so that streams written by us
and by Java producers are partitioned alike.
"""

import numpy as np
import numpy.typing as npt

_SEED = np.uint32(0x9747B28C)
_MULTIPLIER = np.uint32(0x5BD1E995)
_POSITIVE = np.uint32(0x7FFFFFFF)

Hashes = npt.NDArray[np.uint32]


def murmur2(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> Hashes:
    """Hash many byte strings: string i is `data[offsets[i]:offsets[i + 1]]`. The answer has one hash a string.

    The strings advance together, four bytes a step; those that have no four bytes left drop out.
    """
    starts = offsets[:-1].astype(np.int64)
    lengths = (offsets[1:] - offsets[:-1]).astype(np.int64)
    hashes = np.bitwise_xor(_SEED, lengths.astype(np.uint32))
    blocks = lengths // 4
    open_strings = np.flatnonzero(blocks)
    block = 0
    while open_strings.size:
        hashes[open_strings] = _mix(hashes[open_strings], _little_endian(data, starts[open_strings] + 4 * block))
        block += 1
        open_strings = open_strings[blocks[open_strings] > block]
    return _finish(data, starts, lengths, hashes)


def partitions(hashes: Hashes, count: int) -> npt.NDArray[np.int64]:
    """Spread hashes over partitions 0 to `count` - 1 as Kafka's default partitioner does."""
    return (hashes & _POSITIVE).astype(np.int64) % count


def _little_endian(data: npt.NDArray[np.uint8], at: npt.NDArray[np.int64]) -> Hashes:
    word = data[at].astype(np.uint32)
    for shift in (1, 2, 3):
        word |= data[at + shift].astype(np.uint32) << np.uint32(8 * shift)
    return word


def _mix(hashes: Hashes, word: Hashes) -> Hashes:
    word = word * _MULTIPLIER
    word ^= word >> np.uint32(24)
    return (hashes * _MULTIPLIER) ^ (word * _MULTIPLIER)


def _finish(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], hashes: Hashes
) -> Hashes:
    """Mix in the last one to three bytes of each string, and avalanche."""
    tails = starts + (lengths & ~np.int64(3))
    for position in (2, 1, 0):
        rows = np.flatnonzero((lengths & 3) > position)
        hashes[rows] ^= data[tails[rows] + position].astype(np.uint32) << np.uint32(8 * position)
        if position == 0:
            hashes[rows] *= _MULTIPLIER
    hashes ^= hashes >> np.uint32(13)
    hashes *= _MULTIPLIER
    hashes ^= hashes >> np.uint32(15)
    return hashes
