"""The distinct values of groups: a few in the group's own state, many as entries of their own in the store.

So one more value of a group that has a million of them costs one entry.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from streamapp_runtime.operators.numbered_entries import NumberedEntries, Stored
from streamapp_runtime.rows.row_codec import digest
from streamapp_runtime.summaries.equal_forms import equal_form

_COUNTED_INLINE = 64
"""The most values that stay in the state of their group, where each row that comes or goes reads and changes it."""


class DistinctEntries:
    """Counts the distinct values of groups."""

    def __init__(self, entries: NumberedEntries, *, counted: bool, inline: int | None = None) -> None:
        """With `counted`, how often each value came is kept, so that it can be taken back.

        Counted values of a group are entries if there are more than `inline`.
        """
        self._entries = entries
        self._counted = counted
        self._inline = _COUNTED_INLINE if inline is None else inline

    def values_of(self, state: Collection[Any]) -> Collection[Any]:
        """See `ListedEntries.values_of`."""
        return state

    def store(self, state: Iterable[Any]) -> Stored:
        """See `ListedEntries.store`."""
        return self._store_all(dict.fromkeys(map(equal_form, state), 1))

    def add(self, stored: Stored, values: Iterable[Any], change: int = 1) -> Stored:
        """Add values to entries, or, with -1, take them back."""
        ((number, known),) = stored.items()
        names = (digest([equal_form(value)]) for value in values)
        return {number: known + sum(self._change(number, name, change) for name in names)}

    def merge(self, larger: Stored, smaller: Stored) -> Stored:
        """See `ListedEntries.merge`."""
        ((number, known),) = larger.items()
        counts = (entry for other in smaller for entry in self._entries.scan(other))
        return {number: known + sum(self._change(number, name, int(count)) for name, count in counts)}

    def read(self, stored: Stored) -> Stored:
        """Return what `how_many` counts."""
        return stored

    def count_values(self, kept: Any, values: Sequence[Any] | None, change: int = 1) -> Any:  # noqa: ANN401 - plain values
        """Count values that came or, with -1, went; of a group are kept pairs of value and count, or its entries."""
        if not values:
            return kept
        if isinstance(kept, dict):
            return self.add(kept, values, change)
        counts = {equal_form(value): count for value, count in kept or ()}
        for value in map(equal_form, values):
            counts[value] = counts.get(value, 0) + change
        counts = {value: count for value, count in counts.items() if count}
        return list(counts.items()) if len(counts) <= self._inline else self._store_all(counts)

    def _store_all(self, counts: Mapping[Any, int]) -> Stored:
        number = self._entries.begin()
        return {number: sum(self._change(number, digest([value]), count) for value, count in counts.items())}

    def _change(self, number: int, name: bytes, change: int) -> int:
        """Change the count of a value in the store; return by how much the number of values changes."""
        before = int(self._entries.get(number, name) or b"0")
        now = before + change if self._counted else 1
        if now == 0:
            self._entries.delete(number, name)
        elif now != before:
            self._entries.put(number, name, b"%d" % now)
        return (now > 0) - (before > 0)
