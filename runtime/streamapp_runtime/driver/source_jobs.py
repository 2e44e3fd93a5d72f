"""The jobs of Spark that read sources, one after the other, in a thread of the driver."""

from typing import TYPE_CHECKING

from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_core.plan.plan import Plan, StreamRole
from streamapp_runtime.driver.background_work import BackgroundWork
from streamapp_runtime.driver.spark_process import Stopped
from streamapp_runtime.driver.stage_source import SourceStager
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.processor.processor_report import RunNotice
from streamapp_systems.protocols import StreamSystemError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

_RETRY_SECONDS = 30.0


class SourceJobs(BackgroundWork):
    """Reads the sources of an app as often as its spec says: `with SourceJobs(...) as jobs:`.

    A source that has never been read must be readable; later, a job that fails is tried again, and nothing is lost.
    """

    def __init__(self, plan: Plan, context: ExecutionContext) -> None:
        """Start nothing yet."""
        super().__init__("sources", context.threads)
        systems = plan.app.spec.systems
        roles = (StreamRole.SIDE_INPUT, StreamRole.INPUT)
        read = [s for role in roles for s in plan.streams.values() if s.role is role]
        self._sources = [s for s in read if systems[s.system].spark is not None]
        self._unread = {s.name for s in self._sources if s.role is StreamRole.SIDE_INPUT}
        self._plan, self._context = plan, context
        self._clock = context.clock.monotonic
        self._failures: Mapping[str, str] = {}

    @property
    def ready(self) -> bool:
        """Whether every source that is a side input has been read once: tables begin with its rows."""
        return not self._unread

    @property
    def notices(self) -> tuple[RunNotice, ...]:
        """The sources whose last job has failed, and why."""
        return tuple(
            RunNotice(reason=NoticeReason.SOURCE_NOT_READ, message=f"stream {name} gets no new rows: {why}")
            for name, why in sorted(self._failures.items())
        )

    def _has_work(self) -> bool:
        return bool(self._sources)

    def _work(self) -> None:
        due = {SourceStager(self._plan, stream, self._context): 0.0 for stream in self._sources}
        while due and not self._ending.is_set():
            stager = min(due, key=due.__getitem__)
            if self._ending.wait(max(0.0, due[stager] - self._clock())):
                return
            again = self._stage(stager)
            del due[stager]
            if again is not None:
                due[stager] = self._clock() + again

    def _stage(self, stager: SourceStager) -> float | None:
        """Read a source; return after how many seconds it is read again, None if never."""
        others = {name: why for name, why in self._failures.items() if name != stager.name}
        try:
            stager.stage(self._ending)
        except Stopped:
            return None
        except StreamSystemError as error:
            if not stager.has_read and not isinstance(error, Unavailable):
                raise StreamSystemError(f"stream {stager.name}: {error}") from error
            seconds = _RETRY_SECONDS if stager.every is None else min(_RETRY_SECONDS, stager.every)
            self._failures = {**others, stager.name: f"{error}; tried again every {seconds:.0f} s"}
            if stager.has_read:
                self._unread.discard(stager.name)
            return seconds
        self._failures = others
        self._unread.discard(stager.name)
        return stager.every
