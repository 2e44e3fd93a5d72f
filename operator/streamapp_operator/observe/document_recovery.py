"""Recovery of an app's documents that somebody removed or damaged (docs/operator.md).

The job model has a copy in the coordinator stream. A lost record is recreated for the run of the job model: the spec
is planned again, and epochs continue from the highest known one. A job model without a copy is not replaced.
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
class JobModelBackup:
    """The copy in the coordinator stream of an app: the job model of its newest driver, and that driver's epoch."""

    model: JobModel
    epoch: int


ReadBackup = Callable[[AppResource], JobModelBackup | None]
"""Reads a coordinator stream; None: it is empty, or only the app's pods can reach it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDocuments:
    """The documents of a run that exist and can be read; `unreadable` says why one that exists can't be read.

    `foreign` says that the job model's pointer is another writer's: its versions say nothing.
    """

    record: AppRecord | None
    model: StoredJobModel | None
    pointer: Versioned | None
    unreadable: str | None
    foreign: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecovery:
    """The result for missing documents: the job model to write back, or why the app can't run without them."""

    recovered_model: StoredJobModel | None = None
    unrecoverable: str | None = None


def recover_documents(app: AppResource, documents: RunDocuments, read_backup: ReadBackup) -> DocumentRecovery:
    """Find the job model that replaces a lost one; both fields are None if the app needs no other documents."""
    runs = _known_runs(app, documents.record)
    if documents.model is not None:
        of_another_run = documents.record is None and runs and documents.model.model.run_id not in runs
        return DocumentRecovery(unrecoverable=_missing_message(runs) if of_another_run else None)
    if documents.foreign is not None or not _had_job_model(app, documents):
        return DocumentRecovery(unrecoverable=documents.foreign or documents.unreadable)
    reason = documents.unreadable or _missing_message(runs)
    try:
        pointer_epoch = _pointer_epoch(documents.pointer)
        backup = read_backup(app)
    except JobModelTooNewError:
        return DocumentRecovery(unrecoverable=reason)
    except (StreamSystemError, JobModelUnreadableError) as error:
        return DocumentRecovery(
            unrecoverable=f"{reason}; the coordinator stream, which has a copy, can't be read: {error}"
        )
    if backup is None or (runs and backup.model.run_id not in runs):
        return DocumentRecovery(unrecoverable=reason)
    return DocumentRecovery(
        recovered_model=StoredJobModel(
            model=_raise_version(app, backup.model),
            epoch=max(backup.epoch, pointer_epoch),
            pointer_version=ABSENT if documents.pointer is None else documents.pointer.version,
        )
    )


def highest_epoch(app: AppResource, *others: int) -> int:
    """Return the highest of the epoch in the status and others; 0 if there has been none."""
    return max((int(app.status.get("driver", {}).get("epoch", 0)), *others))


def _known_runs(app: AppResource, record: AppRecord | None) -> frozenset[str]:
    if record is None:
        return frozenset(str(run) for run in [app.status.get("runId")] if run is not None)
    return frozenset({record.accepted.run_id} | ({record.launch.run_id} if record.launch is not None else set()))


def _had_job_model(app: AppResource, documents: RunDocuments) -> bool:
    """Return whether there was a job model: there is a pointer without shards, or record or status say so."""
    if documents.pointer is not None:
        return True
    if documents.record is None:
        return app.status.get("runId") is not None
    return documents.record.launch is not None and bool(app.status.get("plan"))


def _raise_version(app: AppResource, model: JobModel) -> JobModel:
    """Raise the version of a job model above all that its driver may have read."""
    written = int(app.status.get("plan", {}).get("jobModelVersion", 0))
    return model.model_copy(update={"version": max(model.version, written) + 1})


def _pointer_epoch(pointer: Versioned | None) -> int:
    """Return the epoch in a pointer; 0 if it can't be read.

    Raises:
        JobModelTooNewError: a later release wrote it, and nothing is lost.
    """
    try:
        return 0 if pointer is None else read_pointer(pointer.value).epoch
    except JobModelDamagedError:
        return 0


def _missing_message(runs: frozenset[str]) -> str:
    return (
        f"the documents of run {', '.join(sorted(runs))} are gone, and without them keys would move away from their "
        "state; restore the app's ConfigMaps from a backup, or set a new `spec.runId` to start from nothing"
    )
