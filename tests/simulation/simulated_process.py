"""Simulated processes and machines: threads that can be killed and paused together, with clocks of their own."""

from collections.abc import Callable, Collection
from concurrent.futures import Future
from random import Random
from typing import Any, Protocol, TypeVar

from simulation.deterministic_scheduler import Owner, Scheduler, SimulatedDeath, SimulatedThread
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_systems.clock import Clock
from streamapp_systems.registry import Systems

_Result = TypeVar("_Result")
_FOREVER = 1e9
EPOCH_MS = 1_700_000_000_000
"""The time of day at which simulations begin."""


class Machine:
    """A machine: its processes share files, and die together when it loses power."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.boots = 1

    @property
    def boot_id(self) -> str:
        """What identifies this boot."""
        return f"{self.name} boot {self.boots}"


class Resource(Protocol):
    """Something that the kernel releases when its process dies."""

    def release(self) -> None:
        """Release it, without what a closer would do."""
        ...


class SimulatedProcess(Owner):
    """A process on a machine. `seconds_off` is how wrong its time of day is."""

    def __init__(self, name: str, machine: Machine, scheduler: Scheduler) -> None:
        self.name = name
        self.machine = machine
        self.scheduler = scheduler
        self.dead = False
        self.paused_until = 0.0
        self.seconds_off = 0.0
        self.slowness = 1.0
        self.resources: list[Resource] = []
        self.dies_at: Callable[[str], bool] | None = None
        """Says of a step whether the process dies there."""
        self.pauses_at: tuple[Callable[[str], bool], float] | None = None
        """Says of a step whether the process stands still there, and for how many seconds."""
        self.on_death: list[Callable[[], object]] = []

    def step(self, what: str) -> None:
        """Note a step, at which others go on and anything may happen.

        Raises:
            SimulatedDeath: the process was killed here, or before.
        """
        self.point(what)
        if self.pauses_at is not None and self.pauses_at[0](what):
            self.scheduler.note(f"stands still at {what}")
            self.pause(self.pauses_at[1])
            self.pauses_at = None
        self.scheduler.wait(self.scheduler.now + self.scheduler.random.expovariate(2_000) * self.slowness)

    def point(self, what: str) -> None:
        """Note a point at which the process may die, and nobody else goes on.

        Raises:
            SimulatedDeath: the process was killed here, or before.
        """
        self.raise_if_dead()
        self.scheduler.note(what)
        if self.dies_at is not None and self.dies_at(what):
            self.scheduler.note(f"dies at {what}")
            self.kill()
        self.raise_if_dead()

    def raise_if_dead(self) -> None:
        """Raise `SimulatedDeath` if the process was killed."""
        if self.dead:
            raise SimulatedDeath(self.name)

    def kill(self) -> None:
        """End all threads of the process at once; what it holds is released as the kernel does."""
        if self.dead:
            return
        self.dead = True
        self.scheduler.note(f"{self.name} is killed")
        for resource in self.resources:
            resource.release()
        self.resources.clear()
        self.scheduler.unwind(self)
        for callback in self.on_death:
            callback()

    def pause(self, seconds: float) -> None:
        """Let no thread of the process run for so long."""
        self.paused_until = max(self.paused_until, self.scheduler.now + seconds)

    def context(self, systems: Systems, seed: int) -> ExecutionContext:
        """Return what a driver or processor in this process runs in."""
        scheduler = self.scheduler
        clock = Clock(
            monotonic=lambda: scheduler.now,
            sleep=lambda seconds: scheduler.wait(scheduler.now + seconds),
            time_of_day=self.time_of_day,
        )
        return ExecutionContext(
            systems=systems,
            clock=clock,
            threads=SimulatedThreads(self),
            random=Random(seed),
            boot_id=self.machine.boot_id,
        )

    def time_of_day(self) -> int:
        """Return the time of day in milliseconds, as this process sees it."""
        return EPOCH_MS + round(1_000 * (self.scheduler.now + self.seconds_off))


class SimulatedEvent:
    """See `Event`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._set = False
        self._waiting: list[SimulatedThread] = []

    def set(self) -> None:
        """See `Event.set`."""
        self._set = True
        for thread in self._waiting:
            self._scheduler.wake(thread)
        self._waiting.clear()

    def is_set(self) -> bool:
        """See `Event.is_set`."""
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        """See `Event.wait`."""
        deadline = _FOREVER if timeout is None else self._scheduler.now + timeout
        thread = self._scheduler.current
        while not self._set and self._scheduler.now < deadline:
            self._waiting.append(thread)
            self._scheduler.wait(deadline)
            if thread in self._waiting:
                self._waiting.remove(thread)
        return self._set


class SimulatedThreads:
    """See `Threads`: those of one process."""

    def __init__(self, process: SimulatedProcess) -> None:
        self._process = process

    def start(self, name: str, function: Callable[[], _Result], /) -> Future[_Result]:
        """See `Threads.start`. The future of a thread that is killed is never done."""
        future: Future[_Result] = Future()

        def run() -> None:
            future.set_running_or_notify_cancel()
            try:
                result = function()
            except Exception as error:  # noqa: BLE001 - whoever waits decides
                future.set_exception(error)
            else:
                future.set_result(result)

        self._process.scheduler.start(f"{self._process.name}/{name}", run, self._process)
        return future

    def wait(self, futures: Collection[Future[Any]], seconds: float | None, /, *, first: bool = False) -> None:
        """See `Threads.wait`."""
        scheduler = self._process.scheduler
        deadline = _FOREVER if seconds is None else scheduler.now + seconds
        thread, waiting = scheduler.current, True

        def wake(_: object) -> None:
            if waiting:
                scheduler.wake(thread)

        for future in futures:
            if not future.done():
                future.add_done_callback(wake)
        enough = any if first else all
        while not enough([future.done() for future in futures]) and scheduler.now < deadline:
            scheduler.wait(deadline)
        waiting = False

    def event(self) -> SimulatedEvent:
        """See `Threads.event`."""
        return SimulatedEvent(self._process.scheduler)
