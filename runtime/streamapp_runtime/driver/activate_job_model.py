"""The activation of a job model: stored by compare-and-set, and announced in the coordinator stream."""

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_shards import POINTER
from streamapp_core.job_model.stored_job_model import write_job_model
from streamapp_core.metadata_store import ABSENT, MetadataStore
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.driver.run_record import RunRecord, driver_record
from streamapp_runtime.execution_context import ExecutionContext
from streamapp_runtime.run_coordinator import Coordinator


def activate_job_model(store: MetadataStore, model: JobModel, epoch: int) -> None:
    """Make a job model the active one; only the driver that holds the lock of the run's folder may.

    Raises:
        JobModelOutdatedError: a newer one is active.
    """
    active = store.get(POINTER)
    write_job_model(store, model, epoch=epoch, expected=ABSENT if active is None else active.version)


def announce_epoch(record: RunRecord, run: PlannedRun, context: ExecutionContext) -> None:
    """Write to the coordinator stream that this driver is the newest, and which job model is active.

    Raises:
        Superseded: a later driver has announced itself.
    """
    coordinator = Coordinator(run.plan.app, run.plan.default_system, context.systems)
    coordinator.announce(driver_record(record), run.model, context.clock)
