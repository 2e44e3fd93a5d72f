"""What a task must know to go on: where it has read to, and what it has heard; and its form in the changelog."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from streamapp_core.control.control_snapshot import ControlSnapshot

CHECKPOINT_KEY = b"\0"
"""The key of a checkpoint in a changelog; keys of stores begin with the store's name."""


class InputPosition(msgspec.Struct, frozen=True, kw_only=True):
    """How far a partition has been read: the next offset, and how many rows that were.

    `ungated`: it came with an expansion and has waited for others for the last time (see `PartitionGate`).
    """

    offset: int
    rows: int
    ungated: bool = False


class StagedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A staged part of a file output: paths relative to the system's folder."""

    system: str
    stream: str
    staged: str
    final: str


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The bookkeeping of a task at a commit: positions by stream and partition, counts of rows not used by operator.

    `control` is the task's `ControlSnapshot` as JSON; `bad_rows` tell of the first rows that could not be used.
    `written` counts the rows of each output. `parts` are what the whole processor has staged: they lie with its first
    task.
    """

    positions: dict[str, dict[int, InputPosition]]
    control: str
    not_used: dict[str, dict[str, int]]
    bad_rows: tuple[str, ...] = ()
    written: dict[str, int] = {}
    parts: tuple[StagedFile, ...] = ()

    def snapshot(self) -> ControlSnapshot:
        """Read the bookkeeping of control messages."""
        return ControlSnapshot.model_validate_json(self.control)


_decode = msgspec.json.Decoder(Checkpoint).decode


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Write a checkpoint as the value of its record."""
    return msgspec.json.encode(checkpoint)


def decode_checkpoint(data: bytes) -> Checkpoint:
    """Read what `encode_checkpoint` wrote."""
    return _decode(data)


def changelog_key(store: str, key: bytes) -> bytes:
    """Name an entry of a store in the changelog of its task."""
    return store.encode() + b"\0" + key


def store_and_key(changelog_key: bytes) -> tuple[str, bytes]:
    """Tell which store and which of its keys a changelog record is about."""
    store, _, key = changelog_key.partition(b"\0")
    return store.decode(), key


RowCounts = Mapping[str, Mapping[str, int]]
"""Numbers of rows by name and reason."""


def add_counts(left: RowCounts, right: RowCounts) -> dict[str, dict[str, int]]:
    """Add counts by name and reason."""
    return {name: dict(Counter(left.get(name, {})) + Counter(right.get(name, {}))) for name in sorted({*left, *right})}
