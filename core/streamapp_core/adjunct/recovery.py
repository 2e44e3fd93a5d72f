"""Recovery of the store of a table when its owner starts, and the offsets to read its side inputs from.

See docs/adjunct-stores.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from streamapp_core.ssp import Ssp


class StoreAction(StrEnum):
    """The ways to get a store: create it, delete the old one and create another, or use the one that is there."""

    CREATE = "create"
    RECREATE = "recreate"
    REUSE = "reuse"


class NoStoreRecord(Enum):
    """The reasons why there is no record of a store: there is no store, or its record can't be read."""

    NO_STORE = "nothing"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRecord:
    """The record that a store keeps of itself: its run, the time of its last write (milliseconds), and its contents.

    `next` has, per partition, the first offset whose record it does not hold.
    """

    run_id: str
    written_at: int
    next: Mapping[Ssp, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The records of a partition: the first offset that is still there, and the one after the last."""

    oldest: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The action on the store, and the offset to start from in each partition.

    `wait_for` has the ends to reach before any other input is read, of the partitions that are not there yet.
    """

    action: StoreAction
    start: Mapping[Ssp, int]
    wait_for: Mapping[Ssp, int]


def plan_recovery(
    *,
    bootstrap: bool,
    persistent: bool,
    max_age: int | None,
    run_id: str,
    now: int,
    found: StoreRecord | NoStoreRecord,
    partitions: Mapping[Ssp, Extent],
    checkpoint: Mapping[Ssp, int],
) -> Recovery:
    """Decide how the store of a table is brought up to date with its side inputs.

    A store is used again if it is of this run, was written at most `max_age` milliseconds before `now` (None: at any
    time), and holds nothing of partitions that its owner does not have any more. It continues from its own offsets: a
    checkpoint may be ahead of it. A partition it does not know, say after an expansion, is read from its beginning.

    Args:
        bootstrap: whether other input waits for what the side inputs hold now.
        persistent: whether the store outlives its process.
        max_age: see above.
        run_id: of the run that starts.
        now: milliseconds since 1970.
        found: the record of the store that is there.
        partitions: the partitions of side inputs that the owner of the store has.
        checkpoint: the offset the owner's last checkpoint has of each.
    """
    known = {} if bootstrap else checkpoint
    if not persistent or found is NoStoreRecord.NO_STORE:
        action = StoreAction.CREATE
    elif isinstance(found, StoreRecord) and _valid(found, max_age, run_id, now, partitions):
        action, known = StoreAction.REUSE, found.next
    else:
        action = StoreAction.RECREATE
    start = {ssp: max(known.get(ssp, extent.oldest), extent.oldest) for ssp, extent in partitions.items()}
    behind = {ssp: extent.end for ssp, extent in partitions.items() if start[ssp] < extent.end}
    return Recovery(action=action, start=start, wait_for=behind if bootstrap else {})


def _valid(store: StoreRecord, max_age: int | None, run_id: str, now: int, partitions: Mapping[Ssp, Extent]) -> bool:
    young = max_age is None or now - store.written_at <= max_age
    return store.run_id == run_id and young and store.next.keys() <= partitions.keys()
