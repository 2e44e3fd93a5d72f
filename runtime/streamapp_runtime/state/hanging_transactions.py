"""Changelogs in which a transaction hangs: its producer is fenced, but the brokers have never written its end.

Seen with Kafka 4.3.1: a node that dies within milliseconds of its answer to a commit, and is alone, takes the
transaction for complete when it is back and forgets its markers. What was written then can't be read until the next
transaction of the same producer in that partition ends; and as that one ends, so does the other.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from streamapp_runtime.errors import ProcessorLost
from streamapp_runtime.state.changelog import ChangelogPartitionReader
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY
from streamapp_runtime.state.lmdb_environment import DamagedState, LmdbEnvironment
from streamapp_runtime.state.state_owner import META, StateOwner, is_intact_state_of
from streamapp_runtime.state.task_state import CHANGELOG, CHECKPOINT, POSITION
from streamapp_systems.protocols import Producer

_SECONDS = 2.0
"""Brokers end the transactions of a producer before another one gets its id, so this takes next to no time."""


class _Known(NamedTuple):
    position: int
    checkpoint: bytes


def resolve_hanging_transaction(
    changelog: ChangelogPartitionReader,
    folder: Path,
    identity: StateOwner,
    producer: Producer,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    now: int,
) -> None:
    """Make sure that all that was committed to a changelog can be read.

    The caller holds the folder's lock, and its producer is the current one; `now` is the time of day in milliseconds.
    Stores commit after their changelog: if those in the folder have all that was written, a transaction that hangs was
    committed, and one more commit of the same producer ends it so.

    Raises:
        ProcessorLost: a transaction hangs, and nothing here proves that it was committed.
    """
    if changelog.wait_until_readable(clock, sleep, _SECONDS):
        return
    known = _known(folder, identity, changelog.identity().encode())
    if known is not None and known.position >= changelog.written():
        producer.send(changelog.ssp, known.checkpoint, key=CHECKPOINT_KEY, timestamp=now)
        producer.commit()
        if changelog.wait_until_readable(clock, sleep, _SECONDS):
            return
    raise ProcessorLost(
        f"{changelog.ssp}: the brokers have never ended the transaction from offset {changelog.end()} on, of a "
        "producer that is gone, and no store here proves that it was committed: begin a new run"
    )


def _known(folder: Path, identity: StateOwner, changelog: bytes) -> _Known | None:
    """Tell how far the stores in a folder have a changelog, and its last checkpoint; None if they tell nothing."""
    try:
        environment = LmdbEnvironment(folder)
    except DamagedState:
        return None
    try:
        meta = environment.store(META)
        position, checkpoint = meta.get(POSITION), meta.get(CHECKPOINT)
        ours = is_intact_state_of(environment, identity) and meta.get(CHANGELOG) == changelog
        return _Known(int(position), checkpoint) if ours and position and checkpoint else None
    finally:
        environment.close()
