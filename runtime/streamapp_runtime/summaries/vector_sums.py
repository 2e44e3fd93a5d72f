"""Sums and means of vectors of floats, number by number: as Spark adds them up, one after the other."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_State: TypeAlias = list[Any]
_Vector: TypeAlias = npt.NDArray[np.float32]
_BROKEN = -1
"""The count of a state that got vectors of different lengths."""


class VectorSum:
    """The sum, whose state is the number of vectors and what they come to; vectors that hold a null don't count."""

    def add(self, state: _State | None, values: Sequence[Sequence[float | None]]) -> _State | None:
        """Add vectors."""
        for value in values:
            if None not in value:
                vector = np.array(value, np.float32)
                state = [1, vector.tobytes()] if state is None else self.merge(state, [1, vector.tobytes()])
        return state

    def merge(self, left: _State | None, right: _State | None) -> _State | None:
        """Add two results."""
        if left is None or right is None:
            return right if left is None else left
        if _BROKEN in (left[0], right[0]) or len(left[1]) != len(right[1]):
            return [_BROKEN, b""]
        count = left[0] + right[0]
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._both(_vector(left), _vector(right), np.float32(1) / np.float32(count) * np.float32(right[0]))
        return [count, found.tobytes()]

    def result(self, state: _State | None) -> list[float] | None:
        """Return the numbers; None of no vectors, and of vectors of different lengths."""
        if state is None or state[0] == _BROKEN:
            return None
        numbers: list[float] = _vector(state).tolist()
        return numbers

    def _both(self, left: _Vector, right: _Vector, _share: np.float32) -> _Vector:
        return left + right


class VectorMean(VectorSum):
    """The mean."""

    def _both(self, left: _Vector, right: _Vector, _share: np.float32) -> _Vector:
        return left + (right - left) * _share


def _vector(state: _State) -> _Vector:
    return np.frombuffer(state[1], np.float32)
