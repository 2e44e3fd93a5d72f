"""Hanging transactions in changelogs: the producer is fenced, but the brokers have never ended its transaction.

Seen with Kafka 4.3.1: the coordinator of a transaction that it ends takes a partition without a leader for deleted, and
never writes its marker there; so it is after a node that is alone dies in a commit, and comes back. The records
can't be read until the next transaction of the same producer in that partition ends; and as that one ends, so does the
hanging one.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from streamapp_runtime.errors import ProcessorLost
from streamapp_runtime.state.changelog import ChangelogPartitionReader
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY
from streamapp_runtime.state.state_folder import open_intact
from streamapp_runtime.state.state_metadata import CHANGELOG, CHECKPOINT, META, POSITION
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_systems.protocols import Producer

_WAIT_SECONDS = 2.0
"""Brokers end the transactions of a producer before another one gets its id, so this takes next to no time."""


class _StoredProgress(NamedTuple):
    position: int
    checkpoint: bytes


def resolve_hanging_transaction(
    changelog: ChangelogPartitionReader,
    folder: Path,
    owner: StateOwner,
    producer: Producer,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    now: int,
) -> None:
    """Make all that was committed to a changelog readable, ending a hanging transaction if there is one.

    The caller holds the folder's lock, and its producer is the current one; `now` is the time of day in milliseconds.
    Stores commit after their changelog: if those in the folder have all that was written, a hanging transaction was
    committed, and one more commit of the same producer ends it likewise.

    Raises:
        ProcessorLost: a transaction is hanging, and nothing here proves that it was committed.
    """
    if changelog.wait_until_readable(clock, sleep, _WAIT_SECONDS):
        return
    stored = _stored_progress(folder, owner, changelog.identity().encode())
    if stored is not None and stored.position >= changelog.written_end():
        producer.send(changelog.ssp, stored.checkpoint, key=CHECKPOINT_KEY, timestamp=now)
        producer.commit()
        if changelog.wait_until_readable(clock, sleep, _WAIT_SECONDS):
            return
    raise ProcessorLost(
        f"{changelog.ssp}: a hanging transaction begins at offset {changelog.end()}: its producer is gone, the brokers "
        "have never ended it, and no store here proves that it was committed; start a new run id"
    )


def _stored_progress(folder: Path, owner: StateOwner, changelog: bytes) -> _StoredProgress | None:
    """Return the changelog position of the stores in a folder, and their checkpoint; None if they prove nothing."""
    environment = open_intact(folder, owner)
    if environment is None:
        return None
    try:
        meta = environment.store(META)
        position, checkpoint = meta.get(POSITION), meta.get(CHECKPOINT)
        usable = meta.get(CHANGELOG) == changelog
        return _StoredProgress(int(position), checkpoint) if usable and position and checkpoint else None
    finally:
        environment.close()
