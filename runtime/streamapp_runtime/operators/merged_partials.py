"""Partial results of groups whose distinct values, where they are many, are entries of their own in the store."""

from collections.abc import Mapping, Sequence
from typing import Any

from streamapp_core.expressions import Aggregation, Merge
from streamapp_runtime.operators.batch_aggregation import PartialAggregator, Row
from streamapp_runtime.operators.distinct_entries import INLINE, DistinctEntries, Stored
from streamapp_runtime.state.store import Store


class MergedPartials:
    """Merges partial results of one aggregation, and deletes the entries of groups that have ended."""

    def __init__(
        self, store: Store, partials: PartialAggregator, aggregation: Aggregation, first: int, inline: int | None = None
    ) -> None:
        """Take the place of the first partial result in a row; more than `inline` values of a group are entries."""
        self._partials = partials
        self._distinct = DistinctEntries(store, counted=False)
        self._inline = INLINE if inline is None else inline
        self._unions = [place for place, one in enumerate(aggregation.partials, first) if one.merge is Merge.UNION]

    def merge_all(self, states: Sequence[Row | None], partials: Sequence[Row]) -> list[Row]:
        """See `PartialAggregator.merge_all`."""
        if not self._unions:
            return self._partials.merge_all(states, partials)
        stored: dict[tuple[int, int], Stored] = {}
        for place in self._unions:
            for number, state in enumerate(states):
                if state is not None and isinstance(state[place], dict):
                    stored[number, place] = self._distinct.add(state[place], partials[number][place] or ())
        rows = self._partials.merge_all(states, _replaced(partials, dict.fromkeys(stored)) if stored else partials)
        for place in self._unions:
            large = (number for number, row in enumerate(rows) if row[place] and len(row[place]) > self._inline)
            stored |= {(number, place): self._distinct.store(rows[number][place]) for number in large}
        return _replaced(rows, stored) if stored else rows

    def end(self, row: Row) -> None:
        """Note that a group has ended, which had these partial results."""
        for place in self._unions:
            self._distinct.end(row[place])

    def delete_ended(self) -> None:
        """Delete entries of groups that have ended, some at a time."""
        if self._unions:
            self._distinct.delete_ended()


def _replaced(rows: Sequence[Row], values: Mapping[tuple[int, int], Any]) -> list[Row]:
    """Return rows with some values replaced, which are given by the number of their row and their place in it."""
    replaced = list(rows)
    for (number, place), value in values.items():
        replaced[number] = [*replaced[number][:place], value, *replaced[number][place + 1 :]]
    return replaced
