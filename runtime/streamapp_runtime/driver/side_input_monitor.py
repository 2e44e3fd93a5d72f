"""The monitor of side inputs: looks at an interval whether they have changed since the run has read them."""

from collections.abc import Mapping
from concurrent.futures import Future

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.plan.plan import Plan
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.side_input_changes import (
    TakenEnds,
    check_side_input_counts,
    describe_change,
    take_bounded_ends,
    unsettled,
)
from streamapp_runtime.errors import FAILURES, RuntimeFailure
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.processor.processor_report import RunNotice
from streamapp_runtime.side_input_versions import SideInputVersion, SideInputVersions, take_side_input_versions

_SECOND = 1_000
_URGENT_SECONDS = 1.0
_URGENCY_SECONDS = 30.0
"""How long the files are looked at each second after a processor could not read one: longer than its backoff."""


class SideInputMonitor:
    """Compares side inputs with the versions of them that a run reads, in a thread of its own.

    A new version is due if a table that it fills has `refresh`, or if a processor can't read the previous one any more:
    all processors must then start again with it. Others are reported only, and taken at the run's next start.
    """

    def __init__(self, plan: Plan, context: ExecutionContext, record: RunRecord, now: float) -> None:
        """Take the record of the run; `now` is in seconds, as in `poll`."""
        self._plan = plan
        self._context = context
        self._record = record
        self._refreshes = _refreshes(plan, record.side_inputs)
        self._interval = _interval(plan, record.side_inputs, self._refreshes)
        self._last_look = now
        self._urgent_until = now
        self._looking: Future[TakenEnds | None] | None = None
        self._seen: SideInputVersions = record.side_inputs
        self.notices: tuple[RunNotice, ...] = ()
        """The side inputs whose versions are not those that the run reads."""

    def poll(self, now: float, *, urgent: bool) -> TakenEnds | None:
        """Look at the files if it is time, and return the new versions that are due, once; never waits.

        `urgent`: a processor waits, since it can't read the version that the run reads.

        Raises:
            RuntimeFailure: then, if a side input has another number of files.
        """
        if urgent:
            self._urgent_until = now + _URGENCY_SECONDS
        if self._looking is None:
            urgent = now < self._urgent_until
            interval = _URGENT_SECONDS if urgent else self._interval
            if interval is not None and now >= self._last_look + interval:
                self._last_look = now
                self._looking = self._context.threads.start("side-input-monitor", lambda: self._look(urgent=urgent))
        elif self._looking.done():
            return self._take(self._looking)
        return None

    def _take(self, looked: Future[TakenEnds | None]) -> TakenEnds | None:
        self._looking = None
        return looked.result()

    def _look(self, *, urgent: bool) -> TakenEnds | None:
        """Return new versions that are due: whole, as far as anyone can know, are files that two looks have found."""
        read, seen = self._record.side_inputs, self._seen
        try:
            found = take_side_input_versions(self._plan, self._context.systems, seen)
            self._seen = found
            changed = {name for name in found if found[name].version != read[name].version}
            notices = tuple(self._describe(name, found[name]) for name in sorted(changed))
            due = changed if urgent else changed & self._refreshes.keys()
            if unsettled(self._plan, found) != unsettled(self._plan, seen) or not due:
                self.notices = notices
                return None
            taken = take_bounded_ends(self._plan, self._context.systems, self._record.ends, read)
        except FAILURES as error:
            self.notices = (_not_taken(error),)
            return None
        try:
            check_side_input_counts(self._plan, taken)
        except RuntimeFailure as error:
            if urgent:
                raise
            self.notices = (_not_taken(error),)
            return None
        self.notices = notices
        return taken

    def _describe(self, name: str, found: SideInputVersion) -> RunNotice:
        change = describe_change(self._record.side_inputs[name], found)
        if name in self._refreshes:
            message = f"side input {name}: {change}; all processors start again with the new version"
            return RunNotice(reason=NoticeReason.SIDE_INPUT_CHANGED, message=message)
        tables = sorted(table.name for table in self._plan.tables.values() if name in table.spec.side_inputs)
        message = (
            f"side input {name}: {change}; the run keeps the version that it has read until its next start "
            f"(tables.{tables[0]}.refresh takes new versions while it runs)"
        )
        return RunNotice(reason=NoticeReason.SIDE_INPUT_OUTDATED, message=message)


def _not_taken(error: Exception) -> RunNotice:
    message = f"the new version of a side input can't be taken, the run keeps the previous one: {error}"
    return RunNotice(reason=NoticeReason.SIDE_INPUT_OUTDATED, message=message)


def _refreshes(plan: Plan, side_inputs: SideInputVersions) -> dict[str, int]:
    """Return, by side input, how often it is looked at to be refreshed: the shortest interval of its tables."""
    found: dict[str, int] = {}
    for table in plan.tables.values():
        for name in table.spec.side_inputs:
            if table.spec.refresh is not None and name in side_inputs:
                found[name] = min(table.spec.refresh, found.get(name, table.spec.refresh))
    return found


def _interval(plan: Plan, side_inputs: SideInputVersions, refreshes: Mapping[str, int]) -> float | None:
    """Return the seconds between two looks; None if nobody looks."""
    monitor = plan.app.spec.job.partition_monitor
    intervals = [*refreshes.values(), *([monitor.interval] if monitor.enabled else [])]
    return min(intervals) / _SECOND if side_inputs and intervals else None
