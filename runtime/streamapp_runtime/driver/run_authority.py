"""What only the newest driver of an app may do."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan
from streamapp_runtime.app_streams import transaction_owner
from streamapp_runtime.driver.prepare import PreparedRun, expand_changelog, fence
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.takeover import announce
from streamapp_runtime.run_coordinator import Coordinator


class Authority(Protocol):
    """What only the newest driver of an app may do."""

    def put_in_force(self, prepared: PreparedRun) -> None:
        """Let this job model follow the one in force.

        Raises:
            JobModelOutdatedError, VersionConflict, Superseded: another driver has put one in force.
        """
        ...

    def fence(self, processors: Collection[str]) -> None:
        """Shut out all that has been started as these processors; what they committed is visible then. Any thread.

        Raises:
            Superseded: another driver has taken over.
            Unavailable: try again.
        """
        ...


def _nothing_to_check() -> None:
    return None


def _in_force_already(_: JobModel) -> None:
    return None


class RunAuthority:
    """The authority of the driver of one epoch of a run."""

    def __init__(
        self,
        record: RunRecord,
        plan: Plan,
        folder: Path,
        *,
        check: Callable[[], None] = _nothing_to_check,
        put_in_force: Callable[[JobModel], None] = _in_force_already,
    ) -> None:
        """Take the run; relative paths of the spec resolve from `folder`.

        `check` raises `Superseded` if it knows of another driver. `put_in_force` lets a job model follow the one in
        force, where nobody else has done so before this driver hears of it.
        """
        self._record = record
        self._plan = plan
        self._folder = folder
        self._check = check
        self._put_in_force = put_in_force
        self._coordinator = Coordinator(plan.app, plan.default_system, folder)

    def put_in_force(self, prepared: PreparedRun) -> None:
        """See `Authority.put_in_force`. New tasks find their partitions of the changelog."""
        self._check()
        expand_changelog(prepared, self._folder)
        self._put_in_force(prepared.model)
        announce(self._record, prepared, self._folder)

    def fence(self, processors: Collection[str]) -> None:
        """See `Authority.fence`."""
        self._check()
        epoch = self._record.epoch
        self._coordinator.raise_if_superseded(epoch)
        owners = [transaction_owner(self._plan, processor, epoch) for processor in sorted(processors)]
        fence(self._plan.app, [self._plan.default_system], owners, self._folder)
