"""The distinct values of groups: a few in the group's own state, many as entries of their own in the store.

So one more value of a group that has a million of them costs one entry. The entries of a group bear a number: those of
a group that has ended are deleted some at a time, and if it starts again, it has another one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from streamapp_runtime.rows.row_codec import DIGEST_BYTES, digest
from streamapp_runtime.state.prefixed_store import PrefixedStore
from streamapp_runtime.state.store import Store
from streamapp_runtime.summaries.equal_forms import equal_form

Stored: TypeAlias = dict[int, int]
"""The number of a group whose values are entries, and how many values it has."""

INLINE = 1_000
"""The most values that stay in the state of their group, which is written again with each change."""
COUNTED_INLINE = 64
"""The same, where each row that comes or goes reads and changes that state."""
_PREFIX = b"d"
_VALUE, _ENDED, _NEXT = b"v", b"w", b"x"
_NUMBER_BYTES = 8
_DELETED_AT_ONCE = 20_000


class DistinctEntries:
    """Counts the distinct values of groups, in the entries of a store that begin with `d`."""

    def __init__(self, store: Store, *, counted: bool, inline: int = COUNTED_INLINE) -> None:
        """With `counted`, how often each value came is kept, so that it can be taken back.

        Counted values of a group are entries if there are more than `inline`.
        """
        self._store = PrefixedStore(store, _PREFIX)
        self._counted = counted
        self._inline = inline
        self._may_have_ended = True

    def store(self, values: Iterable[Any]) -> Stored:
        """Store the values of a group, which are many, as entries."""
        return self._store_all(dict.fromkeys(map(equal_form, values), 1))

    def add(self, stored: Stored, values: Iterable[Any], change: int = 1) -> Stored:
        """Add values to entries, or, with -1, take them back."""
        ((number, known),) = stored.items()
        return {number: known + sum(self._change(number, equal_form(value), change) for value in values)}

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

    def end(self, kept: Any) -> None:  # noqa: ANN401 - plain values
        """Note that a group has ended of which this is kept, so that its entries are deleted."""
        if isinstance(kept, dict):
            for number in kept:
                self._store.put(_ENDED + _name(number), b"")
            self._may_have_ended = True

    def delete_ended(self, limit: int = _DELETED_AT_ONCE) -> None:
        """Delete at most so many entries of groups that have ended."""
        if not self._may_have_ended:
            return
        for ended, _ in self._store.scan(_ENDED, _NEXT):
            start = _VALUE + ended[len(_ENDED) :]
            found = list(self._store.scan(start, start + b"\xff" * (DIGEST_BYTES + 1), limit))
            for entry, _ in found:
                self._store.delete(entry)
            limit -= len(found)
            if not limit:
                return
            self._store.delete(ended)
        self._may_have_ended = False

    def _store_all(self, counts: Mapping[Any, int]) -> Stored:
        number = int(self._store.get(_NEXT) or b"0")
        self._store.put(_NEXT, b"%d" % (number + 1))
        return {number: sum(self._change(number, value, count) for value, count in counts.items())}

    def _change(self, number: int, value: Any, change: int) -> int:  # noqa: ANN401 - a plain value
        """Change the count of a value in the store; return by how much the number of values changes."""
        entry = _VALUE + _name(number) + digest([value])
        before = int(self._store.get(entry) or b"0")
        now = before + change if self._counted else 1
        if now == 0:
            self._store.delete(entry)
        elif now != before:
            self._store.put(entry, b"%d" % now)
        return (now > 0) - (before > 0)


def _name(number: int) -> bytes:
    return number.to_bytes(_NUMBER_BYTES, "big")
