"""The watermarks and ends of a task as a value: part of its checkpoint, written as JSON (docs/control-messages.md)."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict


class _Snapshot(BaseModel):
    model_config = ConfigDict(frozen=True)


class IntermediateSnapshot(_Snapshot):
    """A partition of an intermediate stream: the last report of each producer, and the watermark that follows."""

    stream: str
    partition: int
    watermark: int | None
    timestamps: Mapping[str, int]
    ended_tasks: tuple[str, ...]
    idle_tasks: tuple[str, ...]
    task_count: int | None
    ended: bool


class SourceSnapshot(_Snapshot):
    """A partition of a source: its highest event time, and the processing time of its last row (both in ms).

    Processing times mean nothing in another process: idle timeouts start again there.
    """

    stream: str
    partition: int
    latest: int | None
    active_at: int
    ended: bool


class ControlSnapshot(_Snapshot):
    """All partitions of a task, and the watermark of each of its streams.

    `model_dump_json` and `model_validate_json` write and read it.
    """

    watermarks: Mapping[str, int | None]
    intermediate: tuple[IntermediateSnapshot, ...]
    sources: tuple[SourceSnapshot, ...]
