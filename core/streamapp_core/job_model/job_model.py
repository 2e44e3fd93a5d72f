"""The job model as a document: task -> SSPs and processor, processor -> location, and what later plans need."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from streamapp_core.plan.previous_run import PartitionKey
from streamapp_core.spec.job import Grouper
from streamapp_core.ssp import Ssp

SCHEMA_VERSION = 1
_Count = Annotated[int, Field(ge=0)]


class _Document(BaseModel):
    """A part of the job model. Fields that a later version may add are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class StreamPartitions(_Document):
    """The number of partitions of a stream: when the run id first saw it, and now.

    `grown_at` is the time when the last growth was accepted (ms since 1970; None: never, or not known).
    """

    initial_partitions: _Count
    partitions: _Count
    grown_at: int | None = None


class TaskModel(_Document):
    """The partitions and the processor of a task; `location` is where it last opened its state (None: never).

    `former_location` is the location before that one, where an older state may lie.
    """

    ssps: tuple[Ssp, ...]
    changelog_partition: _Count
    processor: str
    location: str | None = None
    former_location: str | None = None


class ProcessorModel(_Document):
    """The location of a processor; `any` if not known. `executor` is the Spark executor it is bound to, if any.

    On Kubernetes a processor starts once it has an executor, and again when it gets another one.
    """

    location: str = "any"
    executor: str | None = None


class JobModel(_Document):
    """The assignment of an app's partitions to tasks and of tasks to processors; each change has a higher `version`.

    `streams` has inputs, side inputs and intermediate streams. For later plans it keeps the `grouper`, the
    `partition_keys` of intermediate streams (None: broadcast), the hash of the shape of each of the `stores` that the
    run ever had, the changelog partition of every task it ever had, and every transactional id it ever used.
    """

    schema_version: Annotated[int, Field(ge=1, le=SCHEMA_VERSION)] = SCHEMA_VERSION
    version: Annotated[int, Field(ge=1)]
    run_id: str
    streams: Mapping[str, StreamPartitions]
    tasks: Mapping[str, TaskModel]
    processors: Mapping[str, ProcessorModel]
    grouper: Grouper | None = None
    partition_keys: Mapping[str, PartitionKey] = {}
    stores: Mapping[str, str] = {}
    changelog: Mapping[str, _Count] = {}
    transactional_ids: tuple[str, ...] = ()

    @property
    def known_grouper(self) -> Grouper | None:
        """The grouper that made the tasks: as recorded, else derived from their names."""
        if self.grouper is not None:
            return self.grouper
        return next(
            (grouper for task in self.tasks for prefix, grouper in _TASK_NAMES if task.startswith(prefix)), None
        )

    @property
    def broadcast_writer(self) -> str:
        """The one task that writes rows which every task has: always the same one of a run."""
        return min(self.tasks, key=lambda name: self.tasks[name].changelog_partition)

    @property
    def broadcast_writer_stream(self) -> str | None:
        """The stream that the broadcast writer is named by, if tasks are those of single partitions; else None."""
        writer = self.broadcast_writer
        names = {ssp.stream: f"[{ssp.system}, {ssp.stream}, {ssp.partition}]" for ssp in self.tasks[writer].ssps}
        return next((stream for stream, name in names.items() if writer.endswith(name)), None)

    def to_document(self) -> dict[str, object]:
        """Return the document as plain values, without fields that are not known."""
        unknown = {
            "tasks": {
                name: {field for field in ("location", "former_location") if getattr(task, field) is None}
                for name, task in self.tasks.items()
            },
            "processors": {id_: {"executor"} for id_, live in self.processors.items() if live.executor is None},
            "streams": {name: {"grown_at"} for name, stream in self.streams.items() if stream.grown_at is None},
        }
        return self.model_dump(mode="json", by_alias=True, exclude=unknown)


_TASK_NAMES = (
    ("Partition ", Grouper.PARTITION),
    ("SystemStreamPartition ", Grouper.STREAM_PARTITION),
    ("Task-", Grouper.ALL),
)
