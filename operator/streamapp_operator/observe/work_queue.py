"""The work queue: each key is queued once however often it is added, for the earliest time it was added for.

A key that a worker has taken is given to no other; if it is added meanwhile, it is queued again when it is done. Of the
due keys, one comes first whose tenant has the fewest workers. A tenant has at most `most_workers` at a time, so that
keys which take long leave a worker to the others.
"""

import heapq
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)


class WorkQueue(Generic[_Key]):
    """A queue of keys with delays, for many threads. Times are seconds of `clock`; `tenant_of` names a key's tenant."""

    def __init__(self, clock: Callable[[], float], tenant_of: Callable[[_Key], Hashable], *, most_workers: int) -> None:
        self._clock = clock
        self._tenant_of = tenant_of
        self._most_workers = most_workers
        self._ready: dict[Hashable, OrderedDict[_Key, float]] = {}
        self._turns: list[tuple[int, float, int, Hashable]] = []
        self._workers: Counter[Hashable] = Counter()
        self._due: dict[_Key, float] = {}
        self._heap: list[tuple[float, int, _Key]] = []
        self._taken: dict[_Key, float] = {}
        self._order = 0
        self._moved_at = clock()
        self._closed = False
        self._changed = threading.Condition()

    def add(self, key: _Key, delay: float = 0.0) -> None:
        """Queue a key for `delay` seconds from now; if it is queued for an earlier time, that stays."""
        with self._changed:
            due = self._clock() + delay
            known = self._due.get(key)
            if known is not None and known <= due:
                return
            self._due[key] = due
            self._order += 1
            heapq.heappush(self._heap, (due, self._order, key))
            self._changed.notify()

    def take(self) -> _Key | None:
        """Wait for a due key, and take it until `done`; return None when closed."""
        with self._changed:
            while not self._closed:
                key = self._pop_due()
                if key is not None:
                    self._taken[key] = self._moved_at = self._clock()
                    return key
                self._changed.wait(self._next_delay())
            return None

    def done(self, key: _Key) -> None:
        """Finish a key that was taken."""
        with self._changed:
            del self._taken[key]
            tenant = self._tenant_of(key)
            self._workers[tenant] -= 1
            if not self._workers[tenant]:
                del self._workers[tenant]
            self._give_turn(tenant)
            due = self._due.get(key)
            if due is not None:
                self._order += 1
                heapq.heappush(self._heap, (due, self._order, key))
            self._changed.notify()

    def close(self) -> None:
        """Close the queue: `take` returns None from now on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def depth(self) -> int:
        """Count the keys that are due and not taken."""
        with self._changed:
            now = self._clock()
            return sum(due <= now and key not in self._taken for key, due in self._due.items())

    def longest_stall(self) -> float:
        """Return for how many seconds a key has been taken, or no due key has: a long queue that moves is no stall."""
        with self._changed:
            now = self._clock()
            since = list(self._taken.values())
            if waiting := [due for key, due in self._due.items() if key not in self._taken]:
                since.append(max(min(waiting), self._moved_at))
            return max(0.0, now - min(since, default=now))

    def _pop_due(self) -> _Key | None:
        """Remove and return the due key whose turn it is; None if there is none."""
        self._collect_due()
        while self._turns:
            workers, due, _, tenant = heapq.heappop(self._turns)
            keys = self._ready.get(tenant)
            if keys is None or (workers, due) != (self._workers[tenant], next(iter(keys.values()))):
                continue
            key, _ = keys.popitem(last=False)
            if not keys:
                del self._ready[tenant]
            del self._due[key]
            self._workers[tenant] += 1
            self._give_turn(tenant)
            return key
        return None

    def _give_turn(self, tenant: Hashable) -> None:
        """Note when it is a tenant's turn, if it has due keys and may have another worker.

        That is to be done whenever its workers or its first key change: what was noted before counts no more.
        """
        if tenant in self._ready and self._workers[tenant] < self._most_workers:
            self._order += 1
            first = next(iter(self._ready[tenant].values()))
            heapq.heappush(self._turns, (self._workers[tenant], first, self._order, tenant))

    def _collect_due(self) -> None:
        """Line up the keys that have become due, by tenant; outdated entries of the heap are dropped."""
        while self._heap and self._heap[0][0] <= self._clock():
            due, _, key = heapq.heappop(self._heap)
            if self._due.get(key) == due and key not in self._taken:
                tenant = self._tenant_of(key)
                keys = self._ready.setdefault(tenant, OrderedDict())
                keys[key] = due
                if len(keys) == 1:
                    self._give_turn(tenant)

    def _next_delay(self) -> float | None:
        return max(0.0, self._heap[0][0] - self._clock()) if self._heap else None
