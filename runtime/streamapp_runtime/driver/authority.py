"""What only the newest driver of an app may do, on this machine: see `Authority`."""

from collections.abc import Callable, Collection
from pathlib import Path

from streamapp_core.metadata.store import MetadataStore
from streamapp_core.plan.model import Plan
from streamapp_runtime.coordinator import Coordinator
from streamapp_runtime.driver.prepare import PreparedRun, expand_changelog, fence
from streamapp_runtime.driver.records import RunRecord, driver_record
from streamapp_runtime.driver.start import put_in_force
from streamapp_runtime.streams import transactional


class RunAuthority:
    """The authority of the driver that holds a run's folder."""

    def __init__(
        self, record: RunRecord, plan: Plan, store: MetadataStore, folder: Path, time_of_day: Callable[[], int]
    ) -> None:
        """Take the run; relative paths of the spec resolve from `folder`, times are milliseconds since 1970."""
        self._record = record
        self._plan = plan
        self._store = store
        self._folder = folder
        self._time_of_day = time_of_day
        self._coordinator = Coordinator(plan.app, plan.default_system, folder)

    def put_in_force(self, prepared: PreparedRun) -> None:
        """See `Authority.put_in_force`. New tasks find their partitions of the changelog."""
        expand_changelog(prepared, self._folder)
        put_in_force(self._store, prepared.model, self._record.epoch)
        self._coordinator.announce(driver_record(self._record), prepared.model, self._time_of_day())

    def fence(self, processors: Collection[str]) -> None:
        """See `Authority.fence`."""
        epoch = self._record.epoch
        self._coordinator.check(epoch)
        owners = [transactional(self._plan, processor, epoch) for processor in sorted(processors)]
        fence(self._plan.app, [self._plan.default_system], owners, self._folder)
