"""A scheduler of threads that run one at a time, in simulated time, in an order that only a seed decides.

A simulated thread is a greenlet: it runs until it waits; then the one goes on whose time comes next. Time passes only
while all wait: it jumps. Whatever a simulation does goes through `wait` or `at`, so a seed always gives the same run.
"""

import heapq
from collections.abc import Callable
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

Timer = Callable[[], Any]


class SimulatedDeath(BaseException):
    """The thread's process was killed: the thread unwinds, and nothing that it still tries has an effect."""


class SimulationStuck(Exception):  # noqa: N818 - what happened
    """The simulation does not come to its end."""


class SimulatedThread:
    """A thread under the scheduler. It runs as long as it is `current`."""

    def __init__(self, name: str, function: Callable[[], object], owner: "Owner", scheduler: "Scheduler") -> None:
        self.name = name
        self.owner = owner
        self.ended = False
        self.due: object = None
        """The entry of the agenda that will wake this thread; entries that are not it are outdated."""
        self.function = function
        self.greenlet = greenlet(lambda: scheduler.work(self), parent=scheduler.outside)


class Owner:
    """A process of simulated threads: the scheduler asks whether it is alive, and until when it stands still."""

    name = "the simulation"
    dead = False
    paused_until = 0.0


class Scheduler:
    """Runs simulated threads and timers by one agenda. `now` is in seconds since the start of the simulation."""

    def __init__(self, random: Random, *, longest: float, most_turns: int) -> None:
        """Stop with `SimulationStuck` after `longest` simulated seconds or so many turns."""
        self.random = random
        self.now = 0.0
        self.trace: list[tuple[float, str, str]] = []
        self.failure: BaseException | None = None
        self._longest = longest
        self._turns_left = most_turns
        self._agenda: list[tuple[float, float, int, SimulatedThread | Timer]] = []
        self._entries = 0
        self._current: SimulatedThread | None = None
        self._threads: list[SimulatedThread] = []
        self._stopping = False
        self.outside = getcurrent()
        """Where `run` is called."""

    @property
    def current(self) -> SimulatedThread:
        """The thread that runs now."""
        assert self._current is not None
        return self._current

    def run(self) -> None:
        """Run what is on the agenda until somebody calls `stop`; called by the world outside, which made the scheduler.

        Raises:
            BaseException: what ended the simulation: the error of a thread that nobody else takes.
        """
        following = self._next()
        while following is not None:
            self._current = following
            following = following.greenlet.switch()
        if self.failure is not None:
            raise self.failure

    def stop(self, failure: BaseException | None = None) -> None:
        """End the simulation: all threads unwind as those of killed processes do."""
        self.failure = self.failure or failure
        self._stopping = True
        for thread in self._threads:
            self._wake(thread, self.now)

    def start(self, name: str, function: Callable[[], object], owner: Owner) -> SimulatedThread:
        """Start a thread of a process."""
        thread = SimulatedThread(name, function, owner, self)
        self._threads.append(thread)
        self._wake(thread, self.now)
        return thread

    def at(self, seconds: float, timer: Timer) -> None:
        """Call a function at a time; it must not wait."""
        self._push(seconds, timer)

    def wait(self, until: float) -> None:
        """Let others run until a time, or until somebody wakes this thread.

        Raises:
            SimulatedDeath: its process has been killed meanwhile.
        """
        thread = self.current
        self._raise_if_dead(thread)
        self._wake(thread, until)
        following = self._next()
        if following is not thread:
            self.outside.switch(following)
        self._current = thread
        self._raise_if_dead(thread)

    def wake(self, thread: SimulatedThread) -> None:
        """Let a thread that waits go on now."""
        if not thread.ended and thread is not self._current:
            self._wake(thread, self.now)

    def unwind(self, owner: Owner) -> None:
        """Let the threads of a process that was killed unwind now."""
        for thread in self._threads:
            if thread.owner is owner:
                self.wake(thread)

    def note(self, what: str) -> None:
        """Add to the trace what the current thread does."""
        self.trace.append((round(self.now, 6), self._current.name if self._current else "-", what))

    def _raise_if_dead(self, thread: SimulatedThread) -> None:
        if self._stopping or thread.owner.dead:
            raise SimulatedDeath(thread.name)

    def _wake(self, thread: SimulatedThread, at: float) -> None:
        thread.due = self._push(at, thread)

    def _push(self, at: float, what: SimulatedThread | Timer) -> object:
        self._entries += 1
        entry = (max(at, self.now), self.random.random(), self._entries, what)
        heapq.heappush(self._agenda, entry)
        return entry

    def work(self, thread: SimulatedThread) -> SimulatedThread | None:
        """Run a thread to its end, and return the one that goes on."""
        try:
            if not (self._stopping or thread.owner.dead):
                thread.function()
        except BaseException as error:  # noqa: BLE001 - it ends the simulation, unless the thread only unwound
            if not (self._stopping or thread.owner.dead):
                self.stop(error)
        thread.ended = True
        self._threads.remove(thread)
        return self._next()

    def _next(self) -> SimulatedThread | None:
        """Take what comes next from the agenda, and call timers; None when the simulation is over."""
        self._current = None
        while self._agenda:
            if self._stopping and not self._threads:
                return None
            entry = heapq.heappop(self._agenda)
            at, _, _, what = entry
            if not isinstance(what, SimulatedThread):
                if not self._stopping:
                    self.now = at
                    self._call(what)
                continue
            if what.ended or what.due is not entry:
                continue
            if not (self._stopping or what.owner.dead) and what.owner.paused_until > at:
                self._wake(what, what.owner.paused_until)
                continue
            self.now = at
            self._turns_left -= 1
            if (self.now > self._longest or self._turns_left < 0) and not self._stopping:
                self.stop(SimulationStuck(f"after {self.now:.1f} simulated seconds, {len(self.trace)} steps"))
            return what
        return None

    def _call(self, timer: Timer) -> None:
        try:
            timer()
        except BaseException as error:  # noqa: BLE001 - it ends the simulation
            self.stop(error)
