"""The documents that the Kubernetes operator writes for a driver: the launch of its epoch, and its job models."""

from contextlib import suppress
from dataclasses import dataclass

from streamapp_core.deployment.app_record import EpochOutdatedError, Launch, read_launch
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_shards import POINTER, read_pointer
from streamapp_core.job_model.stored_job_model import read_job_model
from streamapp_core.metadata_store import MetadataStore
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.plan_run import PlannedRun
from streamapp_runtime.errors import PlanRefused, Superseded
from streamapp_runtime.kubernetes.api_server_calls import FAILED_CALLS
from streamapp_systems.expansion_algorithms import installed_algorithm


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedApp:
    """The app that a driver is to run: its launch, and the text of the resource."""

    launch: Launch
    text: str


_OTHER_RELEASE = (
    "the Kubernetes operator has accepted this spec, and this image can't run it: it is of another release. "
    "Set `image` to one of the operator's release, or leave out what this one does not know"
)


class JobModelFollower:
    """Reads the launch and the job models of one epoch."""

    def __init__(self, store: MetadataStore, epoch: int) -> None:
        self._store = store
        self._epoch = epoch
        self._seen: tuple[int, int] | None = None

    def read_launched(self) -> LaunchedApp:
        """Read the launch of this epoch.

        Raises:
            EpochOutdatedError: another epoch is active.
            DocumentUnreadableError: the record can't be read.
        """
        launch, text = read_launch(self._store, self._epoch)
        return LaunchedApp(launch=launch, text=text)

    def check(self) -> None:
        """Check that this epoch is the active one, as far as the API server can be asked.

        Where it can't, the coordinator stream is left to say so: whoever takes over announces itself there first.

        Raises:
            Superseded: another one is.
        """
        try:
            with suppress(*FAILED_CALLS):
                self.read_launched()
        except EpochOutdatedError as outdated:
            raise Superseded(str(outdated)) from outdated

    def newer_model(self) -> JobModel | None:
        """Return the active job model if it is of this epoch and was not returned before.

        Only the small pointer is read as long as nothing changes.

        Raises:
            EpochOutdatedError: the job model of a later epoch is active.
            JobModelUnreadableError: it is damaged, or a later release wrote it.
        """
        entry = self._store.get(POINTER)
        if entry is None:
            return None
        pointer = read_pointer(entry.value)
        if pointer.epoch > self._epoch:
            raise EpochOutdatedError(self._epoch, pointer.epoch)
        if pointer.epoch < self._epoch or (pointer.epoch, pointer.version) == self._seen:
            return None
        stored = read_job_model(self._store)
        if stored is None or stored.epoch != self._epoch:
            return None
        self._seen = stored.epoch, stored.model.version
        return stored.model


def plan_launched(launched: LaunchedApp, model: JobModel) -> PlannedRun:
    """Plan the app under a job model: the result is the plan that the Kubernetes operator built it from.

    Raises:
        PlanRefused: it has problems: the image is of another release than the Kubernetes operator.
    """
    launch = launched.launch
    result = make_plan(
        parse_text(launched.text), launch.counts, model, run_id=launch.run_id, algorithms=installed_algorithm
    )
    if result.plan is None:
        raise PlanRefused(result.problems, _OTHER_RELEASE)
    return PlannedRun(plan=result.plan, model=model, counts=launch.counts)
