"""Tuple sketches of keys with numbers, and of sketches: the least hashes of all, in whatever order they come."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from streamapp_runtime.kernels.theta_sketches import MOST
from streamapp_runtime.kernels.tuple_sketches import (
    TYPES,
    TupleSketch,
    common_tuples,
    folded,
    neutral,
    no_keys,
    read_tuples,
    united_tuples,
    with_least,
)
from streamapp_runtime.summaries.theta_hashes import hashes

_State: TypeAlias = list[Any]
_BROKEN = 0
"""The limit of a state that got bytes which are no sketch."""


class _TupleSummary:
    """A summary whose state is a sketch: its limit, its hashes in order, their numbers, whether it is empty."""

    def __init__(self, kind: str, mode: str) -> None:
        """Take the type of the numbers, and how those of a key are put together."""
        self._kind = kind
        self._mode = mode

    def result(self, state: _State | None) -> bytes | None:
        """Return the sketch as it is written; None if something was no sketch."""
        if state is not None and state[0] == _BROKEN:
            return None
        return self._sketch(state).to_bytes(self._mode)

    def _sketch(self, state: _State | None) -> TupleSketch:
        if state is None:
            return no_keys(self._kind)
        limit, written, numbers, empty = state
        return TupleSketch(limit, np.frombuffer(written, np.uint64), np.frombuffer(numbers, TYPES[self._kind]), empty)

    def _read(self, data: bytes) -> TupleSketch:
        sketch = read_tuples(self._kind, data)
        if sketch is None:
            return TupleSketch(_BROKEN, np.empty(0, np.uint64), np.empty(0, TYPES[self._kind]))
        order = np.argsort(sketch.hashes)
        return TupleSketch(sketch.limit, sketch.hashes[order], sketch.numbers[order], sketch.empty)


class TupleUnion(_TupleSummary):
    """The union of sketches, of which so many of the least hashes are kept, as the logarithm says."""

    def __init__(self, kind: str, mode: str, logarithm: int) -> None:
        """Keep two to the power of so many hashes."""
        super().__init__(kind, mode)
        self._most = 1 << logarithm

    def add(self, state: _State | None, values: Sequence[Any]) -> _State:
        """Add sketches."""
        sketch = self._sketch(state)
        for value in values:
            sketch = self._united(sketch, self._read(value))
        return _state(sketch)

    def merge(self, left: _State, right: _State) -> _State:
        """Unite two results."""
        return _state(self._united(self._sketch(left), self._sketch(right)))

    def _united(self, left: TupleSketch, right: TupleSketch) -> TupleSketch:
        return united_tuples(self._mode, self._most, left, right)


class TuplesOfValues(TupleUnion):
    """The sketch of keys and numbers."""

    def __init__(self, kind: str, mode: str, logarithm: int, key: str) -> None:
        """Keep two to the power of so many hashes, of keys of a family of types."""
        super().__init__(kind, mode, logarithm)
        self._key = key

    def add(self, state: _State | None, values: Sequence[tuple[Any, Any]]) -> _State:
        """Add keys with their numbers; texts and bytes without any are no keys."""
        before = self._sketch(state)
        kept = [pair for pair in values if self._key not in ("string", "binary") or pair[0]]
        if not kept:
            return _state(before)
        found = np.concatenate([before.hashes, hashes(self._key, [key for key, _ in kept])])
        added, places = np.unique(found, return_inverse=True)
        start = neutral(self._mode, TYPES[self._kind], len(added))
        start[places[: len(before.hashes)]] = before.numbers
        new = np.array([number for _, number in kept], TYPES[self._kind])
        numbers = folded(self._mode, start, places[len(before.hashes) :], new)
        below = (added < before.limit) & (added > 0)
        return _state(with_least(self._most, TupleSketch(before.limit, added[below], numbers[below])))


class TupleIntersection(_TupleSummary):
    """The intersection of sketches."""

    def add(self, state: _State | None, values: Sequence[bytes]) -> _State:
        """Intersect sketches."""
        sketches = ([] if state is None else [self._sketch(state)]) + [*map(self._read, values)]
        found = sketches[0]
        for sketch in sketches[1:]:
            found = self._common(found, sketch)
        return _state(found)

    def merge(self, left: _State, right: _State) -> _State:
        """Intersect two results."""
        return _state(self._common(self._sketch(left), self._sketch(right)))

    def _common(self, left: TupleSketch, right: TupleSketch) -> TupleSketch:
        if _BROKEN in (left.limit, right.limit):
            return TupleSketch(_BROKEN, left.hashes[:0], left.numbers[:0])
        return common_tuples(self._mode, left, right)


def _state(sketch: TupleSketch) -> _State:
    empty = sketch.empty and sketch.limit == MOST
    return [sketch.limit, sketch.hashes.tobytes(), sketch.numbers.tobytes(), empty]
