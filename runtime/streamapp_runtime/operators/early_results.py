"""Results before their time: those of open windows, emitted again while they change (docs/windows-and-joins.md)."""

from collections.abc import Callable, Iterable

_MOST_CHANGED = 500_000
"""Groups: so many that have changed are emitted at once, for what waits is in memory."""


class EarlyResults:
    """The groups whose results have changed since they were emitted last; they are due from time to time.

    A restart forgets them: the next change, or the end of the window, emits them again.
    """

    def __init__(self, time_of_day: Callable[[], int], every: int) -> None:
        """Take the clock and the time between two emissions, both in milliseconds."""
        self._time_of_day = time_of_day
        self._every = every
        self._changed: dict[bytes, None] = {}
        self._emitted_at = time_of_day()

    def note(self, keys: Iterable[bytes]) -> None:
        """Note that groups have changed."""
        self._changed.update(dict.fromkeys(keys))

    def take_due(self) -> list[bytes]:
        """Return the groups that have changed if they are due, and forget them."""
        if not self._changed:
            return []
        now = self._time_of_day()
        waited = now - self._emitted_at
        if 0 <= waited < self._every and len(self._changed) < _MOST_CHANGED:
            return []
        self._emitted_at = now
        due, self._changed = list(self._changed), {}
        return due
