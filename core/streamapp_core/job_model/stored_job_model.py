"""Job models in a metadata store: written so that a reader, or a crash at any point, finds one whole model.

Shards are written first, then the pointer switches by compare-and-set, then shards that nothing names are removed.

Removing is safe with several writers. A writer removes only shards that it saw before it switched the pointer, at the
version it saw them. A writer that switches the pointer later has read the pointer after that, and written its own
shards even later; they have other names, or, written again, other versions.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_errors import (
    JobModelDamagedError,
    JobModelOutdatedError,
    JobModelUnreadableError,
)
from streamapp_core.job_model.job_model_shards import (
    POINTER,
    SHARD_BYTES,
    SHARD_PREFIX,
    JobModelDocuments,
    Pointer,
    check_size,
    read_pointer,
    read_shards,
)
from streamapp_core.metadata_store import ABSENT, MetadataStore, VersionConflict


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredJobModel:
    """A job model, the epoch it was written in, and the version of its pointer, for the next compare-and-set."""

    model: JobModel
    epoch: int
    pointer_version: int


def read_job_model(store: MetadataStore) -> StoredJobModel | None:
    """Return the active job model; None if there is none.

    Raises:
        JobModelDamagedError: a document is missing, damaged or of another model.
        JobModelTooNewError: a later release wrote it.
    """
    entry = store.get(POINTER)
    while entry is not None:
        pointer = read_pointer(entry.value)
        try:
            model = read_shards(pointer, _read_named(store, pointer))
        except JobModelUnreadableError:
            newer = store.get(POINTER)
            if newer == entry:
                raise
            entry = newer  # a writer removed the shards of the previous model
        else:
            return StoredJobModel(model=model, epoch=pointer.epoch, pointer_version=entry.version)
    return None


def write_job_model(
    store: MetadataStore, model: JobModel, *, epoch: int, expected: int, shard_bytes: int = SHARD_BYTES
) -> int:
    """Make a job model the active one and return the new version of its pointer. Writing the same again does no harm.

    Args:
        store: where the app's documents are.
        model: the new model.
        epoch: that of the driver that uses it.
        expected: the version of the pointer that `model` was decided from (`ABSENT`: there was none).
        shard_bytes: the largest size of a shard.

    Raises:
        VersionConflict: another writer was first; this model is not active.
        JobModelOutdatedError: the active model is newer, or another one of the same epoch and version.
        JobModelTooNewError: a later release wrote the active model.
    """
    documents = JobModelDocuments.of(model, epoch=epoch, shard_bytes=shard_bytes)
    _check_active(store, documents, expected)
    previous = {} if expected == ABSENT else store.all(SHARD_PREFIX)
    for name, shard in documents.shards.items():
        store.put(name, shard)
    store.flush()
    version = store.put(POINTER, documents.pointer, expected)
    store.flush()
    for name, entry in previous.items():
        if name not in documents.shards:
            with suppress(VersionConflict):
                store.delete(name, entry.version)
    return version


def _read_named(store: MetadataStore, pointer: Pointer) -> Mapping[str, bytes]:
    """Return the shards that a pointer names, as far as they exist."""
    shards: dict[str, bytes] = {}
    size = 0
    for name in dict.fromkeys(pointer.shards):
        shard = store.get(name)
        if shard is not None:
            size += len(shard.value)
            check_size(pointer, size)
            shards[name] = shard.value
    return shards


def _check_active(store: MetadataStore, documents: JobModelDocuments, expected: int) -> None:
    entry = store.get(POINTER)
    found = ABSENT if entry is None else entry.version
    if found != expected:
        raise VersionConflict(POINTER, expected, found)
    if entry is None:
        return
    try:
        active = read_pointer(entry.value)
    except JobModelDamagedError:
        return
    new = read_pointer(documents.pointer)
    order = (new.epoch, new.version), (active.epoch, active.version)
    if order[0] < order[1] or (order[0] == order[1] and new.sha256 != active.sha256):
        raise JobModelOutdatedError(
            f"the job model ({new}) can't follow the active one ({active}): epoch or version must be higher. "
            "Read the active one and decide again"
        )
