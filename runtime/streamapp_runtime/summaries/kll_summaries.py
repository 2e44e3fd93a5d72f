"""Sketches of quantiles (KLL) of values and of sketches."""

from collections.abc import Sequence

import numpy as np

from streamapp_runtime.kernels.kll_sketches import TYPES, KllSketch, new_sketch, read_kll

_NO_SKETCH = b""
"""The state that got bytes which are no sketch."""
_K = 200


class KllOfValues:
    """The sketch of values, as it is written."""

    def __init__(self, kind: str, k: int) -> None:
        """Take the family of the values' type, and how many are kept of the greatest weight."""
        self._kind = kind
        self._k = k

    def add(self, state: bytes | None, values: Sequence[float]) -> bytes:
        """Add values."""
        sketch = self._sketch(state)
        sketch.add(np.array(values, TYPES[self._kind]))
        return sketch.to_bytes()

    def merge(self, left: bytes, right: bytes) -> bytes:
        """Merge two sketches."""
        sketch = self._sketch(left)
        sketch.merge(self._sketch(right))
        return sketch.to_bytes()

    def result(self, state: bytes | None) -> bytes:
        """Return the sketch as Spark has it behind its last merge."""
        merged = new_sketch(self._kind, self._k)
        merged.merge(self._sketch(state))
        return merged.to_bytes()

    def _sketch(self, state: bytes | None) -> KllSketch:
        read = None if state is None else read_kll(self._kind, state)
        return read or new_sketch(self._kind, self._k)


class KllMerge:
    """The sketch of the values that sketches have kept; nothing comes out of what is no sketch."""

    def __init__(self, kind: str, k: int) -> None:
        """Take the family of the values' type, and the size of the sketch: 0 for that of the first one."""
        self._kind = kind
        self._k = k

    def add(self, state: bytes | None, values: Sequence[bytes]) -> bytes:
        """Add sketches."""
        for value in values:
            state = self._added(state, value)
        assert state is not None
        return state

    def merge(self, left: bytes, right: bytes) -> bytes:
        """Merge two results."""
        return self._added(left, right)

    def result(self, state: bytes | None) -> bytes | None:
        """Return the sketch; None if something was no sketch."""
        if state is None:
            return new_sketch(self._kind, self._k or _K).to_bytes()
        if self._k and state != _NO_SKETCH:
            return KllOfValues(self._kind, self._k).result(state)
        return state if state != _NO_SKETCH else None

    def _added(self, state: bytes | None, value: bytes) -> bytes:
        added = None if state == _NO_SKETCH else read_kll(self._kind, value)
        if added is None:
            return _NO_SKETCH
        sketch = new_sketch(self._kind, self._k or added.k) if state is None else read_kll(self._kind, state)
        assert sketch is not None
        sketch.merge(added)
        return sketch.to_bytes()
