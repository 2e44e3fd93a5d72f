"""The restore of a task's stores from its changelog."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_runtime.state.changelog import ChangelogReader
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY, changelog_key, store_and_key
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.state_metadata import CHECKPOINT, META
from streamapp_systems.protocols import MessageColumns, Messages

_END = 1 << 31
"""Behind the end of any key; without one, slices of bytes fail in Arrow."""
_BUFFERED_BYTES = 128 << 20
"""Bytes of records that are buffered in memory and then written in the order of their keys."""


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
    keys, values = _columns(messages)
    checkpoints = _bits(pc.equal(keys, pa.scalar(CHECKPOINT_KEY, pa.binary())))
    if checkpoints.any():
        newest = int(np.flatnonzero(checkpoints)[-1])
        environment.store(META).put(CHECKPOINT, values[newest].as_py() or b"")
    left = ~checkpoints
    while left.any():
        name, _ = store_and_key(keys[int(left.argmax())].as_py())
        prefix = changelog_key(name, b"")
        here = left & _bits(pc.starts_with(keys, pattern=prefix))
        left &= ~here
        chosen = pa.array(here)
        rest = pc.binary_slice(keys.filter(chosen), len(prefix), _END)
        environment.store(name).put_columns(rest, values.filter(chosen), is_sorted=False)
    return int(keys.nbytes + values.nbytes)


def _columns(messages: Messages) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    if isinstance(messages, MessageColumns):
        return messages.key_column, messages.value_column
    return pa.array(messages.keys, pa.binary()), pa.array(messages.values, pa.binary())


def _bits(column: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    bits: npt.NDArray[np.bool_] = column.to_numpy(zero_copy_only=False)
    return bits
