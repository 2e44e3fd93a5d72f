"""Theta sketches of values and of sketches: the least hashes of all, in whatever order they come."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from streamapp_runtime.kernels.theta_sketches import MOST, Hashes, ThetaSketch, read_sketch
from streamapp_runtime.summaries.theta_hashes import hashes

_State: TypeAlias = list[Any]
_NONE = ThetaSketch(MOST, np.empty(0, np.uint64))
_BROKEN = 0
"""The limit of a state that got bytes which are no sketch."""


class _ThetaSummary:
    """A summary whose state is the limit and the hashes of a sketch; nothing comes out of what is no sketch."""

    def result(self, state: _State | None) -> bytes | None:
        """Return the sketch as it is written."""
        if state is not None and state[0] == _BROKEN:
            return None
        return (_NONE if state is None else _sketch(state)).to_bytes()


class ThetaUnion(_ThetaSummary):
    """The union of sketches, of which so many of the least hashes are kept, as the logarithm says."""

    def __init__(self, logarithm: int) -> None:
        """Keep two to the power of so many hashes."""
        self._most = 1 << logarithm

    def add(self, state: _State | None, values: Sequence[bytes]) -> _State:
        """Add sketches."""
        return self._united([_NONE if state is None else _sketch(state), *map(_read, values)])

    def merge(self, left: _State, right: _State) -> _State:
        """Unite two results."""
        return self._united([_sketch(left), _sketch(right)])

    def _united(self, sketches: Sequence[ThetaSketch]) -> _State:
        limit = min(sketch.limit for sketch in sketches)
        return self._kept(limit, np.concatenate([sketch.hashes for sketch in sketches]))

    def _kept(self, limit: int, found: Hashes) -> _State:
        found = np.unique(found[(found < limit) & (found > 0)])
        if len(found) > self._most:
            limit = int(found[self._most])
        return [limit, found[: self._most].tobytes()]


class ThetaOfValues(ThetaUnion):
    """The sketch of values."""

    def __init__(self, logarithm: int, kind: str) -> None:
        """Keep two to the power of so many hashes, of values of a family of types."""
        super().__init__(logarithm)
        self._kind = kind

    def add(self, state: _State | None, values: Sequence[Any]) -> _State:
        """Add values."""
        before = _NONE if state is None else _sketch(state)
        return self._kept(before.limit, np.concatenate([before.hashes, hashes(self._kind, values)]))


class ThetaIntersection(_ThetaSummary):
    """The intersection of sketches."""

    def add(self, state: _State | None, values: Sequence[bytes]) -> _State:
        """Intersect sketches."""
        sketches = ([] if state is None else [_sketch(state)]) + [*map(_read, values)]
        found = sketches[0]
        for sketch in sketches[1:]:
            found = _intersected(found, sketch)
        return [found.limit, found.hashes.tobytes()]

    def merge(self, left: _State, right: _State) -> _State:
        """Intersect two results."""
        found = _intersected(_sketch(left), _sketch(right))
        return [found.limit, found.hashes.tobytes()]


def _intersected(left: ThetaSketch, right: ThetaSketch) -> ThetaSketch:
    limit = min(left.limit, right.limit)
    if limit != _BROKEN and (left.empty or right.empty):
        return _NONE
    common = np.intersect1d(left.hashes, right.hashes, assume_unique=True)
    return ThetaSketch(limit, common[common < limit])


def _read(data: bytes) -> ThetaSketch:
    return read_sketch(data) or ThetaSketch(_BROKEN, np.empty(0, np.uint64))


def _sketch(state: _State) -> ThetaSketch:
    return ThetaSketch(state[0], np.frombuffer(state[1], np.uint64))
