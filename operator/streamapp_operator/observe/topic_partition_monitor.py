"""Partition counts of external streams: one request per set of brokers and interval, for all apps (docs/operator.md).

A changed count counts only after it has been the same for a while (debouncing): topics that are expanded one after
another make one expansion, and one restart.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from streamapp_operator.observe.observed_state import StreamCounts
from streamapp_operator.observe.resource_views import AppKey
from streamapp_systems.protocols import StreamSystemError

_FIRST_RETRY, _LONGEST_RETRY = 5.0, 60.0
"""Seconds between requests that fail, doubled each time."""


class TopicCounter(Protocol):
    """A client of one set of brokers."""

    def count(self, topics: Sequence[str]) -> Mapping[str, int]:
        """Count the partitions of topics; those that do not exist are absent.

        Raises:
            StreamSystemError: the brokers can't be reached.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedTopics:
    """The topics of one app, and the interval in seconds between two counts (None: one count is enough)."""

    topics: frozenset[str]
    interval: float | None


@dataclass(slots=True, kw_only=True)
class _TopicCount:
    """The count of a topic (None: it does not exist), and a changed one that is not yet stable, with its first time."""

    count: int | None
    changed_count: int | None = None
    changed_at: float | None = None


@dataclass(slots=True, kw_only=True)
class _State:
    """Watched topics and known counts, with what follows from them, so that no app is looked at for another.

    `intervals` are those of all apps, `unknown` the apps with topics without a count, `unstable` says whether any
    count has just changed.
    """

    watched: dict[AppKey, WatchedTopics] = field(default_factory=dict)
    intervals: Counter[float] = field(default_factory=Counter)
    unknown: set[AppKey] = field(default_factory=set)
    unstable: bool = False
    counts: dict[str, _TopicCount] = field(default_factory=dict)
    error: str | None = None
    failures: int = 0
    requested_at: float | None = None


class TopicPartitionMonitor:
    """The topics of one set of brokers. One thread at a time sends requests; all others read the last answers."""

    def __init__(
        self,
        counter: TopicCounter,
        on_change: Callable[[AppKey], object],
        *,
        debounce: float,
        clock: Callable[[], float],
    ) -> None:
        """Create a monitor without topics.

        Args:
            counter: the client of the brokers.
            on_change: called with each app whose counts, or whose error, have changed.
            debounce: the seconds for which a changed count must stay the same.
            clock: seconds that never go back.
        """
        self._counter = counter
        self._on_change = on_change
        self._debounce = debounce
        self._clock = clock
        self._state = _State()
        self._lock = threading.Lock()

    def watch(self, app: AppKey, watched: WatchedTopics) -> StreamCounts:
        """Watch an app's topics from now on, and return their counts as far as they are known, by topic."""
        with self._lock:
            state = self._state
            if state.watched.get(app) != watched:
                self._note_watched(app, watched)
            if app in state.unknown:
                return StreamCounts(error=state.error)
            known = {topic: count for topic in watched.topics if (count := state.counts[topic].count) is not None}
            return StreamCounts(known=known, error=state.error)

    def known_counts(self) -> Mapping[str, int]:
        """Return the counts of all topics that are watched and exist, as far as they are known by now."""
        with self._lock:
            return {topic: known.count for topic, known in self._state.counts.items() if known.count is not None}

    def forget(self, app: AppKey) -> bool:
        """Stop watching an app's topics, and return whether any app is left."""
        with self._lock:
            self._note_watched(app, None)
            return bool(self._state.watched)

    def due_in(self) -> float | None:
        """Return the seconds until the next request (0: now; None: not until an app watches other topics)."""
        with self._lock:
            return self._due_in()

    def count(self) -> None:
        """Count all topics that any app watches, and report the apps whose counts have changed."""
        with self._lock:
            watched = dict(self._state.watched)
        topics = sorted(set().union(*(entry.topics for entry in watched.values())))
        try:
            answer = self._counter.count(topics) if topics else {}
        except StreamSystemError as error:
            self.note_error(str(error))
            return
        with self._lock:
            now = self._clock()
            recovered = self._state.error is not None
            self._state.error, self._state.failures, self._state.requested_at = None, 0, now
            changed = {topic for topic in topics if self._note_count(topic, answer.get(topic), now)}
            counts = self._state.counts = {topic: self._state.counts[topic] for topic in topics}
            self._state.unknown = {app for app, at in self._state.watched.items() if not at.topics <= counts.keys()}
            self._state.unstable = any(count.changed_at is not None for count in counts.values())
        for app, entry in watched.items():
            if recovered or entry.topics & changed:
                self._on_change(app)

    def _note_watched(self, app: AppKey, watched: WatchedTopics | None) -> None:
        """Watch other topics of an app, or none."""
        state = self._state
        before = state.watched.pop(app, None)
        if before is not None and before.interval is not None:
            state.intervals -= Counter([before.interval])
        state.unknown.discard(app)
        if watched is None:
            return
        state.watched[app] = watched
        if watched.interval is not None:
            state.intervals[watched.interval] += 1
        if not watched.topics <= state.counts.keys():
            state.unknown.add(app)

    def _note_count(self, topic: str, count: int | None, now: float) -> bool:
        """Note a topic's count, and return whether the count that apps see has changed."""
        known = self._state.counts.get(topic)
        if known is None:
            self._state.counts[topic] = _TopicCount(count=count)
            return True
        if count == known.count:
            known.changed_at = None
            return False
        if known.changed_at is None or known.changed_count != count:
            known.changed_count, known.changed_at = count, now
        if now - known.changed_at < self._debounce:
            return False
        known.count, known.changed_at = count, None
        return True

    def note_error(self, error: str) -> None:
        """Note that the topics can't be counted; report all apps if the error is a new one."""
        with self._lock:
            state = self._state
            watched, new = list(state.watched), state.error != error
            state.error, state.failures, state.requested_at = error, state.failures + 1, self._clock()
        for app in watched if new else ():
            self._on_change(app)

    def _due_in(self) -> float | None:
        state = self._state
        since = None if state.requested_at is None else self._clock() - state.requested_at
        if state.failures and since is not None:
            return max(0.0, min(_LONGEST_RETRY, _FIRST_RETRY * 2.0 ** min(state.failures - 1, 10)) - since)
        if state.unknown:
            return 0.0
        waits = [*state.intervals, *([self._debounce] if state.unstable else [])]
        if not waits:
            return None
        return 0.0 if since is None else max(0.0, min(waits) - since)
