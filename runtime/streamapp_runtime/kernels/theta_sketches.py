"""Theta sketches: the least hashes of values, below a limit, as Apache DataSketches writes and reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

MOST = (1 << 63) - 1
"""The limit of a sketch that has the hashes of all its values."""
_FAMILY, _PLAIN, _PACKED = 3, 3, 4
_READ_ONLY, _EMPTY, _COMPACT, _ORDERED, _SINGLE = 2, 4, 8, 16, 32
_SEED_HASH = b"\xcc\x93"
_NO_HASHES = b"\0\0\0\0\0\0\x80?"
"""Their number, and the share of values that are sampled: 1.0."""
_WORD = 8


@dataclass(frozen=True, slots=True)
class ThetaSketch:
    """The hashes below a limit, the least first; there are others if the limit is below `MOST`."""

    limit: int
    hashes: Hashes

    @property
    def empty(self) -> bool:
        """Whether there are no values."""
        return not len(self.hashes) and self.limit == MOST

    @property
    def estimate(self) -> int:
        """The number of different values, about."""
        return int(np.floor(len(self.hashes) * (float(MOST) / self.limit) + 0.5))

    def to_bytes(self) -> bytes:
        """Write the sketch, packed where that is possible."""
        if self.empty:
            return bytes([1, _PLAIN, _FAMILY, 0, 0, _READ_ONLY | _EMPTY | _COMPACT | _ORDERED, 0, 0])
        flags, count, whole = _READ_ONLY | _COMPACT | _ORDERED, len(self.hashes), self.limit == MOST
        limit = self.limit.to_bytes(_WORD, "little")
        if count == 1 and whole:
            return bytes([1, _PLAIN, _FAMILY, 0, 0, flags | _SINGLE]) + _SEED_HASH + self.hashes.astype("<u8").tobytes()
        if not count:
            return bytes([3, _PLAIN, _FAMILY, 0, 0, flags]) + _SEED_HASH + _NO_HASHES + limit
        steps = np.diff(self.hashes, prepend=np.uint64(0))
        bits = int(np.bitwise_or.reduce(steps)).bit_length()
        size = (count.bit_length() + 7) // 8
        head = bytes([1 if whole else 2, _PACKED, _FAMILY, bits, size, flags]) + _SEED_HASH + (b"" if whole else limit)
        places = np.unpackbits(steps.astype(">u8").view(np.uint8).reshape(count, _WORD), axis=1)[:, 64 - bits :]
        return head + count.to_bytes(size, "little") + np.packbits(places).tobytes()


NO_VALUES = ThetaSketch(MOST, np.empty(0, np.uint64))


def read_sketch(data: bytes) -> ThetaSketch | None:
    """Read a compact sketch; None if the bytes are none, or one of another seed."""
    if len(data) < _WORD or data[2] != _FAMILY or data[1] not in (_PLAIN, _PACKED):
        return None
    longs, flags = data[0] & 0x3F, data[5]
    if data[1] == _PLAIN and flags & _EMPTY and longs == 1:
        return NO_VALUES
    if data[6:8] != _SEED_HASH or not flags & _COMPACT:
        return None
    return _packed(data, longs) if data[1] == _PACKED else _plain(data, longs)


def _plain(data: bytes, longs: int) -> ThetaSketch | None:
    start = longs * _WORD
    if longs not in (1, 2, 3) or len(data) < start:
        return None
    count = 1 if longs == 1 else int.from_bytes(data[8:12], "little")
    limit = int.from_bytes(data[16:24], "little") if longs == 3 else MOST  # noqa: PLR2004 - the third word is the limit
    if len(data) < start + count * _WORD:
        return None
    return _checked(limit, np.sort(np.frombuffer(data, "<u8", count, start)).astype(np.uint64), count)


def _packed(data: bytes, longs: int) -> ThetaSketch | None:
    bits, size, start = data[3], data[4], longs * _WORD
    count = int.from_bytes(data[start : start + size], "little")
    length = (count * bits + 7) // 8
    if longs not in (1, 2) or not 1 <= bits <= 63 or len(data) < start + size + length:  # noqa: PLR2004 - a hash has 63
        return None
    limit = int.from_bytes(data[8:16], "little") if longs > 1 else MOST
    places = np.unpackbits(np.frombuffer(data, np.uint8, length, start + size))[: count * bits].reshape(count, bits)
    words = np.zeros((count, 64), np.uint8)
    words[:, 64 - bits :] = places
    steps = np.packbits(words, axis=1).view(">u8").reshape(count).astype(np.uint64)
    return _checked(limit, np.cumsum(steps, dtype=np.uint64), count)


def _checked(limit: int, hashes: Hashes, count: int) -> ThetaSketch | None:
    """Return the sketch if its hashes are different ones, and below its limit."""
    sound = 0 < limit <= MOST and (not count or (hashes[0] > 0 and hashes[-1] < limit and (np.diff(hashes) > 0).all()))
    return ThetaSketch(limit, hashes) if sound else None


def united(most: int, sketches: Sequence[ThetaSketch]) -> ThetaSketch:
    """Unite sketches, and keep so many hashes at most."""
    limit = min(sketch.limit for sketch in sketches)
    return least(most, limit, np.concatenate([sketch.hashes for sketch in sketches]))


def least(most: int, limit: int, hashes: Hashes) -> ThetaSketch:
    """Keep the least hashes below a limit, so many at most."""
    found = np.unique(hashes[(hashes < limit) & (hashes > 0)])
    return ThetaSketch(int(found[most]) if len(found) > most else limit, found[:most])


def common(left: ThetaSketch, right: ThetaSketch) -> ThetaSketch:
    """Intersect two sketches."""
    if left.empty or right.empty:
        return NO_VALUES
    limit = min(left.limit, right.limit)
    found = np.intersect1d(left.hashes, right.hashes, assume_unique=True)
    return ThetaSketch(limit, found[found < limit])


def without(left: ThetaSketch, right: ThetaSketch) -> ThetaSketch:
    """Take the values of the right sketch out of the left one."""
    if left.empty:
        return NO_VALUES
    limit = min(left.limit, right.limit)
    found = np.setdiff1d(left.hashes, right.hashes, assume_unique=True)
    return ThetaSketch(limit, found[found < limit])


def theta_of_both(operations: pa.Array, left: pa.Array, right: pa.Array, logarithms: pa.Array) -> pa.Array:
    """Make one sketch of each pair; null if one is none."""
    rows = zip(*(column.to_pylist() for column in (operations, left, right, logarithms)), strict=True)
    return pa.array([None if None in row else _of_both(*row) for row in rows], pa.binary())


def _of_both(operation: str, left: bytes, right: bytes, logarithm: int) -> bytes | None:
    ours, theirs = read_sketch(left), read_sketch(right)
    if ours is None or theirs is None:
        return None
    if operation == "union":
        return united(1 << logarithm, (ours, theirs)).to_bytes()
    return (common if operation == "intersection" else without)(ours, theirs).to_bytes()


def theta_estimate(sketches: pa.Array) -> pa.Array:
    """Estimate the number of different values of sketches; null of what is none."""
    read = [None if data is None else read_sketch(data) for data in sketches.to_pylist()]
    return pa.array([None if sketch is None else sketch.estimate for sketch in read], pa.int64())
