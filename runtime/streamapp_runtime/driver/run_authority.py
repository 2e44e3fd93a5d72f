"""The rights of the newest driver of an app: to activate job models, and to fence processors."""

from collections.abc import Callable, Collection
from typing import Protocol

from streamapp_core.metadata_store import MetadataStore
from streamapp_core.plan.plan import Plan
from streamapp_runtime.driver.activate_job_model import announce_epoch
from streamapp_runtime.driver.create_streams import expand_changelog
from streamapp_runtime.driver.fencing import fence_processors
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.run_record import RunRecord, save_record
from streamapp_runtime.driver.run_steps import Activate, already_active
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.run_coordinator import Coordinator


class Authority(Protocol):
    """The rights of the newest driver of an app; all others are refused."""

    def activate_job_model(self, run: PlannedRun) -> None:
        """Make the job model of this run the active one, in place of the previous one. Any thread; may be repeated.

        Raises:
            JobModelOutdatedError, VersionConflict, Superseded: another driver has activated one.
            Unavailable, CommitUnknown: try again.
        """
        ...

    def fence(self, processors: Collection[str]) -> None:
        """Fence all that has been started as these processors; what they committed is visible then. Any thread.

        Raises:
            Superseded: another driver has taken over.
            Unavailable: try again.
        """
        ...

    def save(self, record: RunRecord) -> None:
        """Save the run's record: another start would continue from it.

        Raises:
            Superseded: another driver has taken over.
        """
        ...


def _nothing_to_check() -> None:
    return None


class RunAuthority:
    """The authority of the driver of one epoch of a run."""

    def __init__(
        self,
        record: RunRecord,
        plan: Plan,
        store: MetadataStore,
        context: ExecutionContext,
        *,
        check: Callable[[], None] = _nothing_to_check,
        activate: Activate = already_active,
    ) -> None:
        """Take the run.

        `check` raises `Superseded` if it knows of another driver. `activate` makes a job model the active one, where
        nobody else has done so before the driver gets it.
        """
        self._record = record
        self._plan = plan
        self._store = store
        self._context = context
        self._check = check
        self._activate = activate
        self._coordinator = Coordinator(plan.app, plan.default_system, context.systems)

    def activate_job_model(self, run: PlannedRun) -> None:
        """See `Authority.activate_job_model`. New tasks find their partitions of the changelog."""
        self._check()
        expand_changelog(run, self._context.systems)
        self._activate(run.model)
        announce_epoch(self._record, run, self._context)

    def fence(self, processors: Collection[str]) -> None:
        """See `Authority.fence`."""
        self._check()
        self._coordinator.raise_if_superseded(self._record.epoch)
        fence_processors(processors, self._plan, self._record.epoch, self._context.systems)

    def save(self, record: RunRecord) -> None:
        """See `Authority.save`."""
        save_record(self._store, record)
