"""The monitor of side inputs: looks at an interval whether their files have changed since the run has read them."""

import logging
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path

from streamapp_core.plan.plan import Plan
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.side_input_changes import changed_files, check_side_input_counts, take_bounded_ends
from streamapp_runtime.errors import FAILURES
from streamapp_runtime.hosts.background_thread import in_thread
from streamapp_runtime.side_input_files import SideInputFiles, take_side_input_files

_LOGGER = logging.getLogger("streamapp.driver")
_SECOND = 1_000


class SideInputMonitor:
    """Compares the files of side inputs with the versions that a run reads, in a thread of its own.

    A new version is due if a table that it fills has `refresh`: all processors must then start again with it. The
    others are reported only, and taken at the run's next start.
    """

    def __init__(self, plan: Plan, folder: Path, record: RunRecord, now: float) -> None:
        """Take the record of the run; `now` is in seconds, as in `poll`."""
        self._plan = plan
        self._folder = folder
        self._record = record
        self._refreshes = _refreshes(plan, record.side_inputs)
        self._interval = _interval(plan, record.side_inputs, self._refreshes)
        self._next_look = now + (self._interval or 0)
        self._looking: Future[bool] | None = None
        self._seen: Mapping[str, SideInputFiles] = record.side_inputs
        self.notices: tuple[str, ...] = ()
        """The side inputs whose files are not those that the run reads, a line each."""
        self.due = False
        """Whether the run is to start again with new versions."""

    def poll(self, now: float) -> None:
        """Look at the files if it is time, and take what the last look found; never waits."""
        if self._interval is None or self.due:
            return
        if self._looking is None:
            if now >= self._next_look:
                self._next_look = now + self._interval
                self._looking = in_thread("side-input-monitor", self._look)
        elif self._looking.done():
            self._take(self._looking)

    def _take(self, looked: Future[bool]) -> None:
        self._looking, self.due = None, looked.result()

    def _look(self) -> bool:
        """Return whether a new version is due: it is whole, as far as anyone can know, if two looks find the same."""
        read, seen = self._record.side_inputs, self._seen
        try:
            found = take_side_input_files(self._plan, self._folder, seen)
            self._seen = found
            changed = [name for name in found if found[name].version != read[name].version]
            self.notices = tuple(self._describe(name, found[name]) for name in changed)
            if _versions(found) != _versions(seen) or not self._refreshes.keys() & set(changed):
                return False
            taken = take_bounded_ends(self._plan, self._folder, self._record.ends, found)
            check_side_input_counts(self._plan, taken)
        except FAILURES as error:
            self.notices = (f"the new version of a side input can't be taken, the run keeps the previous one: {error}",)
            return False
        return True

    def _describe(self, name: str, found: SideInputFiles) -> str:
        files = ", ".join(changed_files(self._record.side_inputs[name], found))
        if name in self._refreshes:
            return f"side input {name}: {files} changed; the run starts again with the new version"
        tables = sorted(table.name for table in self._plan.tables.values() if name in table.spec.side_inputs)
        return (
            f"side input {name}: {files} changed; the run keeps the version that it has read until its next start "
            f"(tables.{tables[0]}.refresh takes new versions while it runs)"
        )


def _versions(side_inputs: Mapping[str, SideInputFiles]) -> dict[str, str]:
    return {name: files.version for name, files in side_inputs.items()}


def _refreshes(plan: Plan, side_inputs: Mapping[str, SideInputFiles]) -> dict[str, int]:
    """Return, by side input, how often it is looked at to be refreshed: the shortest interval of its tables."""
    found: dict[str, int] = {}
    for table in plan.tables.values():
        for name in table.spec.side_inputs:
            if table.spec.refresh is not None and name in side_inputs:
                found[name] = min(table.spec.refresh, found.get(name, table.spec.refresh))
    return found


def _interval(plan: Plan, side_inputs: Mapping[str, SideInputFiles], refreshes: Mapping[str, int]) -> float | None:
    """Return the seconds between two looks; None if nobody looks."""
    monitor = plan.app.spec.job.partition_monitor
    intervals = [*refreshes.values(), *([monitor.interval] if monitor.enabled else [])]
    return min(intervals) / _SECOND if side_inputs and intervals else None
