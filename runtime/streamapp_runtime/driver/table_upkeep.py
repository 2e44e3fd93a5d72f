"""The upkeep of the tables that an app writes, in a thread of the driver.

Their small files are joined, and files that nobody needs any more are removed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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

    from streamapp_systems.delta import DeltaVacuum
    from streamapp_systems.tables import FileJoiner

_AT_ONCE = 100
"""Files that are removed between two looks at whether the driver ends."""
_WHAT = {
    NoticeReason.TABLE_NOT_COMPACTED: "small files of the table of stream {} were not joined",
    NoticeReason.TABLE_NOT_VACUUMED: "files that the table of stream {} needs no more were not removed",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Chore:
    stream: str
    failure: NoticeReason
    """What a failure is."""
    seconds: float
    """How long after one time the next one follows."""
    open: Callable[[], Callable[[], None]]
    """Opens what does it."""

    def notice(self, why: str) -> RunNotice:
        return RunNotice(reason=self.failure, message=f"{_WHAT[self.failure].format(self.stream)}: {why}")


class TableUpkeep(BackgroundWork):
    """Keeps tables up as often as the spec says: `with TableUpkeep(...) as upkeep:`.

    Nothing depends on it: what fails is tried again at the next time. A driver that dies in between leaves files that
    no version of the table has.
    """

    def __init__(self, plan: Plan, context: ExecutionContext) -> None:
        """Start nothing yet."""
        super().__init__("upkeep", context.threads)
        self._systems = context.systems
        self._clock = context.clock.monotonic
        self._chores: list[_Chore] = []
        for stream in plan.streams.values():
            system = plan.app.spec.systems[stream.system]
            if stream.role is StreamRole.OUTPUT and system.tables is not None:
                self._add(stream.name, system, output_descriptor(stream))
        self._failures: Mapping[_Chore, str] = {}

    @property
    def notices(self) -> tuple[RunNotice, ...]:
        """The tables whose upkeep has failed the last time, and why."""
        failed = sorted(self._failures.items(), key=lambda failure: (failure[0].stream, failure[0].failure))
        return tuple(chore.notice(why) for chore, why in failed)

    def _add(self, stream: str, system: SystemSpec, table: StreamDescriptor) -> None:
        compact = None if system.tables is None else system.tables.compact_every
        vacuum = None if system.delta is None else system.delta.vacuum_every
        if compact is not None:
            joining = partial(self._open_joining, system, table)
            self._chores.append(_Chore(stream, NoticeReason.TABLE_NOT_COMPACTED, compact / 1_000, joining))
        if vacuum is not None:
            removal = partial(self._open_removal, system, table)
            self._chores.append(_Chore(stream, NoticeReason.TABLE_NOT_VACUUMED, vacuum / 1_000, removal))

    def _has_work(self) -> bool:
        return bool(self._chores)

    def _work(self) -> None:
        due = dict.fromkeys(self._chores, self._clock())
        opened: dict[_Chore, Callable[[], None]] = {}
        while not self._ending.is_set():
            chore = min(due, key=due.__getitem__)
            if self._ending.wait(max(0.0, due[chore] - self._clock())):
                return
            others = {other: why for other, why in self._failures.items() if other is not chore}
            try:
                if chore not in opened:
                    opened[chore] = chore.open()
                opened[chore]()
            except StreamSystemError as error:
                self._failures = {**others, chore: f"{error}; tried again after {chore.seconds:.0f} s"}
            else:
                self._failures = others
            due[chore] = self._clock() + chore.seconds

    def _open_joining(self, system: SystemSpec, table: StreamDescriptor) -> Callable[[], None]:
        return partial(self._join, self._systems.open_file_joiner(system, table))

    def _open_removal(self, system: SystemSpec, table: StreamDescriptor) -> Callable[[], None]:
        return partial(self._remove, self._systems.open_vacuum(system, table))

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

    def _remove(self, vacuum: "DeltaVacuum") -> None:
        """Remove what is needed no more; a death in it leaves the rest for a later time."""
        found = vacuum.look()
        for start in range(0, len(found), _AT_ONCE):
            if self._ending.is_set():
                return
            vacuum.remove(found[start : start + _AT_ONCE])
