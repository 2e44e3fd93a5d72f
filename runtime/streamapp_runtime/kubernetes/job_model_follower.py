"""Follows the documents of the Kubernetes operator: the launch of this epoch, and its job models (design 6, 10)."""

from dataclasses import dataclass

from streamapp_core.deployment.app_record import EpochOutdatedError, Launch, read_launch
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_shards import POINTER, read_pointer
from streamapp_core.job_model.stored_job_model import read_job_model
from streamapp_core.metadata_store import MetadataStore
from streamapp_core.plan.planner import plan as make_plan
from streamapp_core.spec.parse import parse_text
from streamapp_runtime.driver.prepare import PreparedRun
from streamapp_runtime.driver.supported_features import check_supported
from streamapp_runtime.errors import PlanRefused, Superseded
from streamapp_systems.expansion_algorithms import installed_algorithm


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What this driver is to run: its launch, and the text of the resource."""

    launch: Launch
    text: str


class Follower:
    """Reads what is in force for one epoch; the rest of the app's documents is none of its business."""

    def __init__(self, store: MetadataStore, epoch: int) -> None:
        self._store = store
        self._epoch = epoch
        self._seen: tuple[int, int] | None = None

    def launched(self) -> Launched:
        """Read the launch of this epoch.

        Raises:
            EpochOutdatedError: another epoch is in force.
            DocumentUnreadableError: the record can't be read.
        """
        launch, text = read_launch(self._store, self._epoch)
        return Launched(launch=launch, text=text)

    def check(self) -> None:
        """Go on only while this epoch is in force.

        Raises:
            Superseded: another one is.
        """
        try:
            self.launched()
        except EpochOutdatedError as outdated:
            raise Superseded(str(outdated)) from outdated

    def newer_model(self) -> JobModel | None:
        """Give the job model in force if it is of this epoch and none has been given out as new.

        Only the small pointer is read as long as nothing changes.

        Raises:
            EpochOutdatedError: the job model of a later epoch is in force.
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


def prepared_run(launched: Launched, model: JobModel) -> PreparedRun:
    """Plan what was launched under a job model: the plan that the Kubernetes operator made it from.

    Raises:
        PlanRefused: it has problems: the image is of another release than the Kubernetes operator.
        NotSupported: it needs more than this release has.
    """
    launch = launched.launch
    result = make_plan(
        parse_text(launched.text), launch.counts, model, run_id=launch.run_id, algorithms=installed_algorithm
    )
    if result.plan is None:
        raise PlanRefused(result.problems)
    check_supported(result.plan)
    return PreparedRun(plan=result.plan, model=model, counts=launch.counts)
