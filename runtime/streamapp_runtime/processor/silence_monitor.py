"""The silence of partitions with an `idleTimeout`: it counts once their system says that all of them has been read.

A partition whose leader is away brings no rows either, and what it holds would be late when it is back.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.ssp import Ssp
from streamapp_runtime.tasks.task import Task
from streamapp_systems.protocols import Consumer, EndsAnswer

_ASKS = 4
"""How often a system is asked within an idle timeout: an absence shorter than that part of it is not noticed."""
_SHORTEST, _LONGEST = 50, 5_000
"""Milliseconds between two questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A question to a system: when it was asked (ms), for which partitions."""

    asked_at: int
    ssps: Collection[Ssp]
    answer: EndsAnswer


class SilenceMonitor:
    """Asks systems for the ends of partitions without rows, and passes the answers on to the tasks that read them.

    Nothing waits for an answer. Used by one thread.
    """

    def __init__(
        self, consumers: Mapping[str, Consumer], owners: Mapping[Ssp, Sequence[Task]], timeouts: Mapping[str, int]
    ) -> None:
        """Take the consumers by system, the tasks that read each partition, and the idle timeouts by stream (ms)."""
        self._consumers = consumers
        self._owners = {ssp: tasks for ssp, tasks in owners.items() if ssp.stream in timeouts}
        self._by_place = {(ssp.stream, ssp.partition): ssp for ssp in self._owners}
        self._tasks = {id(task): task for tasks in self._owners.values() for task in tasks}.values()
        shortest = min(timeouts.values(), default=0)
        self._interval = min(max(shortest // _ASKS, _SHORTEST), _LONGEST)
        self._absences = {ssp: timeouts[ssp.stream] / 2_000 for ssp in self._owners}
        self._questions: dict[str, _Question] = {}
        self._ask_at = 0
        self._asked_at = -1

    def step(self, now: int) -> None:
        """Pass on the answers there are, and ask again if that is due; `now` is that of a clock that never jumps (ms).

        It is due at each interval, and once when the next partition may become idle.

        Raises:
            StreamSystemError: a system can't be read.
        """
        for system, question in list(self._questions.items()):
            read = question.answer.poll()
            if read is not None:
                del self._questions[system]
                self._pass_on(question, read)
        if self._tasks and (now >= self._ask_at or self._asked_at < self._next_idle_at() <= now):
            self._ask_at, self._asked_at = now + self._interval, now
            self._ask(now)

    @property
    def asks(self) -> bool:
        """Whether a system has not answered yet."""
        return bool(self._questions)

    def note_commit(self, seconds: float) -> None:
        """Take a commit whose answer took half of an idle timeout for an absence: nobody has asked for ends."""
        for ssp, tasks in self._owners.items():
            if seconds >= self._absences[ssp]:
                for task in tasks:
                    task.interrupt(ssp)

    def _next_idle_at(self) -> float:
        return min((task.next_idle_at for task in self._tasks if task.next_idle_at is not None), default=math.inf)

    def _ask(self, now: int) -> None:
        silent = {place for task in self._tasks for place in task.silent_partitions(now - self._interval)}
        by_system: dict[str, list[Ssp]] = {}
        for ssp in sorted(self._by_place[place] for place in silent):
            by_system.setdefault(ssp.system, []).append(ssp)
        for system, ssps in by_system.items():
            if system not in self._questions:
                answer = self._consumers[system].ask_ends(ssps)
                self._questions[system] = _Question(asked_at=now, ssps=ssps, answer=answer)

    def _pass_on(self, question: _Question, read: Mapping[Ssp, bool]) -> None:
        for ssp in question.ssps:
            for task in self._owners[ssp]:
                if ssp not in read:
                    task.interrupt(ssp)
                elif read[ssp]:
                    task.confirm_read(ssp, question.asked_at)
