"""The most frequent items: sketches of items, and of sketches of items."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from streamapp_runtime.kernels.frequent_items import FrequentItems, new_items, read_items

_State: TypeAlias = list[Any]
_MOST_TRACKED = 1_000_000


class ItemSketch:
    """A sketch of items, of each of which values are made that have one element: the item, or None."""

    def __init__(self, kind: str, tracked: int, written: str) -> None:
        """Take the family of the items' type, how many are tracked, and how Spark writes the type."""
        self._kind = kind
        self._tracked = tracked
        self._written = written

    def add(self, state: _State | None, values: Sequence[tuple[Any]]) -> _State:
        """Count items, in place: a copy would cost as much as all of them."""
        sketch = _sketch(self._kind, state) if state else new_items(self._kind, self._tracked)
        for (item,) in values:
            if item is None:
                sketch.nulls += 1
            else:
                sketch.add(item)
        return _kept(sketch)

    def merge(self, left: _State, right: _State) -> _State:
        """Count the items of both."""
        sketch = _sketch(self._kind, left)
        sketch.merge(_sketch(self._kind, right))
        return _kept(sketch)

    def result(self, state: _State | None) -> tuple[bytes, int, None, str]:
        """Return the sketch, with what describes it."""
        return self._merged(state).to_bytes(), self._tracked, None, self._written

    def _merged(self, state: _State | None) -> FrequentItems:
        """Return the sketch as Spark has it behind its last merge."""
        merged = new_items(self._kind, self._tracked)
        if state is not None:
            _merge_written(merged, _sketch(self._kind, state))
        return merged


class TopItems(ItemSketch):
    """The most frequent items and their counts, about."""

    def __init__(self, kind: str, tracked: int, most: int) -> None:
        """Take the family of the items' type, how many are tracked, and how many are found."""
        super().__init__(kind, tracked, "")
        self._most = most

    def result(self, state: _State | None) -> list[tuple[Any, int]]:  # type: ignore[override]
        """Return the items and how often they came."""
        return self._merged(state).most_frequent(self._most)


class ItemSketchUnion:
    """The sketch of the items of sketches; nothing comes out of what is no sketch of this type, or of another size."""

    def __init__(self, kind: str, tracked: int, written: str) -> None:
        """Take the family of the items' type, how many are tracked (0: as many as by the first sketch), the type."""
        self._kind = kind
        self._tracked = tracked
        self._written = written

    def add(self, state: _State | None, values: Sequence[tuple[Any, ...]]) -> _State:
        """Count the items of sketches."""
        for data, tracked, _, written in values:
            sketch = None if data is None or written != self._written else read_items(self._kind, data)
            state = self._added(state, sketch, tracked)
        assert state is not None
        return state

    def merge(self, left: _State, right: _State) -> _State:
        """Count the items of both."""
        return self._added(left, _sketch(self._kind, right[1:]) if right[0] else None, right[0])

    def result(self, state: _State | None) -> tuple[bytes, int, None, str] | None:
        """Return the sketch, with what describes it."""
        if state is None or not state[0]:
            return None
        merged = self._new()
        _merge_written(merged, _sketch(self._kind, state[1:]))
        return merged.to_bytes(), state[0], None, self._written

    def _new(self) -> FrequentItems:
        return new_items(self._kind, self._tracked or _MOST_TRACKED)

    def _added(self, state: _State | None, sketch: FrequentItems | None, tracked: int | None) -> _State:
        if sketch is None or not tracked or (state and state[0] != (self._tracked or tracked)):
            return [0]
        merged = _sketch(self._kind, state[1:]) if state else self._new()
        merged.merge(sketch)
        return [self._tracked or tracked, *_kept(merged)]


def _merge_written(merged: FrequentItems, sketch: FrequentItems) -> None:
    """Merge a sketch as it is found when it was written and read."""
    read = read_items(sketch.kind, sketch.to_bytes())
    assert read is not None
    merged.merge(read)


def _kept(sketch: FrequentItems) -> _State:
    counts = [sketch.bits, sketch.samples, sketch.nulls, sketch.offset, sketch.total, sketch.size]
    return [*counts, sketch.keys, sketch.counts]


def _sketch(kind: str, state: _State) -> FrequentItems:
    bits, samples, nulls, offset, total, size, keys, counts = state
    return FrequentItems(kind, bits, samples, nulls, offset, total, keys, counts, size)
