"""HyperLogLog sketches of values and of sketches, value after value."""

from collections.abc import Sequence
from typing import TypeAlias

from datasketches import hll_sketch

from streamapp_runtime.kernels.hll_sketches import REGISTERS, empty_hll, is_hll, united

_State: TypeAlias = tuple[int, bytes]
_NO_SKETCH: _State = (0, b"")
"""The state that got bytes which are no sketch, or of another size."""
_LOGARITHM = 12


class HllOfValues:
    """The sketch of whole numbers or texts, as it is written."""

    def __init__(self, logarithm: int) -> None:
        """Keep at most two to the power of so many registers, one byte each."""
        self._logarithm = logarithm

    def add(self, state: bytes | None, values: Sequence[int | str]) -> bytes:
        """Add values."""
        sketch = hll_sketch(self._logarithm, REGISTERS) if state is None else hll_sketch.deserialize(state)
        for value in values:
            sketch.update(value)
        written: bytes = sketch.serialize_updatable()
        return written

    def merge(self, left: bytes, right: bytes) -> bytes:
        """Unite two sketches."""
        return united(self._logarithm, left, right)

    def result(self, state: bytes | None) -> bytes:
        """Return the sketch."""
        return empty_hll(self._logarithm) if state is None else state


class HllUnion:
    """The union of sketches: the size of the first one, and the union as it is written."""

    def __init__(self, of_any_sizes: int) -> None:
        """Take sketches of other sizes than the first one's, too, or not."""
        self._of_any_sizes = bool(of_any_sizes)

    def add(self, state: _State | None, values: Sequence[bytes]) -> _State:
        """Add sketches."""
        for value in values:
            state = self._added(state, value)
        assert state is not None
        return state

    def merge(self, left: _State, right: _State) -> _State:
        """Unite two unions."""
        return self._added(left, right[1])

    def result(self, state: _State | None) -> bytes | None:
        """Return the union; None if something was no sketch."""
        if state is None:
            return empty_hll(_LOGARITHM)
        return None if state[0] == _NO_SKETCH[0] else state[1]

    def _added(self, state: _State | None, value: bytes) -> _State:
        if not is_hll(value):
            return _NO_SKETCH
        logarithm, union = state or (value[3], empty_hll(value[3]))
        if logarithm == _NO_SKETCH[0] or (union[3] != value[3] and not self._of_any_sizes):
            return _NO_SKETCH
        return logarithm, united(logarithm, union, value)
