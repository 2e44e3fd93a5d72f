"""The restore of a task's stores from its changelog."""

from collections.abc import Callable
from typing import NamedTuple

from streamapp_runtime.state.changelog import ChangelogReader
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment, LmdbStore
from streamapp_runtime.state.state_metadata import CHECKPOINT, META
from streamapp_systems.protocols import Messages

_BUFFERED_BYTES = 64 << 20
"""Bytes of records that are buffered in memory and then written in the order of their keys."""
_RECORD_BYTES = 100
"""About how many bytes of memory a record takes beside its key and value."""


class RestoreStatus(NamedTuple):
    """The progress of a restore: `kept` if the store existed and only continues, else from the whole changelog.

    `records` have been read; about as many as `left` are still to be read.
    """

    kept: bool
    records: int
    left: int


def restore_from_changelog(
    environment: LmdbEnvironment,
    changelog: ChangelogReader,
    *,
    start: int,
    end: int,
    kept: bool,
    commit: Callable[[int], None],
    on_progress: Callable[[RestoreStatus], object],
) -> int:
    """Apply the records of a changelog from `start` to `end` to the stores; return how many there were.

    `commit` is called with the next offset each time the buffer is full; the caller commits once more at `end`.
    """
    count, buffered = 0, 0
    on_progress(RestoreStatus(kept, 0, end - start))
    for messages in changelog.read(start, end):
        buffered += _apply(environment, messages)
        count += len(messages)
        if buffered > _BUFFERED_BYTES:
            buffered = 0
            commit(messages[-1].offset + 1)
        if messages:
            on_progress(RestoreStatus(kept, count, end - messages[-1].offset - 1))
    return count


def _apply(environment: LmdbEnvironment, messages: Messages) -> int:
    """Put records into their stores, uncommitted; return about how many bytes of memory they take."""
    size = len(messages) * _RECORD_BYTES
    meta = environment.store(META)
    stores: dict[bytes, LmdbStore] = {}
    for _, _, key, value in messages:
        size += len(key or b"") + len(value or b"")
        if key == CHECKPOINT_KEY:
            meta.put(CHECKPOINT, value or b"")
            continue
        name, _, rest = (key or b"").partition(b"\0")
        if name not in stores:
            stores[name] = environment.store(name.decode())
        stores[name].waiting[rest] = value
    return size
