"""Maintenance of an app's streams: consumed records are deleted, changelogs compacted, positions shown to tools.

All of it follows what processors have committed, and nothing depends on it: a round that fails is left out, and the
next one makes up for it (docs/protocols.md, Maintenance).
"""

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from typing import Self

from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import changelog_stream, descriptor
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.processor.processor_report import ProcessorReport
from streamapp_systems.protocols import StreamSystemError, TransactionalAdmin
from streamapp_systems.registry import Systems

_LOGGER = logging.getLogger("streamapp.driver")

_ROUND_SECONDS = 1.0
_PURGE_SECONDS = 5.0
_CLOSE_SECONDS = 5.0
_COMPACTED = 100_000
"""Records by which a changelog has grown, at the least, before an embedded log compacts it again."""
_DAY = 24 * 60 * 60 * 1_000
_READ = (StreamRole.INPUT, StreamRole.INTERMEDIATE)

Reports = Callable[[], Mapping[str, ProcessorReport]]


class Maintenance:
    """The rounds of maintenance, in a thread of their own: `with Maintenance(...):`. The last one ends the block."""

    def __init__(
        self, plan: Plan, context: ExecutionContext, reports: Reports, processors: Callable[[], Collection[str]]
    ) -> None:
        """Take functions that return the latest report of each processor, and the ids of those that have tasks."""
        self._plan = plan
        self._reports = reports
        self._processors = processors
        systems = {stream.system for stream in plan.streams.values() if stream.system_kind.transactional}
        self._systems = [
            _SystemMaintenance(plan, system, context) for system in sorted({*systems, plan.default_system})
        ]
        self._threads = context.threads
        self._ending = self._threads.event()

    def __enter__(self) -> Self:
        self._working = self._threads.start("maintenance", self._work)
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._threads.wait([self._working], _CLOSE_SECONDS)

    def _work(self) -> None:
        ending = False
        while not ending:
            ending = self._ending.wait(_ROUND_SECONDS)
            positions = committed_positions(self._plan, self._reports(), self._processors())
            for system in self._systems:
                system.make_round(positions, last=ending)
        for system in self._systems:
            system.close()


def committed_positions(
    plan: Plan, reports: Mapping[str, ProcessorReport], processors: Collection[str]
) -> Mapping[Ssp, int]:
    """Return the offset of each partition below which no task reads again.

    Of a partition that one task owns it is the highest offset that was ever reported as committed: that stays true
    whoever owns the task now. A broadcast one is read by all tasks: the lowest of all processors, once all have
    reported.
    """
    reported: dict[Ssp, dict[str, int]] = {}
    for processor, report in reports.items():
        for stream, partitions in report.committed.items():
            for partition, offset in partitions.items():
                reported.setdefault(Ssp(plan.streams[stream].system, stream, partition), {})[processor] = offset
    positions = {}
    for ssp, offsets in reported.items():
        if not plan.streams[ssp.stream].broadcast:
            positions[ssp] = max(offsets.values())
        elif offsets.keys() >= set(processors):
            positions[ssp] = min(offsets.values())
    return positions


class _SystemMaintenance:
    """The maintenance of the streams of one system."""

    def __init__(self, plan: Plan, system: str, context: ExecutionContext) -> None:
        planned = [s for s in plan.streams.values() if s.system == system and s.role in _READ]
        self._system, self._spec = system, plan.app.system(system)
        self._systems, self._clock = context.systems, context.clock
        self._group = plan.app.name_prefix
        self._read = [descriptor(stream) for stream in planned]
        self._purged = [descriptor(stream) for stream in planned if _is_ours_to_purge(plan, stream)]
        self._changelog = changelog_stream(plan) if system == plan.default_system else None
        self._admin: TransactionalAdmin | None = None
        self._shown: Mapping[Ssp, int] = {}
        self._purged_at = self._clock.monotonic()
        self._compacted_end, self._compacted_left = 0, 0
        self._logged: dict[str, str] = {}

    def make_round(self, positions: Mapping[Ssp, int], *, last: bool) -> None:
        """Do what is due, in the last round everything; what fails is logged once and tried again.

        One thing that fails does not delay the others.
        """
        here = {ssp: offset for ssp, offset in positions.items() if ssp.system == self._system}
        if here != self._shown:
            self._try("positions", lambda admin: self._show(admin, here))
        if last or self._clock.monotonic() - self._purged_at >= _PURGE_SECONDS:
            self._purged_at = self._clock.monotonic()
            self._try("consumed records", lambda admin: self._purge(admin, here))

    def _try(self, what: str, work: Callable[[TransactionalAdmin], None]) -> None:
        try:
            if self._admin is None:
                self._admin = self._systems.open_transactional_admin(self._system, self._spec)
            work(self._admin)
        except StreamSystemError as error:
            if str(error) != self._logged.get(what):
                _LOGGER.warning("maintenance of system %s, %s: %s", self._system, what, error)
            self._logged[what] = str(error)
            self.close()

    def _show(self, admin: TransactionalAdmin, positions: Mapping[Ssp, int]) -> None:
        admin.publish_group_offsets(self._group, self._read, positions)
        self._shown = positions

    def close(self) -> None:
        """Release the system."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def _purge(self, admin: TransactionalAdmin, positions: Mapping[Ssp, int]) -> None:
        names = {stream.name for stream in self._purged}
        admin.delete_records(self._purged, {ssp: offset for ssp, offset in positions.items() if ssp.stream in names})
        if self._changelog is None:
            return
        end = sum(admin.end_offsets([self._changelog]).values())
        if end - self._compacted_end >= max(_COMPACTED, self._compacted_left):
            before = self._clock.time_of_day() - _DAY
            self._compacted_end, self._compacted_left = end, admin.compact(self._changelog, tombstones_before=before)


def _is_ours_to_purge(plan: Plan, stream: PlannedStream) -> bool:
    """Return whether nobody but the tasks there are reads a stream, not another app either.

    An app without state gets new tasks when its inputs grow, and these may read broadcast streams from the beginning.
    """
    ours = stream.role is StreamRole.INTERMEDIATE and not stream.shared
    return ours and (plan.stateful or not stream.broadcast)


def delete_shown_positions(plan: Plan, systems: Systems) -> None:
    """Delete the positions that an earlier run has shown; what can't be deleted is overwritten by the new run."""
    for system in sorted({s.system for s in plan.streams.values() if s.role in _READ and s.system_kind.transactional}):
        try:
            with closing(systems.open_transactional_admin(system, plan.app.system(system))) as admin:
                admin.delete_group(plan.app.name_prefix)
        except StreamSystemError as error:
            _LOGGER.warning("positions of an earlier run in system %s: %s", system, error)
