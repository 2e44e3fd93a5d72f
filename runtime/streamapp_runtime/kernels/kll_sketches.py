"""Sketches of quantiles (KLL), as Apache DataSketches writes and reads them.

The sketch is that of Karnin, Lang and Liberty: https://arxiv.org/abs/1603.05346. Where it takes one half of some values
by chance, the number of values so far decides here: the same rows make the same sketch again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Items: TypeAlias = npt.NDArray[Any]

TYPES: Mapping[str, np.dtype[Any]] = {"bigint": np.dtype("<i8"), "float": np.dtype("<f4"), "double": np.dtype("<f8")}
_LEAST_K, _MOST_K, _LEAST_CAPACITY, _MOST_LEVELS = 8, 65_535, 8, 61
_FAMILY, _VERSION, _VERSION_OF_ONE = 15, 1, 2
_FEW, _FULL = 2, 5
"""The words before the values: of at most one, and of more."""
_EMPTY, _SORTED, _SINGLE = 1, 2, 4
_ONE_START, _START = 8, 20
_ROUNDED, _FOLDED = 10_000_000, 30
_FULL_WORD, _MOST = (1 << 64) - 1, 1 << 62


@dataclass(slots=True)
class KllSketch:
    """Values by levels, of which those of each weigh twice those of the level below; the first one is in no order.

    `least_k` is the least accuracy of what was merged into it.
    """

    k: int
    levels: list[Items]
    count: int = 0
    least_k: int = 0
    least: Any = None
    greatest: Any = None
    sorted: bool = False

    @property
    def size(self) -> int:
        """The number of values that are kept."""
        return sum(map(len, self.levels))

    @property
    def capacity(self) -> int:
        """The number of values that are kept at most, with so many levels."""
        return sum(self._capacity(level) for level in range(len(self.levels)))

    def add(self, values: Items) -> None:
        """Add values, one after the other; those that are no number are left out, and -0.0 is 0.0."""
        dtype = self.levels[0].dtype
        if dtype.kind == "f":
            values = values[~np.isnan(values)] + dtype.type(0)
        self._bound(values)
        while len(values):
            free = self.capacity - self.size
            if not free:
                self._make_room()
                continue
            taken, values = values[:free], values[free:]
            self.levels[0] = np.concatenate([taken[::-1], self.levels[0]])
            self.count += len(taken)
            self.sorted = False

    def merge(self, other: "KllSketch") -> None:
        """Add the values that another one has kept."""
        if not other.count:
            return
        count = self.count + other.count
        self.add(other.levels[0])
        if len(other.levels) > 1:
            self.least_k = min(self.least_k, other.least_k)
            self._add_levels(other)
        self.count = count
        self._bound(np.array([other.least, other.greatest], self.levels[0].dtype))

    def quantile(self, rank: float) -> Any:  # noqa: ANN401 - a number of the sketch's type
        """Return the value that the share of values up to it makes at least this rank, from 0 to 1; there is one."""
        values, weights = self._ranked()
        place = rank * self.count
        if self.count <= _ROUNDED:
            place = np.floor(place * _ROUNDED + 0.5) / _ROUNDED
        return values[min(int(np.searchsorted(weights, np.ceil(place))), len(values) - 1)]

    def rank(self, value: float) -> float:
        """Return the share of the values that are not above one; there are some."""
        values, weights = self._ranked()
        at = int(np.searchsorted(values, value, side="right"))
        return float(weights[at - 1] / self.count) if at else 0.0

    def to_bytes(self) -> bytes:
        """Write the sketch."""
        flags = (self.count == 0) * _EMPTY | self.sorted * _SORTED | (self.count == 1) * _SINGLE
        few = self.count <= 1
        version = _VERSION_OF_ONE if self.count == 1 else _VERSION
        head = bytes([_FEW if few else _FULL, version, _FAMILY, flags])
        head += self.k.to_bytes(2, "little") + bytes([_LEAST_CAPACITY, 0])
        if few:
            return head + b"".join(level.tobytes() for level in self.levels)
        head += self.count.to_bytes(8, "little") + self.least_k.to_bytes(2, "little") + bytes([len(self.levels), 0])
        starts = np.cumsum([self.capacity - self.size, *map(len, self.levels)], dtype="<i4")[:-1]
        ends = np.array([self.least, self.greatest], self.levels[0].dtype)
        return b"".join([head, starts.tobytes(), ends.tobytes(), *(level.tobytes() for level in self.levels)])

    def _capacity(self, level: int) -> int:
        depth = len(self.levels) - level - 1
        if depth <= _FOLDED:
            return max(_LEAST_CAPACITY, _two_thirds(self.k, depth))
        return max(_LEAST_CAPACITY, _two_thirds(_two_thirds(self.k, depth // 2), depth - depth // 2))

    def _bound(self, values: Items) -> None:
        if len(values):
            least, greatest = values.min(), values.max()
            self.least = least if self.least is None else min(self.least, least)
            self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)

    def _make_room(self) -> None:
        level = next(at for at, values in enumerate(self.levels) if len(values) >= self._capacity(at))
        self._compact(level)

    def _compact(self, level: int) -> None:
        """Move one half of a level's values up; if their number is odd, one stays."""
        if level == len(self.levels) - 1:
            self.levels.append(self.levels[0][:0])
        values = self.levels[level]
        odd = len(values) % 2
        rest = np.sort(values[odd:], kind="stable")
        half = rest[_bit(self.count, level) :: 2]
        self.levels[level] = values[:odd]
        self.levels[level + 1] = np.sort(np.concatenate([half, self.levels[level + 1]]), kind="stable")

    def _add_levels(self, other: "KllSketch") -> None:
        """Add the levels of another one but its first, and compact those that are then too large."""
        while len(self.levels) < len(other.levels):
            self.levels.append(self.levels[0][:0])
        for level in range(1, len(other.levels)):
            both = np.concatenate([self.levels[level], other.levels[level]])
            self.levels[level] = np.sort(both, kind="stable")
        level = 0
        while level < len(self.levels):
            if self.size >= self.capacity and len(self.levels[level]) >= self._capacity(level):
                self._compact(level)
            level += 1

    def _ranked(self) -> tuple[Items, Items]:
        """Return all values in their order, with the least and the greatest of all, and how many are up to each."""
        values = np.concatenate(self.levels)
        weights = np.repeat([1 << level for level in range(len(self.levels))], [*map(len, self.levels)])
        order = np.argsort(values, kind="stable")
        values, counts = values[order], np.cumsum(weights[order])
        if values[0] != self.least:
            values, counts = np.insert(values, 0, self.least), np.insert(counts, 0, 1)
        if values[-1] != self.greatest:
            counts[-1] -= 1
            values, counts = np.append(values, self.greatest), np.append(counts, counts[-1] + 1)
        return values, counts


def new_sketch(kind: str, k: int) -> KllSketch:
    """Return a sketch without values of a family of types."""
    return KllSketch(k, [np.empty(0, TYPES[kind])], least_k=k)


def read_kll(kind: str, data: bytes) -> KllSketch | None:
    """Read a sketch of values of a type; None if the bytes are none."""
    if len(data) < _ONE_START or data[2] != _FAMILY or data[6] != _LEAST_CAPACITY:
        return None
    k, flags, dtype = int.from_bytes(data[4:6], "little"), data[3], TYPES[kind]
    if k < _LEAST_K:
        return None
    sketch = new_sketch(kind, k)
    sketch.sorted = bool(flags & _SORTED)
    if data[:2] == bytes([_FEW, _VERSION]) and flags & _EMPTY:
        return sketch
    if data[:2] == bytes([_FEW, _VERSION_OF_ONE]) and flags & _SINGLE and len(data) == _ONE_START + dtype.itemsize:
        sketch.add(np.frombuffer(data, dtype, 1, _ONE_START))
        return sketch if sketch.count else None
    return _read_levels(sketch, data) if data[:2] == bytes([_FULL, _VERSION]) and len(data) > _START else None


def _read_levels(sketch: KllSketch, data: bytes) -> KllSketch | None:
    dtype, count = sketch.levels[0].dtype, data[18]
    start = _START + 4 * count
    if not 0 < count <= _MOST_LEVELS or len(data) < start + 2 * dtype.itemsize or (len(data) - start) % dtype.itemsize:
        return None
    starts = np.frombuffer(data, "<i4", count, _START).astype(np.int64)
    values = np.frombuffer(data, dtype, offset=start)
    ends, items = values[:2], values[2:]
    bounds = [*(starts - starts[0]).tolist(), len(items)]
    if any(low > high for low, high in pairwise(bounds)) or np.isnan(values).any():
        return None
    sketch.levels = [items[low:high] for low, high in pairwise(bounds)]
    sketch.count = int.from_bytes(data[8:16], "little")
    sketch.least_k = int.from_bytes(data[16:18], "little")
    sketch.least, sketch.greatest = ends[0], ends[1]
    return sketch if _is_sound(sketch) else None


def _is_sound(sketch: KllSketch) -> bool:
    if sketch.count >= _MOST:
        return False
    weighed = sum(len(values) << level for level, values in enumerate(sketch.levels))
    ordered = sketch.levels[0 if sketch.sorted else 1 :]
    in_order = all(bool((values[1:] >= values[:-1]).all()) for values in ordered)
    items = np.concatenate(sketch.levels)
    bounded = bool(len(items)) and sketch.least <= items.min() and items.max() <= sketch.greatest
    return weighed == sketch.count and sketch.size <= sketch.capacity and in_order and bounded


def _two_thirds(k: int, times: int) -> int:
    """Return two thirds of a number, so many times, to the nearest whole number."""
    return ((2 * k << times) // int(3**times) + 1) // 2


def _bit(count: int, level: int) -> int:
    """Return which half of the values of a level is taken: 0 or 1, as if by chance."""
    word = (count * _MOST_LEVELS + level + 1) * 0x9E3779B97F4A7C15 & _FULL_WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _FULL_WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _FULL_WORD
    return (word ^ word >> 31) & 1
