"""A task's checkpoint: its input positions, watermarks and counts, and how it is encoded in the changelog."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from streamapp_core.control.control_snapshot import ControlSnapshot
from streamapp_core.spec.systems import SystemKind

CHECKPOINT_KEY = b"\0"
"""The key of a checkpoint in a changelog; keys of stores begin with the store's name."""


class InputPosition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The position in an input partition: the next offset, and the number of rows read so far.

    `ungated`: it came with an expansion and has waited for others for the last time (see `PartitionGate`). `version` is
    that of the files of a side input, which may be replaced. `late_start`: the partition is of a stream between tasks,
    and the task began behind records that are not there any more (see `ReceivedSequences.take`).
    """

    offset: int
    rows: int
    ungated: bool = False
    version: str = ""
    late_start: bool = False


class StagedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A finished part, invisible until it is renamed to `final` or added to that table.

    Its paths are relative to the `folder` of the system of this `kind` that it was staged in: an edit may have moved
    the output elsewhere since.
    """

    kind: SystemKind
    folder: str
    stream: str
    staged: str
    final: str


class OperatorWatermark(msgspec.Struct, frozen=True, kw_only=True):
    """The watermark that an operator has `reached`, and the one all of whose results it has emitted (None: none).

    They differ while it has more results than fit a commit (see `TaskOperator.advance_watermark`).
    """

    reached: int
    emitted: int | None


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a task at a commit: positions by stream and partition, counts of rows not used by operator.

    `control` is the task's `ControlSnapshot` as JSON; `bad_rows` describes the first rows that could not be used.
    `watermarks` are those of the operators by name: after a restart they are not behind what they were, so nothing that
    was emitted opens again. `written` counts the rows of each output. `parts` are the staged files of the whole
    processor: the checkpoint of its first task has them. `sent` and `received` are the last numbers of messages between
    tasks (see `SentSequences`, `ReceivedSequences`).
    """

    positions: dict[str, dict[int, InputPosition]]
    control: str
    not_used: dict[str, dict[str, int]]
    bad_rows: tuple[str, ...] = ()
    watermarks: dict[str, OperatorWatermark] = {}
    written: dict[str, int] = {}
    parts: tuple[StagedFile, ...] = ()
    sent: dict[str, list[int]] = {}
    received: dict[str, dict[int, dict[str, int]]] = {}

    def snapshot(self) -> ControlSnapshot:
        """Decode what is known from control messages: watermarks and ends."""
        return ControlSnapshot.model_validate_json(self.control)


_decode = msgspec.json.Decoder(Checkpoint).decode


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Encode a checkpoint as the value of its changelog record."""
    return msgspec.json.encode(checkpoint)


def decode_checkpoint(data: bytes) -> Checkpoint:
    """Decode the value that `encode_checkpoint` wrote."""
    return _decode(data)


def changelog_key(store: str, key: bytes) -> bytes:
    """Return the key that an entry of a store has in the changelog of its task."""
    return store.encode() + b"\0" + key


def store_and_key(changelog_key: bytes) -> tuple[str, bytes]:
    """Return the store and the key in it that a changelog record changes."""
    store, _, key = changelog_key.partition(b"\0")
    return store.decode(), key


RowCounts = Mapping[str, Mapping[str, int]]
"""Numbers of rows by name and reason."""


def add_counts(left: RowCounts, right: RowCounts) -> dict[str, dict[str, int]]:
    """Add counts by name and reason."""
    return {name: dict(Counter(left.get(name, {})) + Counter(right.get(name, {}))) for name in sorted({*left, *right})}
