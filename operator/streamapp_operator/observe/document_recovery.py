"""Documents of an app that somebody removed or damaged: what takes their place (design 6, what may be lost).

The job model has a second copy, in the coordinator stream. A record is made anew for the run of the job model: the spec
is judged again, and epochs go on from the highest that anybody knows of. Without a job model nothing is made up.
"""

from collections.abc import Callable
from dataclasses import dataclass

from streamapp_core.deployment.app_record import AppRecord
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_errors import JobModelDamagedError, JobModelTooNewError, JobModelUnreadableError
from streamapp_core.job_model.job_model_shards import read_pointer
from streamapp_core.job_model.stored_job_model import StoredJobModel
from streamapp_core.metadata_store import ABSENT, Versioned
from streamapp_operator.observe.resource_views import AppResource
from streamapp_systems.protocols import StreamSystemError


@dataclass(frozen=True, slots=True, kw_only=True)
class Announced:
    """What the coordinator stream of an app has: the job model of its newest driver, and that driver's epoch."""

    model: JobModel
    epoch: int


AskAnnounced = Callable[[AppResource], Announced | None]
"""Reads a coordinator stream; None: there is nothing in it, or it is where only the app's pods get to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The documents that are there; `trouble` says why one that is there can't be read."""

    record: AppRecord | None
    model: StoredJobModel | None
    pointer: Versioned | None
    trouble: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What the app lacks: `why` it can't go on, or the job model to put in the place of the one that is lost."""

    why: str | None = None
    restorable: StoredJobModel | None = None


def loss(app: AppResource, found: Found, ask: AskAnnounced) -> Loss | None:
    """Tell what an app lacks of its documents; None: nothing that would not be made anew."""
    runs = _runs(app, found.record)
    if found.model is not None:
        alone = found.record is None and runs and found.model.model.run_id not in runs
        return Loss(why=_gone(runs)) if alone else None
    if not _had_model(app, found):
        return None if found.trouble is None else Loss(why=found.trouble)
    why = found.trouble or _gone(runs)
    try:
        pointer_epoch = _epoch(found.pointer)
        announced = ask(app)
    except JobModelTooNewError:
        return Loss(why=why)
    except (StreamSystemError, JobModelUnreadableError) as error:
        return Loss(why=f"{why}; the coordinator stream, which has a copy, can't be read: {error}")
    if announced is None or (runs and announced.model.run_id not in runs):
        return Loss(why=why)
    return Loss(
        restorable=StoredJobModel(
            model=_newer(app, announced.model),
            epoch=max(announced.epoch, pointer_epoch),
            pointer_version=ABSENT if found.pointer is None else found.pointer.version,
        )
    )


def newest_epoch(app: AppResource, *others: int) -> int:
    """Give the highest epoch that the status or somebody else knows of; 0 if there has been none."""
    return max((int(app.status.get("driver", {}).get("epoch", 0)), *others))


def _runs(app: AppResource, record: AppRecord | None) -> frozenset[str]:
    if record is None:
        return frozenset(str(run) for run in [app.status.get("runId")] if run is not None)
    return frozenset({record.accepted.run_id} | ({record.launch.run_id} if record.launch is not None else set()))


def _had_model(app: AppResource, found: Found) -> bool:
    """Tell whether there was a job model: a pointer without its shards, or what the record or the status says."""
    if found.pointer is not None:
        return True
    if found.record is None:
        return app.status.get("runId") is not None
    return found.record.launch is not None and bool(app.status.get("plan"))


def _newer(app: AppResource, model: JobModel) -> JobModel:
    """Give a job model a version that is newer than any its driver may have read."""
    written = int(app.status.get("plan", {}).get("jobModelVersion", 0))
    return model.model_copy(update={"version": max(model.version, written) + 1})


def _epoch(pointer: Versioned | None) -> int:
    """Tell of which epoch a pointer is; 0 if nobody can tell.

    Raises:
        JobModelTooNewError: a later release wrote it, and nothing is lost.
    """
    try:
        return 0 if pointer is None else read_pointer(pointer.value).epoch
    except JobModelDamagedError:
        return 0


def _gone(runs: frozenset[str]) -> str:
    return (
        f"the documents of run {', '.join(sorted(runs))} are gone, and without them keys would move away from their "
        "state; restore the app's ConfigMaps from a backup, or set a new `spec.runId` to start from nothing"
    )
