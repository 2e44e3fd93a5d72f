"""Theta sketches of values and of sketches: the least hashes of all, in whatever order they come."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from streamapp_runtime.kernels.theta_sketches import NO_VALUES, ThetaSketch, common, least, read_sketch, united
from streamapp_runtime.summaries.theta_hashes import hashes

_State: TypeAlias = list[Any]
_BROKEN = ThetaSketch(0, NO_VALUES.hashes)
"""The state that got bytes which are no sketch: no hash is below its limit."""


class _ThetaSummary:
    """A summary whose state is the limit and the hashes of a sketch; nothing comes out of what is no sketch."""

    def result(self, state: _State | None) -> bytes | None:
        """Return the sketch as it is written."""
        if state is not None and state[0] == _BROKEN.limit:
            return None
        return (NO_VALUES if state is None else _sketch(state)).to_bytes()


class ThetaUnion(_ThetaSummary):
    """The union of sketches, of which so many of the least hashes are kept, as the logarithm says."""

    def __init__(self, logarithm: int) -> None:
        """Keep two to the power of so many hashes."""
        self._most = 1 << logarithm

    def add(self, state: _State | None, values: Sequence[bytes]) -> _State:
        """Add sketches."""
        before = NO_VALUES if state is None else _sketch(state)
        return _state(united(self._most, [before, *map(_read, values)]))

    def merge(self, left: _State, right: _State) -> _State:
        """Unite two results."""
        return _state(united(self._most, [_sketch(left), _sketch(right)]))


class ThetaOfValues(ThetaUnion):
    """The sketch of values."""

    def __init__(self, logarithm: int, kind: str) -> None:
        """Keep two to the power of so many hashes, of values of a family of types."""
        super().__init__(logarithm)
        self._kind = kind

    def add(self, state: _State | None, values: Sequence[Any]) -> _State:
        """Add values."""
        before = NO_VALUES if state is None else _sketch(state)
        found = np.concatenate([before.hashes, hashes(self._kind, values)])
        return _state(least(self._most, before.limit, found))


class ThetaIntersection(_ThetaSummary):
    """The intersection of sketches."""

    def add(self, state: _State | None, values: Sequence[bytes]) -> _State:
        """Intersect sketches."""
        sketches = ([] if state is None else [_sketch(state)]) + [*map(_read, values)]
        found = sketches[0]
        for sketch in sketches[1:]:
            found = _intersected(found, sketch)
        return _state(found)

    def merge(self, left: _State, right: _State) -> _State:
        """Intersect two results."""
        return _state(_intersected(_sketch(left), _sketch(right)))


def _intersected(left: ThetaSketch, right: ThetaSketch) -> ThetaSketch:
    return _BROKEN if _BROKEN.limit in (left.limit, right.limit) else common(left, right)


def _read(data: bytes) -> ThetaSketch:
    return read_sketch(data) or _BROKEN


def _state(sketch: ThetaSketch) -> _State:
    return [sketch.limit, sketch.hashes.tobytes()]


def _sketch(state: _State) -> ThetaSketch:
    return ThetaSketch(state[0], np.frombuffer(state[1], np.uint64))
