"""Tuple sketches: the least hashes of keys with a number for each, as Apache DataSketches writes and reads them."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_runtime.kernels.theta_sketches import MOST, Hashes, read_sketch

Numbers: TypeAlias = npt.NDArray[Any]

TYPES: dict[str, np.dtype[Any]] = {"double": np.dtype("<f8"), "integer": np.dtype("<i4")}
MODES = ("sum", "min", "max", "alwaysone")
_VERSION, _FAMILY, _COMPACT_SKETCH, _EMPTY, _FLAGS = 3, 9, 1, 4, 10
_SEED_HASH = b"\xcc\x93"
_WORD = 8


@dataclass(frozen=True, slots=True)
class TupleSketch:
    """The hashes below a limit, each once, and their numbers; there are others if the limit is below `MOST`."""

    limit: int
    hashes: Hashes
    numbers: Numbers
    empty: bool = False
    mode: str = "sum"
    """How the numbers of its first key were put together."""

    @property
    def share(self) -> float:
        """The share of all hashes that are below the limit."""
        return self.limit / float(MOST)

    @property
    def estimate(self) -> float:
        """The number of different keys, about."""
        return len(self.hashes) / (self.share if self.limit < MOST else 1.0)

    def to_bytes(self, mode: str) -> bytes:
        """Write the sketch, with how its numbers are put together."""
        count, whole = len(self.hashes), self.limit == MOST
        words = 1 if self.empty or (count == 1 and whole) else 2 if whole else 3
        head = bytes([words, _VERSION, _FAMILY, _COMPACT_SKETCH, 0, _FLAGS | self.empty * _EMPTY]) + _SEED_HASH
        if words > 1:
            head += count.to_bytes(_WORD, "little")
        if not whole:
            head += self.limit.to_bytes(_WORD, "little")
        entries = np.empty(count, _entry(self.numbers.dtype))
        entries["hash"], entries["number"], entries["mode"] = self.hashes, self.numbers, MODES.index(mode)
        return head + entries.tobytes()


def no_keys(kind: str) -> TupleSketch:
    """Return the sketch without keys, with numbers of a type."""
    return TupleSketch(MOST, np.empty(0, np.uint64), np.empty(0, TYPES[kind]), empty=True)


def read_tuples(kind: str, data: bytes) -> TupleSketch | None:
    """Read a sketch with numbers of a type; None if the bytes are none."""
    if len(data) < _WORD or data[1:4] != bytes([_VERSION, _FAMILY, _COMPACT_SKETCH]) or data[0] not in (1, 2, 3):
        return None
    if data[5] & _EMPTY:
        return no_keys(kind) if data[0] == 1 and len(data) == _WORD else None
    start = data[0] * _WORD
    if data[6:8] != _SEED_HASH or len(data) < start:
        return None
    count = 1 if start == _WORD else int.from_bytes(data[8:12], "little")
    limit = int.from_bytes(data[16:24], "little") if start == 3 * _WORD else MOST
    form = _entry(TYPES[kind])
    if len(data) != start + count * form.itemsize or not 0 < limit <= MOST:
        return None
    entries = np.frombuffer(data, form, count, start)
    hashes = entries["hash"].astype(np.uint64)
    sound = len(np.unique(hashes)) == count and bool(((hashes > 0) & (hashes < limit)).all())
    sound = sound and bool((entries["mode"] < len(MODES)).all())
    if not sound:
        return None
    mode = MODES[entries["mode"][0]] if count else MODES[0]
    return TupleSketch(limit, hashes, entries["number"].astype(TYPES[kind]), mode=mode)


def folded(mode: str, start: Numbers, places: npt.NDArray[np.int64], numbers: Numbers) -> Numbers:
    """Put numbers together with those at their places, one after the other."""
    if mode == "alwaysone":
        start[places] = 1
    elif mode == "sum":
        np.add.at(start, places, numbers)
    else:
        (np.fmin if mode == "min" else np.fmax).at(start, places, numbers)
    return start


def neutral(mode: str, dtype: np.dtype[Any], count: int) -> Numbers:
    """Return numbers of a type that others are put together with."""
    if mode in ("sum", "alwaysone"):
        return np.full(count, mode != "sum", dtype)
    least, most = (-np.inf, np.inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return np.full(count, most if mode == "min" else least, dtype)


def united_tuples(mode: str, most: int, left: TupleSketch, right: TupleSketch) -> TupleSketch:
    """Unite two sketches, and keep so many keys at most."""
    return with_least(most, _of_both(mode, left, right))


def with_least(most: int, sketch: TupleSketch) -> TupleSketch:
    """Keep the least hashes of a sketch that has them in order, so many at most."""
    if len(sketch.hashes) <= most:
        return sketch
    return TupleSketch(int(sketch.hashes[most]), sketch.hashes[:most], sketch.numbers[:most])


def common_tuples(mode: str, left: TupleSketch, right: TupleSketch) -> TupleSketch:
    """Intersect two sketches."""
    if left.empty or right.empty:
        return TupleSketch(MOST, left.hashes[:0], left.numbers[:0], empty=True)
    both = _of_both(mode, left, right)
    found = np.isin(both.hashes, np.intersect1d(left.hashes, right.hashes, assume_unique=True))
    return TupleSketch(both.limit, both.hashes[found], both.numbers[found])


def _of_both(mode: str, left: TupleSketch, right: TupleSketch) -> TupleSketch:
    """Put the numbers of hashes that both have together, and keep those of one alone."""
    limit = min(left.limit, right.limit)
    found, places = np.unique(np.concatenate([left.hashes, right.hashes]), return_inverse=True)
    ours, theirs = places[: len(left.hashes)], places[len(left.hashes) :]
    numbers = folded(mode, neutral(mode, left.numbers.dtype, len(found)), ours, left.numbers)
    numbers = folded(mode, numbers, theirs, right.numbers)
    times = np.bincount(places, minlength=len(found))
    for own, each in ((ours, left.numbers), (theirs, right.numbers)):
        alone = times[own] == 1
        numbers[own[alone]] = each[alone]
    below = found < limit
    return TupleSketch(limit, found[below], numbers[below], left.empty and right.empty)


def _without(left: TupleSketch, right: TupleSketch) -> TupleSketch:
    """Take the keys of the right sketch out of the left one."""
    if left.empty:
        return left
    limit = min(left.limit, right.limit)
    kept = (left.hashes < limit) & ~np.isin(left.hashes, right.hashes)
    empty = limit == MOST and not kept.any()
    return TupleSketch(limit, left.hashes[kept], left.numbers[kept], empty, left.mode)


def tuples_of_both(operations: pa.Array, left: pa.Array, right: pa.Array) -> pa.Array:
    """Make one sketch of each pair; null if one is none.

    An operation is its name, the type of numbers, `theta` if the right sketch is one, the mode, and the logarithm of
    the number of keys that a union keeps.
    """
    rows = zip(operations.to_pylist(), left.to_pylist(), right.to_pylist(), strict=True)
    return pa.array([None if None in row else _of_pair(*row) for row in rows], pa.binary())


def _of_pair(operation: list[str], left: bytes, right: bytes) -> bytes | None:
    name, kind, other, mode, logarithm = operation
    ours = read_tuples(kind, left)
    theirs = _tuples_of_theta(kind, mode, right) if other == "theta" else read_tuples(kind, right)
    if ours is None or theirs is None:
        return None
    if name == "union":
        return united_tuples(mode, 1 << int(logarithm), ours, theirs).to_bytes(mode)
    if name == "intersection":
        return common_tuples(mode, ours, theirs).to_bytes(mode)
    found = _without(ours, theirs)
    return found.to_bytes(found.mode)


def _tuples_of_theta(kind: str, mode: str, data: bytes) -> TupleSketch | None:
    """Return the keys of a theta sketch, with numbers that others are put together with."""
    sketch = read_sketch(data)
    if sketch is None:
        return None
    return TupleSketch(sketch.limit, sketch.hashes, neutral(mode, TYPES[kind], len(sketch.hashes)), sketch.empty)


def tuple_estimate(kinds: pa.Array, sketches: pa.Array) -> pa.Array:
    """Estimate the number of different keys of sketches; null of what is none."""
    return pa.array([None if one is None else one.estimate for one in _read(kinds, sketches)], pa.float64())


def tuple_share(kinds: pa.Array, sketches: pa.Array) -> pa.Array:
    """Return the share of hashes that sketches keep; null of what is none."""
    return pa.array([None if one is None else one.share for one in _read(kinds, sketches)], pa.float64())


def tuple_total(kinds: pa.Array, sketches: pa.Array, modes: pa.Array) -> pa.Array:
    """Put all numbers of sketches together, as texts; null of what is no sketch."""
    found: list[str | None] = []
    for kind, sketch, mode in zip(kinds.to_pylist(), _read(kinds, sketches), modes.to_pylist(), strict=True):
        found.append(None if sketch is None or mode is None else _total(kind, sketch, mode))
    return pa.array(found, pa.string())


def _total(kind: str, sketch: TupleSketch, mode: str) -> str:
    if mode == "alwaysone" or not len(sketch.numbers):
        return str(len(sketch.numbers))
    if kind == "integer" and mode == "sum":
        return str(int(sketch.numbers.astype(np.int64).sum()))
    places = np.zeros(len(sketch.numbers), np.int64)
    return str(folded(mode, neutral(mode, TYPES[kind], 1), places, sketch.numbers)[0].item())


def _read(kinds: pa.Array, sketches: pa.Array) -> list[TupleSketch | None]:
    rows = zip(kinds.to_pylist(), sketches.to_pylist(), strict=True)
    return [None if data is None else read_tuples(kind, data) for kind, data in rows]


def _entry(number: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype([("hash", "<u8"), ("number", number), ("mode", "u1")])
