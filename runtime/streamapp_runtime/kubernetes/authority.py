"""What only the newest driver of an app may do, where the Kubernetes operator decides who that is: see `Authority`."""

from collections.abc import Callable, Collection
from pathlib import Path

from streamapp_core.deployment.record import EpochOutdatedError
from streamapp_core.plan.model import Plan
from streamapp_runtime.coordinator import Coordinator
from streamapp_runtime.driver.prepare import PreparedRun, expand_changelog, fence
from streamapp_runtime.driver.records import RunRecord, driver_record
from streamapp_runtime.errors import Superseded
from streamapp_runtime.kubernetes.following import Follower
from streamapp_runtime.streams import transactional


class LaunchAuthority:
    """The authority of the driver of one launch: the job models it goes by are in force before it knows of them."""

    def __init__(
        self, record: RunRecord, plan: Plan, follower: Follower, folder: Path, time_of_day: Callable[[], int]
    ) -> None:
        """Take the run; relative paths of the spec resolve from `folder`, times are milliseconds since 1970."""
        self._record = record
        self._plan = plan
        self._follower = follower
        self._folder = folder
        self._time_of_day = time_of_day
        self._coordinator = Coordinator(plan.app, plan.default_system, folder)

    def put_in_force(self, prepared: PreparedRun) -> None:
        """See `Authority.put_in_force`. New tasks find their partitions of the changelog."""
        self._check_launch()
        expand_changelog(prepared, self._folder)
        self._coordinator.announce(driver_record(self._record), prepared.model, self._time_of_day())

    def fence(self, processors: Collection[str]) -> None:
        """See `Authority.fence`."""
        self._check_launch()
        self._coordinator.check(self._record.epoch)
        owners = [transactional(self._plan, processor, self._record.epoch) for processor in sorted(processors)]
        fence(self._plan.app, [self._plan.default_system], owners, self._folder)

    def _check_launch(self) -> None:
        try:
            self._follower.launched()
        except EpochOutdatedError as outdated:
            raise Superseded(str(outdated)) from outdated
