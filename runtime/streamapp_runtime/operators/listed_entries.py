"""The values of groups as entries in a store: so a large list is not written again with each value that it gets."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from typing import Any, Protocol

import msgspec

from streamapp_core.expressions import Merge, Partial
from streamapp_runtime.operators.compound_partials import counted
from streamapp_runtime.operators.distinct_entries import DistinctEntries
from streamapp_runtime.operators.moments import BatchValues
from streamapp_runtime.operators.numbered_entries import NumberedEntries, Stored
from streamapp_runtime.rows.row_codec import digest
from streamapp_runtime.summaries.equal_forms import equal_form

_PLACE_BYTES = 8
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Any]).decode
_time = _place = itemgetter(0)


class ListedEntries(Protocol):
    """A partial result that grows with its values: its state is plain values, or entries if these are many."""

    def values_of(self, state: Any) -> Collection[Any]:  # noqa: ANN401 - plain values
        """Return what would be entries of a state."""
        ...

    def store(self, state: Any) -> Stored:  # noqa: ANN401 - plain values
        """Store a state as entries."""
        ...

    def add(self, stored: Stored, values: Any) -> Stored:  # noqa: ANN401 - plain values
        """Add to entries what came later: values of a batch, or a state."""
        ...

    def merge(self, larger: Stored, smaller: Stored) -> Stored:
        """Add the entries of one group to those of another one; no two of their values have the same time."""
        ...

    def read(self, stored: Stored) -> Any:  # noqa: ANN401 - plain values
        """Return the state whose entries these are."""
        ...


def listed_entries(entries: NumberedEntries, partial: Partial) -> ListedEntries | None:
    """Return how the values of a partial result become entries; None if it does not grow with them."""
    if partial.merge is Merge.UNION:
        return DistinctEntries(entries, counted=False)
    if partial.merge is Merge.COLLECT and not partial.limit:
        return _Collected(entries)
    if partial.merge is Merge.COUNTS:
        return _Counts(entries)
    summaries = {"distinct_values": _NestedValues, "most_frequent": _Frequencies}
    kind = None if partial.summary is None else summaries.get(partial.summary.name)
    return None if kind is None else kind(entries)


class _Collected:
    """Pairs of time and value: the entries are lists of those that came together, in the order of their arrival."""

    def __init__(self, entries: NumberedEntries) -> None:
        self._entries = entries

    def values_of(self, state: Collection[Any]) -> Collection[Any]:
        return state

    def store(self, state: Sequence[Any]) -> Stored:
        return self.add({self._entries.begin(): 0}, state)

    def add(self, stored: Stored, values: Sequence[Any]) -> Stored:
        ((number, known),) = stored.items()
        self._entries.put(number, known.to_bytes(_PLACE_BYTES, "big"), _encode(values))
        return {number: known + len(values)}

    def merge(self, larger: Stored, smaller: Stored) -> Stored:
        return self.add(larger, self.read(smaller))

    def read(self, stored: Stored) -> list[Any]:
        """Return the pairs in the order of their times, of equal ones in that of their arrival."""
        blocks = (data for number in stored for _, data in self._entries.scan(number))
        return sorted((pair for block in blocks for pair in _decode(block)), key=_time)


class _Values(ABC):
    """Different values: each is an entry, with how many came before it, and how often it came."""

    counts_again = True
    """Whether it matters how often a value came."""

    def __init__(self, entries: NumberedEntries) -> None:
        self._entries = entries

    @abstractmethod
    def values_of(self, state: Any) -> Collection[Any]:  # noqa: ANN401 - plain values
        """See `ListedEntries.values_of`."""

    @abstractmethod
    def counts(self, values: Any) -> Iterable[tuple[Any, int]]:  # noqa: ANN401 - plain values
        """Return the values of a batch or of a state, with how often each came."""

    @abstractmethod
    def state(self, counts: Sequence[tuple[Any, int]]) -> Any:  # noqa: ANN401 - plain values
        """Return the state of values in the order in which they first came."""

    def store(self, state: Any) -> Stored:  # noqa: ANN401 - plain values
        return self.add({self._entries.begin(): 0}, state)

    def add(self, stored: Stored, values: Any) -> Stored:  # noqa: ANN401 - plain values
        ((number, known),) = stored.items()
        for value, count in self.counts(values):
            name = digest([equal_form(value)])
            data = self._entries.get(number, name)
            if data is None:
                self._entries.put(number, name, _encode([known, count, value]))
                known += 1
            elif self.counts_again:
                place, before, first = _decode(data)
                self._entries.put(number, name, _encode([place, before + count, first]))
        return {number: known}

    def merge(self, larger: Stored, smaller: Stored) -> Stored:
        return self.add(larger, self.read(smaller))

    def read(self, stored: Stored) -> Any:  # noqa: ANN401 - plain values
        found = sorted((_decode(data) for number in stored for _, data in self._entries.scan(number)), key=_place)
        return self.state([(value, count) for _, count, value in found])


class _Counts(_Values):
    """Values with how often each came, as `Merge.COUNTS` has them."""

    def values_of(self, state: Any) -> Collection[Any]:  # noqa: ANN401 - a map, or a list of values
        return state if isinstance(state, dict) else counted({}, state)

    def counts(self, values: Any) -> Iterable[tuple[Any, int]]:  # noqa: ANN401 - a map, or a list of values
        return counted({}, values).items()

    def state(self, counts: Sequence[tuple[Any, int]]) -> dict[Any, int]:
        return dict(counts)


class _NestedValues(_Values):
    """The values that `DistinctValues` keeps."""

    counts_again = False

    def values_of(self, state: Collection[Any]) -> Collection[Any]:
        return state

    def counts(self, values: Any) -> Iterable[tuple[Any, int]]:  # noqa: ANN401 - values of a batch, a map or a list
        if isinstance(values, BatchValues):
            values = values.values
        elif isinstance(values, dict):
            values = values.values()
        return ((value, 1) for value in values)

    def state(self, counts: Sequence[tuple[Any, int]]) -> list[Any]:
        return [value for value, _ in counts]


class _Frequencies(_Values):
    """The values and counts that `MostFrequent` keeps."""

    def values_of(self, state: Sequence[Collection[Any]]) -> Collection[Any]:
        return state[0]

    def counts(self, values: Any) -> Iterable[tuple[Any, int]]:  # noqa: ANN401 - values of a batch, or two lists
        return Counter(values.values).items() if isinstance(values, BatchValues) else zip(*values, strict=True)

    def state(self, counts: Sequence[tuple[Any, int]]) -> list[list[Any]]:
        return [[value for value, _ in counts], [count for _, count in counts]]
