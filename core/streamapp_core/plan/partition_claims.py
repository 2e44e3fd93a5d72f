"""The streams whose declared key decides whether results are right, and where their keys must be (docs/kafka.md)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.plan.plan import Plan, PlannedOperator, PlannedStream
from streamapp_core.spec.job import Grouper
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import KeyFormat, StreamChanges
from streamapp_core.spec.systems import SystemKind

_KEEP_ROWS = frozenset([OperatorKind.MAP, OperatorKind.MERGE])


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionClaim:
    """The claim of a stream's producers that rows are partitioned by the hash of a key.

    `initial_partitions` has, for each partition, the one of the first `initial_count` that it grew from: the hash of a
    key, modulo that count, must be that one. Files claim only that all rows of a key are in one file, and are not
    `hashed`. Rows without a key may be anywhere, unless `nulls_meet`: they reach a group, which is in one place, as
    that of any key. A key of several columns, which is hashed as a JSON object with these `fields`, is always there.
    """

    stream: str
    columns: tuple[str, ...]
    fields: tuple[str, ...]
    key_format: KeyFormat
    initial_partitions: tuple[int, ...]
    initial_count: int
    hashed: bool
    nulls_meet: bool


def partition_claims(plan: Plan) -> Mapping[str, PartitionClaim]:
    """Return the claims that joins, groups, tables and states of an app rely on, by stream.

    Streams with one partition claim nothing, nor do those that every task reads all of.
    """
    if plan.app.spec.job.grouper is Grouper.ALL:
        return {}
    claims = (_claim(plan, plan.streams[name]) for name in sorted(_relied_on(plan) & plan.streams.keys()))
    return {claim.stream: claim for claim in claims if claim is not None}


def advise_on_claim(claim: PartitionClaim) -> str:
    """Return what follows from a broken claim, and what to do."""
    path = f"spec.streams.{claim.stream}"
    key = written_columns(claim.columns)
    instead = f"or read it through a `partitionBy` with the key {key}"
    if not claim.hashed:
        return (
            f"`{path}.partitioned` says that all rows of a key are in one file; "
            f"results would be wrong. Write the files so, {instead} and remove `partitioned`. Then begin a new run. "
            "`spec.job.onBrokenClaim: report` goes on and counts such rows"
        )
    return (
        f"`{path}.key` says that rows are partitioned by it; results would be wrong. Let its producers partition by "
        f"murmur2 of {_hashed(claim)}, as Java's do (librdkafka, which most other clients use, has the default "
        "`consistent_random`, which is CRC32: set `partitioner: murmur2_random`), and write the topic again; "
        f"{instead}. Then begin a new run. `spec.job.onBrokenClaim: report` goes on and counts such rows"
    )


def written_columns(columns: Sequence[str]) -> str:
    """Return columns as messages name them."""
    return ", ".join(f"`{column}`" for column in columns)


def _hashed(claim: PartitionClaim) -> str:
    if not claim.fields:
        return written_columns(claim.columns)
    return "`{" + ",".join(f'"{field}":...' for field in claim.fields) + "}`, a JSON object without spaces"


def _claim(plan: Plan, stream: PlannedStream) -> PartitionClaim | None:
    files = stream.system_kind.holds_files
    declared = stream.system_kind is SystemKind.FILE and stream.spec is not None and stream.spec.partitioned
    if stream.spec is None or not stream.key or stream.schema is None or stream.broadcast:
        return None
    if stream.spec.changes is StreamChanges.DEBEZIUM or stream.key_format is KeyFormat.AVRO:
        return None  # whatever its hash, a record's key is checked to be the row's
    if stream.initial_partitions == 1 or (files and not declared):
        return None
    grew_from: Sequence[int] = range(stream.partitions)
    if not files:
        grew_from = plan.expansion.initial_partitions(stream.partitions, stream.initial_partitions)
    return PartitionClaim(
        stream=stream.name,
        columns=tuple(column.name for column in map(stream.schema.get, stream.key) if column is not None),
        fields=stream.key_fields,
        key_format=stream.key_format,
        initial_partitions=tuple(grew_from),
        initial_count=stream.initial_partitions,
        hashed=not files,
        nulls_meet=stream.name in _grouped_with_nulls(plan),
    )


def _relied_on(plan: Plan) -> frozenset[str]:
    """Return the streams and operators whose partitioning decides which rows meet."""
    meeting = [name for operator in plan.operators.values() for name in _inputs_that_meet(plan, operator)]
    filling = [name for table in plan.tables.values() if not table.broadcast for name in table.fillers]
    through = frozenset(kind for kind in OperatorKind if not kind.makes_intermediate_stream)
    return _reaching(plan, [*meeting, *filling], through)


def _grouped_with_nulls(plan: Plan) -> frozenset[str]:
    """Return the streams and operators whose rows without a key surely reach a group: no operator drops them before."""
    grouped = [name for operator in plan.operators.values() if operator.spec.group_columns for name in operator.inputs]
    return _reaching(plan, grouped, _KEEP_ROWS)


def _reaching(plan: Plan, names: Iterable[str], through: Collection[OperatorKind]) -> frozenset[str]:
    """Return these streams and operators, and all that reach them through operators of some kinds."""
    waiting, found = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        operator = plan.operators.get(name)
        if name not in found and operator is not None and operator.kind in through:
            waiting += operator.inputs
        found.add(name)
    return frozenset(found)


def _inputs_that_meet(plan: Plan, operator: PlannedOperator) -> Sequence[str]:
    """Return the inputs of an operator whose rows must meet those of equal keys, in one task."""
    spec = operator.spec
    if spec.join_table is not None:
        return () if plan.tables[spec.join_table.table].broadcast else operator.inputs[:1]
    if spec.join is not None:
        return () if any(_in_every_task(plan, name) for name in operator.inputs) else operator.inputs
    return operator.inputs if spec.group_columns or spec.send_to_table is not None else ()


def _in_every_task(plan: Plan, name: str) -> bool:
    found = plan.operators.get(name) or plan.streams.get(name)
    return found is not None and found.broadcast
