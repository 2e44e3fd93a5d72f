"""The partition monitor: growing streams are noticed and planned again, at an interval (design 5 and 10)."""

import logging
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.problems import Problem
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.prepare import PreparedRun, plan_again
from streamapp_runtime.errors import PlanRefused
from streamapp_runtime.hosts.background_thread import in_thread
from streamapp_systems.clock import time_of_day
from streamapp_systems.protocols import StreamSystemError

_LOGGER = logging.getLogger("streamapp.driver")
_SECOND = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Streams have grown: the run to go on with. Its job model has a higher version and is not in force yet."""

    prepared: PreparedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Streams have changed as this run can't follow: it goes on as it was. No problems: that is mended."""

    problems: tuple[Problem, ...]


class PartitionMonitor:
    """Looks at the partition counts of a run's streams: one request per system and interval, in a thread of its own.

    Streams that grew since the last look are planned together.
    """

    def __init__(self, text: str, folder: Path, prepared: PreparedRun, now: float) -> None:
        """Take the app's YAML and the folder that its paths resolve from; `now` is in seconds, as in `look`."""
        monitor = prepared.plan.app.spec.job.partition_monitor
        self._parsed = parse_text(text)
        self._folder = folder
        self._interval = monitor.interval / _SECOND if monitor.enabled else None
        self._next_look = now + (self._interval or 0)
        self._found: Future[PreparedRun] | None = None
        self._before = prepared
        self.problems = prepared.refused
        """Why the run does not follow its streams; none if it does."""

    @property
    def looking(self) -> bool:
        """Whether a look has begun and what it found was not told yet."""
        return self._found is not None

    def look(self, now: float, current: PreparedRun) -> Growth | Refused | None:
        """Tell what is new for the run that is `current`; never waits. A refusal is told once.

        A look that fails, since a system does not answer, is made up for by the next one.
        """
        if self._interval is None:
            return None
        if self._found is None:
            if now >= self._next_look:
                self._next_look = now + self._interval
                self._before = current
                self._found = in_thread("partition-monitor", self._plan_again)
            return None
        if not self._found.done():
            return None
        found, self._found = self._found, None
        return self._news(found, current)

    def _plan_again(self) -> PreparedRun:
        return plan_again(self._parsed, self._folder, self._before.model, time_of_day())

    def _news(self, found: Future[PreparedRun], current: PreparedRun) -> Growth | Refused | None:
        try:
            prepared = found.result()
        except StreamSystemError as error:
            _LOGGER.warning("the partitions of the app's streams can't be counted: %s", error)
            return None
        except PlanRefused as refused:
            return self._told(refused.problems)
        if current.model != self._before.model:
            return None
        told = self._told(prepared.refused)
        if prepared.model.streams != current.model.streams:
            return Growth(prepared=prepared)
        return told

    def _told(self, problems: tuple[Problem, ...]) -> Refused | None:
        if problems == self.problems:
            return None
        self.problems = problems
        return Refused(problems=problems)
