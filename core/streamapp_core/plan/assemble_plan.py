"""The last step of planning: all decisions, assembled as one plan."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.graph.walks import reaching_streams
from streamapp_core.naming import old_transactional_prefix, run_stream_address, transactional_prefix
from streamapp_core.plan.compared_texts import find_compared_texts
from streamapp_core.plan.delivery import default_system
from streamapp_core.plan.endless_inputs import endless_inputs
from streamapp_core.plan.growing_state import find_growing_state
from streamapp_core.plan.join_groups import Reach
from streamapp_core.plan.partition_counts import PartitionCounts
from streamapp_core.plan.plan import (
    JoinGroup,
    Mode,
    Plan,
    PlannedOperator,
    PlannedStream,
    PlannedTable,
    StreamRole,
)
from streamapp_core.plan.previous_run import PartitionKey, PreviousRun
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.plan.stream_types.check_event_time import process_order
from streamapp_core.plan.stream_types.stream_partitioning import Hashed
from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_core.schema import DataType, Schema
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.base import key_columns
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.tasks.expansion import CheckedAlgorithm


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """All decisions about an app; complete only if no problem was found."""

    graph: Graph
    counts: PartitionCounts
    expansion: CheckedAlgorithm | None
    rows: RowFlow
    types: Mapping[str, StreamType]
    broadcast: frozenset[str]
    partition_keys: Mapping[str, PartitionKey]
    stores: Mapping[str, str]
    stateful: bool


def assemble(app: StreamApp, run_id: str, draft: Draft, previous: PreviousRun | None = None) -> Plan:
    """Assemble the plan of an app without problems; `previous` is the state of the run, if it is not new."""
    system = default_system(app.spec)
    if system is None:
        raise ValueError(f"{app.metadata.name} has no default system")
    if draft.expansion is None:
        raise ValueError(f"{app.metadata.name} has no expansion algorithm")
    graph = draft.graph
    reaching = reaching_streams(graph)
    reach = Reach(draft.counts.walk)
    schemas = {name: schema for name, schema in draft.rows.schemas.items() if schema is not None}
    streams = [*_external_streams(draft), *_intermediate_streams(app, run_id, system, draft)]
    mode = Mode.STREAMING if endless_inputs(graph) else Mode.BOUNDED
    return Plan(
        app=app,
        run_id=run_id,
        transactional_prefix=_transactional_prefix(app, run_id, previous),
        mode=mode,
        default_system=system,
        streams={stream.name: stream for stream in sorted(streams, key=lambda stream: stream.name)},
        operators={
            name: _operator(operator, draft, schemas, reaching[name]) for name, operator in graph.operators.items()
        },
        tables={name: _table(name, draft, schemas) for name in sorted(app.spec.tables)},
        functions=draft.rows.functions.signatures,
        join_groups=tuple(
            JoinGroup(operator=name, streams=tuple(sorted(reach.group(name))))
            for name in sorted(draft.counts.walk.groups)
            if graph.operators[name].kind.joins
        ),
        feeding_streams={name: reaching[name] for name in sorted(draft.partition_keys)},
        partition_keys=draft.partition_keys,
        stores=draft.stores,
        stateful=draft.stateful,
        expansion=draft.expansion,
        warnings=(
            *find_compared_texts(graph, draft.rows),
            *(() if mode is Mode.BOUNDED else find_growing_state(graph, draft.types)),
        ),
    )


def _transactional_prefix(app: StreamApp, run_id: str, previous: PreviousRun | None) -> str:
    """Return how the transactional ids of a run begin: as they did, so that each owner of one fences the one before."""
    prefix = transactional_prefix(app.name_prefix, run_id)
    if previous is None or any(id_.startswith(prefix) for id_ in previous.transactional_ids):
        return prefix
    return old_transactional_prefix(app.metadata, run_id)


def _external_streams(draft: Draft) -> list[PlannedStream]:
    graph = draft.graph
    streams = []
    for name, spec in graph.spec.streams.items():
        senders = graph.senders.get(name, ())
        readers = [operator.name for operator in graph.readers.get(name, ())]
        schemas = {draft.rows.schemas[sender.inputs[0]] for sender in senders}
        schema = draft.rows.schemas[name] if not senders else schemas.pop() if len(schemas) == 1 else None
        role = StreamRole.OUTPUT if senders else StreamRole.INPUT if readers else StreamRole.SIDE_INPUT
        count = draft.counts.counts[name]
        streams.append(
            PlannedStream(
                name=name,
                role=role,
                system=spec.system,
                system_kind=graph.spec.systems[spec.system].kind,
                address=spec.name or name,
                partitions=count.partitions,
                initial_partitions=count.initial,
                rule=draft.counts.rules[name],
                broadcast=spec.broadcast,
                schema=schema,
                time_zone=graph.spec.job.time_zone,
                key=spec.key_columns,
                format=StreamFormat.ARROW if spec.control_messages else spec.format,
                producers=tuple(sorted(operator.name for operator in senders)),
                consumers=tuple(sorted([*readers, *graph.side_inputs.get(name, ())])),
                shared=spec.control_messages,
                type=draft.types[name],
                spec=spec,
            )
        )
    return streams


def _intermediate_streams(app: StreamApp, run_id: str, system: str, draft: Draft) -> list[PlannedStream]:
    streams = []
    for name, key in draft.partition_keys.items():
        operator = draft.graph.operators[name]
        count = draft.counts.counts[name]
        streams.append(
            PlannedStream(
                name=name,
                role=StreamRole.INTERMEDIATE,
                system=system,
                system_kind=app.spec.systems[system].kind,
                address=operator.shared_stream or run_stream_address(app.name_prefix, run_id, name),
                partitions=count.partitions,
                initial_partitions=count.initial,
                rule=draft.counts.rules[name],
                broadcast=key is None,
                schema=draft.rows.schemas[name],
                time_zone=app.spec.job.time_zone,
                key=key_columns(key),
                format=StreamFormat.ARROW,
                producers=tuple(sorted(operator.inputs)),
                consumers=tuple(sorted(reader.name for reader in draft.graph.readers.get(name, ()))),
                shared=operator.shared_stream is not None,
                type=draft.types[name],
                spec=None,
            )
        )
    return streams


def _operator(
    operator: Operator, draft: Draft, schemas: Mapping[str, Schema], streams: frozenset[str]
) -> PlannedOperator:
    type_ = draft.types[operator.name]
    return PlannedOperator(
        name=operator.name,
        kind=operator.kind,
        spec=operator.spec,
        inputs=operator.inputs,
        input_schemas=tuple([schemas[name] for name in operator.inputs]),
        input_types=tuple([draft.types[name] for name in operator.inputs]),
        schema=schemas[operator.name],
        key=tuple(map(min, type_.partitioning.columns)) if isinstance(type_.partitioning, Hashed) else (),
        broadcast=type_.everywhere,
        type=type_,
        compiled=draft.rows.compiled.get(operator.name),
        streams=streams,
        order=process_order(operator, draft.types),
    )


def _table(name: str, draft: Draft, schemas: Mapping[str, Schema]) -> PlannedTable:
    rows = draft.rows.tables[name]
    spec = draft.graph.spec.tables[name]
    if rows.filling is None or rows.stored is None:
        raise ValueError(f"the columns of table {name} are not known")
    fillers = [*spec.side_inputs, *(operator.name for operator in draft.graph.fillers.get(name, ()))]
    return PlannedTable(
        name=name,
        spec=spec,
        fillers=tuple(sorted(fillers)),
        row_schema=rows.filling,
        schema=rows.stored,
        key_types=rows.key_types or _compared_types(name, draft.graph, schemas),
        key=rows.key,
        value=rows.value,
        broadcast=name in draft.broadcast,
    )


def _compared_types(table: str, graph: Graph, schemas: Mapping[str, Schema]) -> tuple[DataType, ...]:
    """Return the types of the columns that joins compare with the keys of a table; none if no join does."""
    for operator in graph.of_kinds(OperatorKind.JOIN_TABLE):
        join = operator.spec.join_table
        if join is not None and join.table == table:
            found = [schemas[operator.inputs[0]].get(name) for name in join.columns]
            return tuple(column.type for column in found if column is not None)
    return ()
