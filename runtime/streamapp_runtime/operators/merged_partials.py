"""Partial results of groups whose values, where they are many, are entries of their own in the store."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.msgpack import Ext

from streamapp_core.expressions import Aggregation, Merge
from streamapp_runtime.operators.batch_aggregation import PartialAggregator, Row
from streamapp_runtime.operators.distinct_entries import DistinctEntries
from streamapp_runtime.operators.listed_entries import ListedEntries, listed_entries
from streamapp_runtime.operators.numbered_entries import NumberedEntries, Stored
from streamapp_runtime.state.store import Store

_INLINE = 1_000
"""The most values that stay in the state of their group, which is written again with each change."""
_STORED = 1
"""The code of a MessagePack extension: what stands in a row for entries."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Stored).decode
_Stored: TypeAlias = dict[tuple[int, int], Stored]
"""Entries by the number of their row and their place in it."""


class MergedPartials:
    """Merges partial results of one aggregation, and deletes the entries of groups that have ended."""

    def __init__(
        self,
        store: Store,
        partials: PartialAggregator,
        aggregation: Aggregation,
        first: int,
        inline: int | None = None,
        *,
        lists: bool,
    ) -> None:
        """Take the place of the first partial result in a row; more than `inline` values of a group are entries.

        Without `lists` these are only values that are counted: what gives its results with each batch reads lists then.
        """
        self._partials = partials
        self._entries = NumberedEntries(store)
        self._inline = _INLINE if inline is None else inline
        self._kinds: dict[int, ListedEntries] = {}
        for place, partial in enumerate(aggregation.partials, first):
            kind = listed_entries(self._entries, partial)
            if kind is not None and (lists or partial.merge is Merge.UNION):
                self._kinds[place] = kind

    def merge_all(self, states: Sequence[Row | None], partials: Sequence[Row]) -> list[Row]:
        """See `PartialAggregator.merge_all`."""
        if not self._kinds:
            return self._partials.merge_all(states, partials)
        stored: _Stored = {}
        for number, state in enumerate(states):
            for place, entries in () if state is None else self._stored(state):
                added = partials[number][place]
                stored[number, place] = entries if added is None else self._kinds[place].add(entries, added)
        return self._store_large(self._partials.merge_all(states, _replaced(partials, dict.fromkeys(stored))), stored)

    def merge_groups(self, state: Row, other: Row) -> Row:
        """Merge the partial results of two groups that become one; no row of theirs has the same time."""
        stored: _Stored = {}
        others = dict(self._stored(other))
        for place, entries in self._stored(state):
            kind = self._kinds[place]
            if place in others:
                smaller, larger = sorted((entries, others.pop(place)), key=lambda one: sum(one.values()))
                stored[0, place] = kind.merge(larger, smaller)
                self._entries.end(smaller)
            else:
                stored[0, place] = entries if other[place] is None else kind.add(entries, other[place])
        for place, entries in others.items():
            stored[0, place] = entries if state[place] is None else self._kinds[place].add(entries, state[place])
        without = dict.fromkeys(stored)
        merged = self._partials.merge_all(_replaced([state], without), _replaced([other], without))
        return self._store_large(merged, stored)[0]

    def read(self, row: Row) -> Row:
        """Return a row with all its values."""
        values = {(0, place): self._kinds[place].read(entries) for place, entries in self._stored(row)}
        return _replaced([row], values)[0] if values else row

    def end(self, row: Row) -> None:
        """Note that a group has ended, which had these partial results."""
        for _, entries in self._stored(row):
            self._entries.end(entries)

    def delete_ended(self) -> None:
        """Delete entries of groups that have ended, some at a time."""
        if self._kinds:
            self._entries.delete_ended()

    def _stored(self, row: Row) -> Iterator[tuple[int, Stored]]:
        """Return the places in a row that have entries."""
        for place, kind in self._kinds.items():
            value = row[place]
            if isinstance(value, Ext):
                yield place, _decode(value.data)
            elif isinstance(value, dict) and isinstance(kind, DistinctEntries):
                yield place, value

    def _store_large(self, rows: list[Row], stored: _Stored) -> list[Row]:
        """Return rows with these entries, and with entries for what is large."""
        values: dict[tuple[int, int], Any] = {}
        for place, kind in self._kinds.items():
            for number, row in enumerate(rows):
                entries = stored.get((number, place))
                if entries is None and row[place] is not None and len(kind.values_of(row[place])) > self._inline:
                    entries = kind.store(row[place])
                if entries is not None:
                    counted = isinstance(kind, DistinctEntries)
                    values[number, place] = entries if counted else Ext(_STORED, _encode(entries))
        return _replaced(rows, values)


def _replaced(rows: Sequence[Row], values: Mapping[tuple[int, int], Any]) -> list[Row]:
    """Return rows with some values replaced, which are given by the number of their row and their place in it."""
    replaced = list(rows)
    for (number, place), value in values.items():
        replaced[number] = [*replaced[number][:place], value, *replaced[number][place + 1 :]]
    return replaced
