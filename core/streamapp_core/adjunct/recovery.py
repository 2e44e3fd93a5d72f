"""Recovery of the store of a table when its owner starts, and the offsets to read its side inputs from.

See docs/adjunct-stores.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import MappingProxyType

from streamapp_core.ssp import Ssp

_CLOCK_SKEW = 60_000
"""The time in ms by which the clocks of two machines may differ: a store may be that far in the future."""


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
    """The record that a store keeps of itself: its run, and its contents, up to date as of `written_at` (milliseconds).

    `next` has, per partition, the first offset whose record it does not hold, and `versions` that of the stream it was
    read from, where there are versions.
    """

    run_id: str
    written_at: int
    next: Mapping[Ssp, int]
    versions: Mapping[Ssp, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The records of a partition: the first offset that is still there, and the one after the last.

    `version` is that of its stream, if that can be replaced by another one, as files can.
    """

    oldest: int
    end: int
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """The action on the store, and the offset to start from in each partition.

    `behind` has the ends of the partitions that are not there yet, `wait_for` those of them to reach before any other
    input is read. If the store is `incomplete`, it does not hold what was before the checkpoint.
    """

    action: StoreAction
    start: Mapping[Ssp, int]
    behind: Mapping[Ssp, int]
    wait_for: Mapping[Ssp, int]
    incomplete: bool = False


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
    checkpoint_versions: Mapping[Ssp, str] = MappingProxyType({}),
) -> Recovery:
    """Decide how the store of a table is brought up to date with its side inputs.

    A store is used again if it is of this run, was up to date at most `max_age` milliseconds before `now` (None: at any
    time) and not after it, and holds nothing of partitions that its owner does not have any more. It continues from its
    own offsets: a checkpoint may be ahead of it. A partition it does not know, say after an expansion, is read from its
    beginning.
    If a stream has another version now, a store or checkpoint of the previous one says nothing: all is read from the
    start.

    Args:
        bootstrap: whether other input waits for what the side inputs hold now.
        persistent: whether the store outlives its process.
        max_age: see above.
        run_id: of the run that starts.
        now: milliseconds since 1970.
        found: the record of the store that is there.
        partitions: the partitions of side inputs that the owner of the store has.
        checkpoint: the offset the owner's last checkpoint has of each.
        checkpoint_versions: the versions of the streams then, where there are versions.
    """
    replaced = not _same_versions(checkpoint, checkpoint_versions, partitions) or (
        isinstance(found, StoreRecord) and not _same_versions(found.next, found.versions, partitions)
    )
    known = {} if bootstrap or replaced else checkpoint
    if not persistent or found is NoStoreRecord.NO_STORE:
        action = StoreAction.CREATE
    elif isinstance(found, StoreRecord) and not replaced and _valid(found, max_age, run_id, now, partitions):
        action, known = StoreAction.REUSE, found.next
    else:
        action = StoreAction.RECREATE
    start = {ssp: max(known.get(ssp, extent.oldest), extent.oldest) for ssp, extent in partitions.items()}
    behind = {ssp: extent.end for ssp, extent in partitions.items() if start[ssp] < extent.end}
    skipped = any(start[ssp] > extent.oldest for ssp, extent in partitions.items())
    return Recovery(
        action=action,
        start=start,
        behind=behind,
        wait_for=behind if bootstrap else {},
        incomplete=skipped and action is not StoreAction.REUSE,
    )


def _same_versions(held: Iterable[Ssp], versions: Mapping[Ssp, str], partitions: Mapping[Ssp, Extent]) -> bool:
    """Return whether what is held of these partitions is of the versions that they have now."""
    return all(versions.get(ssp, "") == partitions[ssp].version for ssp in held if ssp in partitions)


def _valid(store: StoreRecord, max_age: int | None, run_id: str, now: int, partitions: Mapping[Ssp, Extent]) -> bool:
    young = max_age is None or -_CLOCK_SKEW <= now - store.written_at <= max_age
    return store.run_id == run_id and young and store.next.keys() <= partitions.keys()
