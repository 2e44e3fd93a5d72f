"""The types of the objects in calls: fields are named as in YAML, in snake case. Lengths of time are texts: `5m`.

They are plain dictionaries, `{"column": "at"}` or `EventTime(column="at")`; the parser of the spec checks them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict


class Csv(TypedDict, total=False):
    """The dialect of CSV, of files and messages."""

    delimiter: str
    null_value: str
    header: bool


class Json(TypedDict, total=False):
    """The layout of JSON objects."""

    timestamps: Literal["text", "seconds", "millis", "micros"]
    fields: Mapping[str, str]


class Avro(TypedDict, total=False):
    """The schema of records of Avro."""

    schema: str | None
    schema_file: str | None
    record_name: str | None


class Protobuf(TypedDict, total=False):
    """The messages of Protobuf that values are."""

    schema: str | None
    schema_file: str | None
    imports: Mapping[str, str]
    message: str | None


class Debezium(TypedDict, total=False):
    """The columns that are no columns of a table, but of the changes to it."""

    columns: Mapping[str, str]


class EventTime(TypedDict):
    """The place of a row's event time, and how late rows may come."""

    column: str
    or_else: NotRequired[Sequence[str]]
    max_out_of_orderness: NotRequired[str]
    idle_timeout: NotRequired[str | None]
    max_ahead: NotRequired[str | None]


class JoinColumns(TypedDict):
    """The key columns of a join where they differ; if they are several, in the order of their pairs."""

    left: str | Sequence[str]
    right: str | Sequence[str]


class JoinBounds(TypedDict, total=False):
    """The most by which the right row's event time may be earlier, and later, than that of the left row."""

    before: str
    after: str


class ProcessState(TypedDict):
    """A keyed store for a `process` function."""

    key: str | Sequence[str]


class WindowTopN(TypedDict):
    """The first n rows of each group of a window."""

    order_by: str
    n: int
    rank: NotRequired[str | None]
    ties: NotRequired[bool]


class EarlyEmit(TypedDict):
    """The time between two emissions of the results of open windows, by the time of day."""

    every: str


class KafkaAuth(TypedDict):
    """The login to the brokers: a secret by name, never its content."""

    secret_name: str
    mechanism: NotRequired[str | None]


class SchemaRegistry(TypedDict):
    """The registry of the schemas of messages, with the API of Confluent's."""

    url: str
    secret_name: NotRequired[str | None]


class PartitionMonitor(TypedDict, total=False):
    """Whether and how often the partition counts of the inputs are looked at."""

    enabled: bool
    interval: str


class Job(TypedDict, total=False):
    """Settings of the job: partitions, tasks, commits and delivery."""

    intermediate_stream_partitions: int | None
    grouper: Literal["partition", "stream-partition", "all"]
    expansion_algorithm: str
    expansion_grace_period: str
    commit_interval: str
    watermark_interval: str
    delivery: Literal["exactlyOnce", "atLeastOnce"]
    on_error: Literal["fail", "skip", "deadLetter"]
    on_broken_claim: Literal["fail", "report"]
    partition_monitor: PartitionMonitor


class Location(TypedDict):
    """The source of location ids; `label` names the pod label for `by: label`."""

    by: Literal["node", "volume", "pod", "container", "label"]
    label: NotRequired[str | None]


class EmptyDir(TypedDict, total=False):
    """State that lives as long as its pod."""

    size_limit: str | None


class VolumeClaim(TypedDict):
    """State on a volume of its own per processor."""

    storage_class_name: NotRequired[str | None]
    size: str


class StateStorage(TypedDict, total=False):
    """The storage of state: exactly one of a pod's own disk, a folder of the node, a volume."""

    empty_dir: EmptyDir | None
    host_path: str | None
    volume_claim: VolumeClaim | None


class Processors(TypedDict, total=False):
    """The processors: number, size, and storage of state."""

    count: int
    cores: int
    memory: str
    location: Location | None
    state: StateStorage
    template: Mapping[str, Any]


class Driver(TypedDict, total=False):
    """The driver's size."""

    cores: int
    memory: str
    template: Mapping[str, Any]


class RestartPolicy(TypedDict, total=False):
    """The backoff before a driver that dies again is restarted: each `factor` times longer, from `backoff` to `max`."""

    backoff: str
    factor: int
    max: str
    reset_after: str
    max_restarts: int | None


class Upgrade(TypedDict, total=False):
    """The return to the last spec that ran, when the driver of a new one does not come to run."""

    deadline: str
    roll_back: bool


class LocalSecret(TypedDict):
    """A secret of the app's namespace."""

    name: str


class EventLog(TypedDict):
    """The log of Spark's events, which Spark's history server reads."""

    dir: str


class SparkUi(TypedDict, total=False):
    """Spark's web pages about the driver and its jobs, one for each processor."""

    port: int


class Spark(TypedDict, total=False):
    """Settings of Spark, below those that the app needs."""

    conf: Mapping[str, str]
    packages: Sequence[str]
    event_log: EventLog | None
    ui: SparkUi | None
