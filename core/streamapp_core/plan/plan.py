"""The plan of an app: all decisions that are made before anything runs (docs/planner.md).

The runtime executes straight from these values: names are resolved, expressions compiled, partitions counted.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import msgspec

from streamapp_core.expressions import FunctionSignature, Select, SelectColumn
from streamapp_core.expressions.time_zones import UTC
from streamapp_core.plan.previous_run import PartitionKey
from streamapp_core.plan.row_schemas import Compiled
from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_core.problems import PlanWarning, Problem
from streamapp_core.schema import DataType, Schema
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.operators import OperatorKind, OperatorSpec, ProcessOrder
from streamapp_core.spec.streams import KeyFormat, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind
from streamapp_core.spec.tables import TableSpec
from streamapp_core.tasks.expansion import CheckedAlgorithm

_TOPOLOGY = {"systems", "default_system", "streams", "tables", "operators"}


class StreamRole(StrEnum):
    """The uses of a stream by an app."""

    INPUT = "input"
    OUTPUT = "output"
    INTERMEDIATE = "intermediate"
    SIDE_INPUT = "sideInput"


class CountRule(StrEnum):
    """The rules for the number of partitions of a stream."""

    GIVEN = "given"
    JOINED = "joined"
    CONFIGURED = "configured"
    MAXIMUM = "maximum"
    BROADCAST = "broadcast"
    INITIAL = "initial"


class Mode(StrEnum):
    """Whether the app ends by itself."""

    BOUNDED = "bounded"
    STREAMING = "streaming"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStream:
    """A stream the app uses. `address` is its topic or path; an intermediate stream has no `spec`.

    `initial_partitions` is the count when the run id first saw it: tasks and joins go by it. `producers` are the
    operators that send to it, of an intermediate stream what its operator reads; `consumers` are the operators that
    read it, and the tables it fills. An output's `schema` is that of the rows sent to it, if they are all alike.
    `key` are the columns of its key. A `shared` stream is one app's intermediate stream and other apps' input: rows and
    control messages. `type` is what is known of the rows that are read from it. Texts of timestamps in it that name no
    time zone are in `time_zone`.
    """

    name: str
    role: StreamRole
    system: str
    system_kind: SystemKind
    address: str
    partitions: int
    initial_partitions: int
    rule: CountRule
    broadcast: bool
    schema: Schema | None
    time_zone: str
    key: tuple[str, ...]
    format: StreamFormat
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    shared: bool
    type: StreamType
    spec: StreamSpec | None

    @property
    def key_format(self) -> KeyFormat:
        """The encoding of the keys of its messages: text for an intermediate stream."""
        return KeyFormat.STRING if self.spec is None else self.spec.key_format

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields of the JSON objects that keys of several columns are; none of another key."""
        if self.spec is not None:
            return self.spec.key_fields
        return self.key if len(self.key) > 1 else ()


class PlannedOperator(msgspec.Struct, frozen=True, kw_only=True):
    """An operator with everything it needs to run.

    `inputs` are the names of streams and operators it reads, the right side of a join last, `input_schemas` the
    columns of each, and `input_types` what else is known of their rows. `schema` is what it emits (of a terminal
    operator: what it takes), `key` the columns they are partitioned by, if any, `type` what else is known of the rows;
    if `broadcast`, every task has all of them. `compiled` is its expression, if its kind has one. `streams` are those
    that reach it: its watermark is the minimum over them. `order` is that of the rows and timers of a function with
    state.
    """

    name: str
    kind: OperatorKind
    spec: OperatorSpec
    inputs: tuple[str, ...]
    input_schemas: tuple[Schema, ...]
    input_types: tuple[StreamType, ...]
    schema: Schema
    key: tuple[str, ...]
    broadcast: bool
    type: StreamType
    compiled: Compiled | None
    streams: frozenset[str]
    order: ProcessOrder | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """A table: rows with `row_schema` fill it, rows with `schema` are stored under a key of these `key_types`.

    `fillers` are the operators or the side inputs that fill it. `key` has the parts of the key, `value` is a select
    list over the rows; `value` None stores all columns; without both an extractor makes them, and `key_types` are those
    of what joins compare with it. A `broadcast` table is filled by broadcast streams only: one store a processor.
    """

    name: str
    spec: TableSpec
    fillers: tuple[str, ...]
    row_schema: Schema
    schema: Schema
    key_types: tuple[DataType, ...]
    key: tuple[SelectColumn, ...]
    value: Select | None
    broadcast: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroup:
    """The streams that must have one number of partitions because `operator` joins them."""

    operator: str
    streams: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """An accepted app. Mappings go by name; `operators` come in the order of the data, inputs before their readers.

    `functions` are the app's own that expressions may call. `partition_keys` has the key of every intermediate stream
    (None: broadcast), `stores` a hash of the shape of every operator's and table's state: neither may change within a
    run id. `default_system` holds the intermediate streams and the changelog. `expansion` maps the partitions of a
    stream that has grown to its initial ones. The run's transactional ids begin with `transactional_prefix`, which
    stays the same for the run. `warnings` say what is allowed and rarely wanted.
    """

    app: StreamApp
    run_id: str
    transactional_prefix: str
    mode: Mode
    default_system: str
    streams: Mapping[str, PlannedStream]
    operators: Mapping[str, PlannedOperator]
    tables: Mapping[str, PlannedTable]
    functions: tuple[FunctionSignature, ...]
    join_groups: tuple[JoinGroup, ...]
    feeding_streams: Mapping[str, frozenset[str]]
    partition_keys: Mapping[str, PartitionKey]
    stores: Mapping[str, str]
    stateful: bool
    expansion: CheckedAlgorithm = field(compare=False)
    warnings: tuple[PlanWarning, ...]

    @cached_property
    def topology_hash(self) -> str:
        """Hash what the app reads, does and writes, whatever order it is written in."""
        spec = self.app.spec
        ordered = spec.model_copy(
            update={
                "systems": dict(sorted(spec.systems.items())),
                "streams": dict(sorted(spec.streams.items())),
                "tables": dict(sorted(spec.tables.items())),
                "operators": tuple(sorted(spec.operators, key=lambda operator: operator.name)),
            }
        )
        included: dict[str, bool | set[str]] = dict.fromkeys(_TOPOLOGY, True)
        if spec.functions:
            included["functions"] = True
        if spec.job.time_zone != UTC.id:
            included["job"] = {"time_zone"}
        return hashlib.sha256(ordered.model_dump_json(include=included).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanResult:
    """All problems, sorted by path; the plan if there are none."""

    problems: tuple[Problem, ...]
    plan: Plan | None
