"""The partition counts of external streams: one request per broker set and interval, for all apps (design 10).

A count that differs from the one of before is believed when it has been the same for a while: topics that are expanded
one after another are one growth, and one restart.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from streamapp_operator.observe.observed_state import StreamCounts
from streamapp_operator.observe.resource_views import AppKey
from streamapp_systems.protocols import StreamSystemError

_RETRY_SECONDS = 5.0
_GATHER_SECONDS = 0.05
"""So long a first request waits for the topics of other apps that come at the same time."""


class TopicCounter(Protocol):
    """Asks one set of brokers."""

    def count(self, topics: Sequence[str]) -> Mapping[str, int]:
        """Count the partitions of topics; those that do not exist are absent.

        Raises:
            StreamSystemError: the brokers can't be asked.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRequest:
    """The topics that an app wants to know about, and how often (seconds; None: once is enough)."""

    topics: frozenset[str]
    interval: float | None


@dataclass(slots=True, kw_only=True)
class _Topic:
    """What is known of a topic: its believed count (None: it does not exist), and another one since when."""

    count: int | None
    other: int | None = None
    other_since: float | None = None


@dataclass(slots=True, kw_only=True)
class _State:
    wishes: dict[AppKey, CountRequest] = field(default_factory=dict)
    topics: dict[str, _Topic] = field(default_factory=dict)
    trouble: str | None = None
    asked_at: float | None = None
    closed: bool = False


class BrokerSet:
    """The topics of one set of brokers. Its thread asks; everybody else looks at what is known."""

    def __init__(
        self,
        counter: TopicCounter,
        changed: Callable[[AppKey], object],
        *,
        settle: float,
        clock: Callable[[], float],
    ) -> None:
        self._counter = counter
        self._changed = changed
        self._settle = settle
        self._clock = clock
        self._state = _State()
        self._woken = threading.Condition()

    def answer(self, app: AppKey, wish: CountRequest) -> StreamCounts:
        """Tell what is known of an app's topics (by topic), and see to it that it stays known."""
        with self._woken:
            state = self._state
            if state.wishes.get(app) != wish:
                state.wishes[app] = wish
                self._woken.notify_all()
            if not wish.topics <= state.topics.keys():
                return StreamCounts(trouble=state.trouble)
            known = {topic: count for topic in wish.topics if (count := state.topics[topic].count) is not None}
            return StreamCounts(known=known, trouble=state.trouble)

    def forget(self, app: AppKey) -> None:
        """Ask no more for an app."""
        with self._woken:
            self._state.wishes.pop(app, None)

    def close(self) -> None:
        """End the thread, after the request that is under way."""
        with self._woken:
            self._state.closed = True
            self._woken.notify_all()

    def run(self) -> None:
        """Ask whenever it is time, until closed."""
        while True:
            with self._woken:
                while not self._state.closed and (wait := self._due_in()) != 0.0:
                    self._woken.wait(wait)
                if self._state.closed:
                    return
                if self._missing():
                    self._woken.wait(_GATHER_SECONDS)
            self.ask()

    def ask(self) -> None:
        """Ask for all topics that any app wants, and tell the apps whose answer is another one now."""
        with self._woken:
            wishes = dict(self._state.wishes)
        topics = sorted(set().union(*(wish.topics for wish in wishes.values())))
        try:
            found = self._counter.count(topics) if topics else {}
        except StreamSystemError as error:
            self._note_trouble(str(error), wishes)
            return
        with self._woken:
            now = self._clock()
            recovered = self._state.trouble is not None
            self._state.trouble, self._state.asked_at = None, now
            changed = {topic for topic in topics if self._take_in(topic, found.get(topic), now)}
            self._state.topics = {topic: self._state.topics[topic] for topic in topics}
        for app, wish in wishes.items():
            if recovered or wish.topics & changed:
                self._changed(app)

    def _take_in(self, topic: str, count: int | None, now: float) -> bool:
        """Note what was found; True if something else is believed now."""
        known = self._state.topics.get(topic)
        if known is None:
            self._state.topics[topic] = _Topic(count=count)
            return True
        if count == known.count:
            known.other_since = None
            return False
        if known.other_since is None or known.other != count:
            known.other, known.other_since = count, now
        if now - known.other_since < self._settle:
            return False
        known.count, known.other_since = count, None
        return True

    def _note_trouble(self, trouble: str, wishes: Mapping[AppKey, CountRequest]) -> None:
        with self._woken:
            new = self._state.trouble != trouble
            self._state.trouble, self._state.asked_at = trouble, self._clock()
        for app in wishes if new else ():
            self._changed(app)

    def _due_in(self) -> float | None:
        """Tell in how many seconds to ask (0: now; None: not until something else happens)."""
        state = self._state
        since = None if state.asked_at is None else self._clock() - state.asked_at
        if self._missing():
            return 0.0 if state.trouble is None or since is None else max(0.0, _RETRY_SECONDS - since)
        waits = [wish.interval for wish in state.wishes.values() if wish.interval is not None]
        if any(topic.other_since is not None for topic in state.topics.values()):
            waits.append(self._settle)
        if not waits:
            return None
        return 0.0 if since is None else max(0.0, min(waits) - since)

    def _missing(self) -> bool:
        return any(not wish.topics <= self._state.topics.keys() for wish in self._state.wishes.values())
