"""The types of arguments of calls, and of objects among them, which are plain dictionaries.

Made by tools/call_types.py from the models in core/streamapp_core/spec: edit those, and run `make crds`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict


class Aggregate(TypedDict):
    """Running results per key: each batch emits the new result of every key in it."""

    by: Sequence[str]
    """The columns of a group."""
    select: str
    """A condition, an expression or a select list in Spark SQL."""
    ttl: NotRequired[str | None]


class AvroOptions(TypedDict):
    """The schema of records of Avro."""

    schema: NotRequired[str | None]
    """The schema that records were or will be written with, as JSON; without one, a registry has that of what is read,
    and columns make that of what is written."""
    schema_file: NotRequired[str | None]
    """The file that `schema` is the text of, relative to the app's file. The command line reads it; a resource for
    Kubernetes has the text: `streamapp bundle`."""
    record_name: NotRequired[str | None]
    """The name of the records that are written: `com.shop.Order`; default: that of the topic."""


class CsvOptions(TypedDict):
    """The dialect of CSV, of files and messages."""

    delimiter: NotRequired[str]
    """What stands between values."""
    null_value: NotRequired[str]
    """The text that means null."""
    header: NotRequired[bool]
    """Whether the first line of a file has the names of the columns."""


class DebeziumOptions(TypedDict):
    """The columns that are no columns of a table, but of the changes to it."""

    columns: NotRequired[Mapping[str, str]]
    """The columns that stand beside the row in Debezium's envelope, and where: `op`, `ts_ms` or `source.lsn`."""


class ObjectStore(TypedDict):
    """The way to the store of objects that a path `s3://bucket/folder` names."""

    endpoint: NotRequired[str | None]
    """The address of a store that is not Amazon's: `https://minio:9000`."""
    region: NotRequired[str | None]
    """The region of the bucket; default: that of the environment, else `us-east-1`."""
    path_style: NotRequired[bool | None]
    """Whether the bucket is in the path and not in the host name; default: with an `endpoint`."""
    secret_name: NotRequired[str | None]
    """A secret with `access-key-id`, `secret-access-key` and perhaps `session-token`; without one, the environment and
    the identity of the pod count."""


class DriverSpec(TypedDict):
    """The driver's size."""

    cores: NotRequired[int]
    """CPUs of the driver."""
    memory: NotRequired[str]
    """An amount of memory or disk as Kubernetes writes it: `512Mi`, `2Gi`."""
    template: NotRequired[Mapping[str, Any]]
    """A pod template, or a part of one, that is merged into ours; Kubernetes checks it."""


class EarlyEmit(TypedDict):
    """The time between two emissions of the results of open windows, by the time of day."""

    every: str
    """A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`."""


class EmptyDir(TypedDict):
    """State that lives as long as its pod."""

    size_limit: NotRequired[str | None]


class EventLog(TypedDict):
    """The log of Spark's events, which Spark's history server reads."""

    dir: str
    """A folder of the driver, or the URI of one: `s3a://logs/spark`. On Kubernetes a volume."""


class EventTime(TypedDict):
    """The place of a row's event time, and how late rows may come."""

    column: str
    """A column, or a field of structs: `bid.at`."""
    or_else: NotRequired[Sequence[str]]
    """Where that is null: the first of these columns or fields that is not."""
    max_out_of_orderness: NotRequired[str]
    """A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`."""
    idle_timeout: NotRequired[str | None]
    max_ahead: NotRequired[str | None]
    """By how much it may be later than its record's own time; a row that is later is a bad record."""


class FunctionSpec(TypedDict):
    """A Python function from values of a row to one value, which expressions call by its name in `functions`."""

    parameters: NotRequired[str | None]
    """Names and types of its arguments, such as `lat double, lon double`: values are cast to them as for Spark's
    functions. Default: any."""
    returns: str
    """The type of its results, such as `double` or `array<string>`."""
    rows: NotRequired[bool]
    """Whether it takes the values of one row at a time, not Arrow arrays of them."""


class IcebergCatalog(TypedDict):
    """The catalog that says which metadata is a table's newest: a database, or a service with Iceberg's REST API."""

    uri: str
    """The database that keeps it: `postgresql://host:5432/database`, or `sqlite:///catalog.db`, a file that on a laptop
    is relative to the app's; or the service: `https://catalog:8181`."""
    name: NotRequired[str]
    """The name of the catalog in the database."""
    warehouse: NotRequired[str | None]
    """The warehouse that a service is asked for."""
    oauth_2_server_uri: NotRequired[str | None]
    """Where a service's client gets its tokens; default: the service itself."""
    scope: NotRequired[str | None]
    """The scope of the tokens; default: `catalog`."""
    secret_name: NotRequired[str | None]
    """A secret: for a database with `username` and `password`, for a service with `token`, or with `client-id` and
    `client-secret`."""


class Incremental(TypedDict):
    """The column by which a job of Spark knows which rows are new."""

    column: str
    """A column whose values grow: rows with larger ones are new."""
    every: NotRequired[str]
    """How often a job looks for new rows, after the end of the last one."""
    delay: NotRequired[str | None]
    """Of a timestamp: how old a row must be to be read, longer than any transaction that writes rows; default: 5m."""


class PartitionMonitor(TypedDict):
    """Whether and how often the partition counts of the inputs are looked at."""

    enabled: NotRequired[bool]
    """Whether new partitions are looked for."""
    interval: NotRequired[str]
    """A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`."""


class JoinBounds(TypedDict):
    """The most by which the right row's event time may be earlier, and later, than that of the left row."""

    before: NotRequired[str]
    """A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`."""
    after: NotRequired[str]
    """A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`."""


class JoinColumns(TypedDict):
    """The key columns of a join where they differ; if they are several, in the order of their pairs."""

    left: str | Sequence[str]
    """A column, or a list of columns, whose values together are the key."""
    right: str | Sequence[str]
    """A column, or a list of columns, whose values together are the key."""


class KafkaAuth(TypedDict):
    """The login to the brokers: a secret by name, never its content."""

    secret_name: str
    """The name of a Secret in the app's namespace."""
    mechanism: NotRequired[str | None]
    """A SASL mechanism: `SCRAM-SHA-512`. Without one, the secret has a client certificate."""


class SchemaRegistry(TypedDict):
    """The registry of the schemas of messages, with the API of Confluent's."""

    url: str
    """Where it is: `https://registry:8081`."""
    secret_name: NotRequired[str | None]
    """A secret with `username` and `password`, `ca.crt`, or all three."""


class LocalSecret(TypedDict):
    """A secret of the app's namespace."""

    name: str
    """The name of a Secret in the app's namespace."""


class LogSystem(TypedDict):
    """The embedded log: one SQLite file on this machine."""

    path: str
    """The file of the log, relative to the app's file."""


class Over(TypedDict):
    """Aggregates over the last rows of a key up to each row, beside the columns of the row."""

    by: Sequence[str]
    """The columns of a key: each has its own last rows."""
    order_by: NotRequired[str | None]
    """The order of running results. Without it rows go by event time, and each stays as it is."""
    rows: NotRequired[int | None]
    """The most rows that count, this one among them."""
    range: NotRequired[str | None]
    """How much earlier in event time the first of them may be; `forever` says that `rows` alone bounds them."""
    select: str
    """A condition, an expression or a select list in Spark SQL."""


class PartitionBy(TypedDict):
    """Rows regrouped by another key, through an intermediate stream; `stream` gives it a stable name."""

    stream: NotRequired[str | None]
    """A stable topic, for other apps to read."""


class TopN(TypedDict):
    """The first n rows of each group so far, emitted again where they change."""

    order_by: str
    """As in SQL: `price desc, at`. Of equal rows the least is first."""
    n: int
    """How many rows are kept."""
    rank: NotRequired[str | None]
    """A column to add: the place of the row, from 1."""
    by: Sequence[str]
    """The columns of a group: each has its own first rows."""
    ttl: NotRequired[str | None]


class PostgresqlSystem(TypedDict):
    """A database of PostgreSQL with tables that are written."""

    uri: str
    """Where it is: `postgresql://host:5432/database`."""
    secret_name: NotRequired[str | None]
    """A secret with `username` and `password` for the database."""
    staging_schema: NotRequired[str]
    """The schema in which rows wait for the app's commit, made where it is missing."""


class ProcessState(TypedDict):
    """A keyed store for a `process` function."""

    key: str | Sequence[str]
    """A column, or a list of columns, whose values together are the key."""


class ProtobufOptions(TypedDict):
    """The messages of Protobuf that values are."""

    schema: NotRequired[str | None]
    """The text of the `.proto` file that has the message; without one, a registry has it."""
    schema_file: NotRequired[str | None]
    """The file that `schema` is the text of, relative to the app's file. The command line reads it; a resource for
    Kubernetes has the text: `streamapp bundle`."""
    imports: NotRequired[Mapping[str, str]]
    """The texts of the files that it imports, by the names that it imports."""
    message: NotRequired[str | None]
    """The name of the messages: `com.shop.Order`; default: of what is read the only one of its file, of what is written
    that of the topic."""


class RestartPolicy(TypedDict):
    """The backoff before a driver that dies again is restarted: each `factor` times longer, from `backoff` to `max`."""

    backoff: NotRequired[str]
    """A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`."""
    factor: NotRequired[int]
    """How many times longer each backoff is than the one before."""
    max: NotRequired[str]
    """A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`."""
    reset_after: NotRequired[str]
    """The healthy time after which waits are short again."""
    max_restarts: NotRequired[int | None]
    """The number of restarts after which no more is tried; null: no limit."""


class SparkUi(TypedDict):
    """Spark's web pages about the driver and its jobs, one for each processor."""

    port: NotRequired[int]
    """Its port, of the driver's loopback interface alone."""


class VolumeClaim(TypedDict):
    """State on a volume of its own per processor."""

    storage_class_name: NotRequired[str | None]
    """The storage class of the claims; Kubernetes needs it."""
    size: str
    """An amount of memory or disk as Kubernetes writes it: `512Mi`, `2Gi`."""


class UpgradeSpec(TypedDict):
    """The return to the last spec that ran, when the driver of a new one does not come to run."""

    deadline: NotRequired[str]
    """The time in which the driver of a new spec has to be ready, with its processors."""
    roll_back: NotRequired[bool]
    """Whether the spec before is restored if it is not."""


class WindowTopN(TypedDict):
    """The first n rows of each group of a window."""

    order_by: str
    """As in SQL: `price desc, at`. Of equal rows the least is first."""
    n: int
    """How many rows are kept."""
    rank: NotRequired[str | None]
    """A column to add: the place of the row, from 1."""
    ties: NotRequired[bool]
    """Also take all rows that are equal to the n-th in the order."""


class Dedup(TypedDict):
    """One row of each key: the first to come, or the one with the latest event time."""

    by: Sequence[str]
    """The columns whose values are kept once."""
    keep: NotRequired[Literal["first", "last"]]
    within: NotRequired[str | None]
    """How far apart in event time rows of a key may be to be duplicates of each other. Without it all are, and every
    key is kept."""
    ttl: NotRequired[str | None]


class DeltaSystem(TypedDict):
    """A folder with tables of Delta Lake."""

    path: str
    """The folder below which the streams' names are tables, on a laptop relative to the app's file; or
    `s3://bucket/folder`."""
    store: NotRequired[ObjectStore | None]
    journal: NotRequired[str | None]
    """The folder that keeps which files were seen, in their order; default: `_streamapp` in `path`."""
    commit_every: NotRequired[str]
    """How often committed rows are added to the tables that are written, each time as a version."""
    compact_every: NotRequired[str | None]
    """How often small files of the tables that are written are joined into larger ones, which changes no row; without
    it, that is for others to do."""
    vacuum_every: NotRequired[str | None]
    """How often files that no version of the tables that are written has needed for a week, or for their
    `delta.deletedFileRetentionDuration`, are removed; without it, that is for others to do."""


class FileSystem(TypedDict):
    """A folder with bounded inputs (one partition per file) and outputs."""

    path: str
    """The folder below which the streams' names are paths, on a laptop relative to the app's file; or, for outputs
    alone, `s3://bucket/folder`."""
    store: NotRequired[ObjectStore | None]
    commit_every: NotRequired[str | None]
    """How often committed rows are published, joined into one file of each processor and folder; without it, each
    commit of the app publishes files."""
    target_file_size: NotRequired[str | None]
    """The size with which a file does not wait for `commitEvery`: `512Mi`; default: `128Mi`."""


class FolderSystem(TypedDict):
    """A folder with inputs whose files become more while the app runs."""

    path: str
    """The folder below which the streams' names are paths, on a laptop relative to the app's file; or
    `s3://bucket/folder`."""
    store: NotRequired[ObjectStore | None]
    journal: NotRequired[str | None]
    """The folder that keeps which files were seen, in their order; default: `_streamapp` in `path`."""


class TableSpec(TypedDict):
    """A declared table: `key` and `value` are made of the rows that fill it, by expressions or by an `extractor`."""

    key: NotRequired[str | Sequence[str] | None]
    """An expression over the rows that fill the table, or several: the parts of the key."""
    value: NotRequired[str | None]
    """A select list over the rows that fill the table; default: all columns."""
    schema: NotRequired[str | None]
    bootstrap: NotRequired[bool]
    """Whether the side inputs are read to their present end before anything else."""
    persistent: NotRequired[bool]
    """Whether the store is kept on disk."""
    max_age: NotRequired[str | None]
    """How old a store may be and still be used; null: any age."""
    refresh: NotRequired[str | None]
    """How often a running app looks for new versions of side inputs that are files, or are bounded tables or folders,
    to start again with them; null: they are taken at its next start only."""


class IcebergSystem(TypedDict):
    """A catalog with tables of Iceberg."""

    catalog: IcebergCatalog
    path: str
    """The warehouse: the folder of the tables that the app creates, on a laptop relative to the app's file; or
    `s3://bucket/folder`."""
    store: NotRequired[ObjectStore | None]
    journal: NotRequired[str | None]
    """The folder that keeps which files were seen, in their order; default: `_streamapp` in `path`."""
    commit_every: NotRequired[str]
    """How often committed rows are added to the tables that are written, as a snapshot of each."""
    compact_every: NotRequired[str | None]
    """How often small files of the tables that are written are joined into larger ones, which changes no row; without
    it, that is for others to do."""
    keep_snapshots: NotRequired[str | None]
    """How long snapshots of the tables that are written are kept once others have followed them; without it, until
    somebody expires them."""


class SparkSystem(TypedDict):
    """A format that only Spark reads and writes: rows are staged as files, in generations, which jobs write or read."""

    format: str
    """Spark's name of the format, as in `spark.read.format`: `jdbc`, `orc`, or a class."""
    options: NotRequired[Mapping[str, str]]
    """The format's options, as in `spark.read.options`."""
    secret_name: NotRequired[str | None]
    """A secret with `username` and `password`: the format's options `user` and `password`."""
    path: str
    """The folder in which rows are staged, for as long as anyone may read them; on a laptop relative to the app's file;
    or `s3://bucket/folder`."""
    store: NotRequired[ObjectStore | None]
    journal: NotRequired[str | None]
    """The folder that keeps which files were seen, in their order; default: `_streamapp` in `path`."""
    incremental: NotRequired[Incremental | None]
    """How new rows are found; without it, rows are read once."""
    commit_every: NotRequired[str]
    """How often committed rows are written, as a generation of each processor."""
    write: NotRequired[str | None]
    """A function of yours that writes a generation, in place of Spark's writer of the format: `module:function`, called
    with a DataFrame, the text that names the output, and the generation's number."""
    delivery: NotRequired[Literal["exactlyOnce", "atLeastOnce"]]
    """What outputs promise. `atLeastOnce`: rows of a generation whose writing died in the middle come twice."""


class JobSpec(TypedDict):
    """Settings of the job: partitions, tasks, commits and delivery."""

    intermediate_stream_partitions: NotRequired[int | None]
    """Partitions of intermediate streams that no join decides."""
    grouper: NotRequired[Literal["partition", "stream-partition", "all"]]
    expansion_algorithm: NotRequired[str]
    """Which partition the keys of a new one came from: `modulo`, or an entry point's name."""
    expansion_grace_period: NotRequired[str]
    """How long a new partition waits for the ones its keys came from."""
    commit_interval: NotRequired[str]
    """A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`."""
    watermark_interval: NotRequired[str]
    """A length of time, such as `50ms`, `10s`, `5m`, `1h` or `1d`."""
    delivery: NotRequired[Literal["exactlyOnce", "atLeastOnce"]]
    on_error: NotRequired[Literal["fail", "skip", "deadLetter"]]
    on_broken_claim: NotRequired[Literal["fail", "report"]]
    time_zone: NotRequired[str]
    """The time zone in which expressions read and show timestamps: a name such as `Europe/Paris`, `UTC`, or an offset
    such as `+02:00`."""
    partition_monitor: NotRequired[PartitionMonitor]


class Join(TypedDict):
    """Pairs of rows of two streams with equal keys, and at most `within` between their event times if that is given."""

    on: str | Sequence[str] | JoinColumns
    """The columns that are equal: a column, or a list of columns, which both sides have; or those of each side as
    `left` and `right`."""
    type: NotRequired[Literal["inner", "left", "right", "full"]]
    within: NotRequired[str | JoinBounds | None]
    """How far apart the event times of a pair may be, or how much earlier (`before`) and later (`after`) the right
    one's. Without it every pair with equal keys is emitted, and all rows of both sides are kept."""
    as_of: NotRequired[bool]
    """Pair each left row with one right row only: the last one of its key that is not later. `within` says how much
    earlier that may be."""
    condition: NotRequired[str | None]
    """What else has to be true of two rows that are `within` of each other, so that they are a pair: a condition on the
    columns of the result. Without `within` a filter follows the join."""
    ttl: NotRequired[str | None]


class JoinTable(TypedDict):
    """Rows enriched by the row of a table whose key equals `on`: a column, or one for each part of the key."""

    on: str | Sequence[str]
    """The column that is looked up, or a list of one for each part of the table's key."""
    type: NotRequired[Literal["inner", "left"]]


class JsonOptions(TypedDict):
    """The layout of JSON objects."""

    timestamps: NotRequired[Literal["text", "seconds", "millis", "micros"]]
    """Timestamps as text in ISO 8601, or as whole numbers since 1970."""
    fields: NotRequired[Mapping[str, str]]
    """The fields that columns stand in, by column; default: the same name."""


class KafkaSystem(TypedDict):
    """A Kafka cluster."""

    bootstrap_servers: str
    """Brokers to begin with: `kafka-0:9092,kafka-1:9092`."""
    config: NotRequired[Mapping[str, str]]
    """Settings of the Kafka client, by their names in librdkafka."""
    auth: NotRequired[KafkaAuth | None]
    schema_registry: NotRequired[SchemaRegistry | None]


class Location(TypedDict):
    """The source of location ids; `label` names the pod label for `by: label`."""

    by: Literal["node", "volume", "pod", "container", "label"]
    label: NotRequired[str | None]
    """The name of the pod label."""


class Process(TypedDict):
    """A Python function over batches of rows; `schema` are its output columns."""

    schema: str
    """Columns as in Spark's DDL: `carrier string, dep_delay double`."""
    state: NotRequired[ProcessState | None]
    order: NotRequired[Literal["eventTime", "arrival"] | None]
    """The order of rows and timers of a key: by event time, or as they come. By default event time where there is state
    and rows have an event time."""


class SparkSpec(TypedDict):
    """Settings of Spark, below those that the app needs."""

    conf: NotRequired[Mapping[str, str]]
    """Properties of Spark by name, with texts as values; docs/spark.md lists them."""
    packages: NotRequired[Sequence[str]]
    """Jars for Spark, as in Maven: `group:artifact:version`. Not on Kubernetes."""
    event_log: NotRequired[EventLog | None]
    ui: NotRequired[SparkUi | None]


class StateStorage(TypedDict):
    """The storage of state: exactly one of a pod's own disk, a folder of the node, a volume."""

    empty_dir: NotRequired[EmptyDir | None]
    host_path: NotRequired[str | None]
    """A folder of the node; state outlives the pod."""
    volume_claim: NotRequired[VolumeClaim | None]


class Window(TypedDict):
    """Results per key and window of time, emitted once when the watermark passes, or that time of day has come."""

    tumbling: NotRequired[str | None]
    sliding: NotRequired[str | None]
    every: NotRequired[str | None]
    session: NotRequired[str | None]
    time: NotRequired[Literal["event", "processing"]]
    """By event time, or by the time of day at which a row comes to the operator (`processing`)."""
    by: NotRequired[Sequence[str]]
    """The columns of a group; without any all rows are one."""
    select: NotRequired[str | None]
    top_n: NotRequired[WindowTopN | None]
    emit: NotRequired[EarlyEmit | None]
    """Also emit results of windows that are still open, where they have changed."""


class StreamSpec(TypedDict):
    """A declared stream."""

    name: NotRequired[str | None]
    """Its topic or path in the system; default: the name it is declared by."""
    schema: NotRequired[str | None]
    format: NotRequired[Literal["json", "avro", "protobuf", "csv", "parquet", "text", "raw", "arrow"]]
    key: NotRequired[str | Sequence[str] | None]
    changes: NotRequired[Literal["append", "upsert", "debezium", "final", "log"]]
    """What is read: events that stay (`append`), the newest rows of keys (`upsert`), where a record without a value
    deletes its key, or the changes of a table as Debezium writes them (`debezium`). Of what is written: only the newest
    rows, once the app has ended (`final`), or a row for each change, also for deletions (`log`)."""
    partitioned: NotRequired[bool]
    """Whether all rows of a key are in one file; says nothing of other systems."""
    key_format: NotRequired[Literal["string", "int", "long", "avro"]]
    """What the keys of records are: text, numbers as Java writes them (`int`, `long`), or records of Avro whose schema
    a registry has (`avro`)."""
    partitioner: NotRequired[Literal["murmur2"]]
    event_time: NotRequired[EventTime | None]
    record_time: NotRequired[Literal["eventTime", "processingTime"]]
    """The time of the records that the app writes: the event times of rows, or when it writes."""
    start_from: NotRequired[Literal["earliest", "latest"]]
    starting_timestamp: NotRequired[str | None]
    """Where a run begins to read each partition: at its first record with this time or a later one, by the records' own
    times: `2026-01-01T00:00:00Z`."""
    starting_offsets: NotRequired[Mapping[str, int]]
    """Where a run begins to read these partitions: `{"0": 17}`; the others as without."""
    bounded: NotRequired[bool]
    """Whether the stream has an end. A table or folder that is a side input is then read as it is at one version."""
    ending_timestamp: NotRequired[str | None]
    """Where a bounded stream ends: before the first record of each partition with this time or a later one; default:
    where it ends when the run begins."""
    ending_offsets: NotRequired[Mapping[str, int]]
    """Where these partitions of a bounded stream end: before the records of these offsets."""
    broadcast: NotRequired[bool]
    """Whether every task reads all of it."""
    control_messages: NotRequired[bool]
    """Whether it is an intermediate stream of another app, with watermarks in it."""
    partitions: NotRequired[int | None]
    """With how many partitions the app makes it where it is missing."""
    folder_columns: NotRequired[Sequence[str]]
    """Of files: the columns that are folders in their paths, in their order, as in Hive: `dt=2024-05-01/hm=09%3A05/`.
    The files don't have them."""
    starting_version: NotRequired[int | None]
    """Of a table that is read: the first version whose rows are read, of Iceberg a snapshot's sequence number; default:
    the table as it is when it is first seen."""
    csv: NotRequired[CsvOptions]
    json: NotRequired[JsonOptions]
    avro: NotRequired[AvroOptions]
    protobuf: NotRequired[ProtobufOptions]
    debezium: NotRequired[DebeziumOptions]


class ProcessorsSpec(TypedDict):
    """The processors: number, size, and storage of state."""

    count: NotRequired[int]
    """How many processors there are: each an executor with tasks of its own."""
    cores: NotRequired[int]
    """CPUs of each processor."""
    memory: NotRequired[str]
    """An amount of memory or disk as Kubernetes writes it: `512Mi`, `2Gi`."""
    location: NotRequired[Location | None]
    state: NotRequired[StateStorage]
    template: NotRequired[Mapping[str, Any]]
    """A pod template, or a part of one, that is merged into ours; Kubernetes checks it."""


class StreamAppSpec(TypedDict):
    """The app as the user wants it: streams, tables, a graph of operators, and how to run them."""

    image: NotRequired[str | None]
    """The image of driver and processors; not read locally."""
    image_pull_policy: NotRequired[Literal["Always", "IfNotPresent", "Never"] | None]
    image_pull_secrets: NotRequired[Sequence[LocalSecret]]
    """Secrets of the app's namespace with logins of image registries."""
    service_account_name: NotRequired[str | None]
    """The account of driver and processors; default: one that the operator makes."""
    py_files: NotRequired[Sequence[str]]
    """Python code: paths in the image, or ConfigMaps by name."""
    default_system: NotRequired[str | None]
    """The system of intermediate streams and the changelog: kafka or log."""
    name_prefix: NotRequired[str | None]
    """How the names of all that the app makes in its systems begin, before a dot and its own name: topics, consumer
    group, transactional ids, client id. Default: its namespace."""
    job: NotRequired[JobSpec]
    processors: NotRequired[ProcessorsSpec]
    driver: NotRequired[DriverSpec]
    spark: NotRequired[SparkSpec | None]
    restart_policy: NotRequired[RestartPolicy]
    upgrade: NotRequired[UpgradeSpec]
    deletion_policy: NotRequired[Literal["Retain", "Delete"]]
    run_id: NotRequired[str | None]
    """The continuity of state; made once if absent. A new value starts from nothing."""
    suspend: NotRequired[bool]
    """Whether the app is stopped, its state kept."""
