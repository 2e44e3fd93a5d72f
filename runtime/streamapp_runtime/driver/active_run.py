"""The run that an app has, whether it goes on or not."""

from contextlib import closing
from pathlib import Path

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.stored_job_model import read_job_model
from streamapp_core.plan.delivery import default_system
from streamapp_core.spec.app import StreamApp
from streamapp_runtime.driver.run_folder import METADATA
from streamapp_runtime.driver.run_record import load_record
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.run_coordinator import Coordinator
from streamapp_systems.metadata.sqlite import SqliteMetadataStore
from streamapp_systems.registry import Systems


def find_metadata(app: StreamApp, state: Path) -> Path:
    """Return the metadata of the run that an app has in its folder `state`.

    Raises:
        RuntimeFailure: there is no run here.
    """
    metadata = state / METADATA
    if not metadata.exists():
        raise RuntimeFailure(f"{state}: no run of {app.metadata.name} here; --state-dir says where one keeps its state")
    return metadata


def read_active_model(app: StreamApp, state: Path) -> JobModel:
    """Read the job model of the run that an app has in its folder `state`. A driver may be at work there.

    Raises:
        RuntimeFailure: there is no run here, or it has not begun.
        JobModelUnreadableError: the run's job model is lost.
    """
    with closing(SqliteMetadataStore(find_metadata(app, state))) as store:
        record, stored = load_record(store), read_job_model(store)
    if record is None or stored is None or not record.prepared:
        raise RuntimeFailure(f"{state}: the run of {app.metadata.name} has not begun")
    return stored.model


def find_job_model(app: StreamApp, systems: Systems) -> JobModel:
    """Read the job model of the run that an accepted app has, on this machine, elsewhere or on Kubernetes.

    Raises:
        RuntimeFailure: there is no run.
        JobModelUnreadableError: the run's job model is lost.
        StreamSystemError: the system of the changelog can't be read.
    """
    default = default_system(app.spec)
    assert default is not None
    coordinator = Coordinator(app, default, systems)
    model = coordinator.job_model()
    if model is None:
        raise RuntimeFailure(
            f"there is no run: system {default} has no job model in {coordinator.stream.address}. The name begins with "
            "spec.namePrefix, else with metadata.namespace: an app of Kubernetes is found if its file has it"
        )
    return model
