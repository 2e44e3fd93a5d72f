"""The upkeep of the tables that an app writes, in a thread of the driver: their small files are joined."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_core.spec.systems import SystemSpec
from streamapp_runtime.app_streams import output_descriptor
from streamapp_runtime.driver.background_work import BackgroundWork
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.fail_points import FailPoint, fail_point
from streamapp_runtime.processor.processor_report import RunNotice
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamapp_systems.tables import FileJoiner


@dataclass(frozen=True, slots=True)
class _KeptTable:
    name: str
    system: SystemSpec
    table: StreamDescriptor
    seconds: float
    """How long after one look the next one follows."""


class TableUpkeep(BackgroundWork):
    """Joins small files of tables as often as the spec says: `with TableUpkeep(...) as upkeep:`.

    Nothing depends on it: what fails is tried again at the next time. A driver that dies in between leaves files that
    no version of the table has.
    """

    def __init__(self, plan: Plan, context: ExecutionContext) -> None:
        """Start nothing yet."""
        super().__init__("upkeep", context.threads)
        self._kept = []
        for stream in plan.streams.values():
            system = plan.app.spec.systems[stream.system]
            every = None if system.tables is None else system.tables.compact_every
            if stream.role is StreamRole.OUTPUT and every is not None:
                self._kept.append(_KeptTable(stream.name, system, output_descriptor(stream), every / 1_000))
        self._systems = context.systems
        self._clock = context.clock.monotonic
        self._failures: Mapping[str, str] = {}

    @property
    def notices(self) -> tuple[RunNotice, ...]:
        """The tables whose upkeep has failed the last time, and why."""
        return tuple(
            RunNotice(
                reason=NoticeReason.TABLE_NOT_COMPACTED,
                message=f"small files of the table of stream {name} were not joined: {why}",
            )
            for name, why in sorted(self._failures.items())
        )

    def _has_work(self) -> bool:
        return bool(self._kept)

    def _work(self) -> None:
        due = dict.fromkeys(self._kept, self._clock())
        joiners: dict[str, FileJoiner] = {}
        while not self._ending.is_set():
            kept = min(due, key=due.__getitem__)
            if self._ending.wait(max(0.0, due[kept] - self._clock())):
                return
            others = {name: why for name, why in self._failures.items() if name != kept.name}
            try:
                if kept.name not in joiners:
                    joiners[kept.name] = self._systems.open_file_joiner(kept.system, kept.table)
                self._join(joiners[kept.name])
            except StreamSystemError as error:
                self._failures = {**others, kept.name: f"{error}; tried again after {kept.seconds:.0f} s"}
            else:
                self._failures = others
            due[kept] = self._clock() + kept.seconds

    def _join(self, joiner: "FileJoiner") -> None:
        """Join what is worth it; where others have changed the files meanwhile, that waits for the next time."""
        committed = True
        while committed and not self._ending.is_set():
            with fail_point(FailPoint.UPKEEP_WRITE):
                joined = joiner.write()
            if joined is None:
                return
            with fail_point(FailPoint.UPKEEP_COMMIT):
                committed = joiner.commit(joined)
