"""A plan for people and programs: a JSON document, rows of a table, a Mermaid diagram (docs/planner.md)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streamapp_core.graph.graph import written_name
from streamapp_core.plan.plan import Plan, PlannedStream, PlanResult, StreamRole
from streamapp_core.plan.plan_figure import Node, NodeKind, draw_plan
from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_core.problems import PlanWarning, Problem
from streamapp_core.spec.operators import OperatorSpec

_SHAPES = {
    NodeKind.STREAM: '[("{}")]',
    NodeKind.OPERATOR: '["{}"]',
    NodeKind.INTERMEDIATE: '[["{}"]]',
    NodeKind.TABLE: '{{{{"{}"}}}}',
}
"""The shapes of nodes in Mermaid's diagrams."""


class StreamRow(NamedTuple):
    """One line of the table of streams; `grew_from` is empty where the count is the initial one."""

    stream: str
    role: str
    system: str
    partitions: str
    grew_from: str
    rule: str
    schema: str


class TypeRow(NamedTuple):
    """One line of the table of types: the rows that are read from a stream, or that an operator emits.

    `split` has the partition counts of the streams that bring them: rows of two operators may meet if these are equal.
    """

    name: str
    kind: str
    partitioning: str
    split: str
    changes: str


class StepRow(NamedTuple):
    """One line of the table of steps: an operator that a query has become."""

    step: str
    kind: str
    reads: str
    does: str


def to_document(result: PlanResult, job_model: Mapping[str, object] | None) -> dict[str, Any]:
    """Return the document that `streamapp plan --output json` prints.

    `job_model` is the document of the job model; a refused spec has none.
    """
    plan = result.plan
    document: dict[str, Any] = {
        "accepted": plan is not None,
        "problems": [problem_document(problem) for problem in result.problems],
        "warnings": [],
        "mode": None,
        "timeZone": None,
        "streams": {},
        "types": {},
        "joinGroups": [],
        "jobModel": None,
        "steps": [],
    }
    if plan is not None and job_model is not None:
        document["mode"] = str(plan.mode)
        document["timeZone"] = plan.app.spec.job.time_zone
        document["warnings"] = [warning_document(warning) for warning in plan.warnings]
        document["streams"] = {name: _stream(stream) for name, stream in plan.streams.items()}
        document["types"] = {name: _type(plan, name) for name in _edges_with_types(plan)}
        document["joinGroups"] = [
            {"operator": group.operator, "streams": list(group.streams)} for group in plan.join_groups
        ]
        document["jobModel"] = dict(job_model)
        document["steps"] = [row._asdict() for row in to_step_rows(plan)]
    return document


def to_rows(plan: Plan) -> Sequence[StreamRow]:
    """Return the lines of the table of streams, by role and name."""
    order = list(StreamRole)
    return [
        StreamRow(
            stream=stream.name
            if stream.spec is not None or not stream.shared
            else f"{stream.name} as {stream.address}",
            role=str(stream.role),
            system=stream.system,
            partitions=str(stream.partitions),
            grew_from="" if stream.initial_partitions == stream.partitions else str(stream.initial_partitions),
            rule=str(stream.rule),
            schema="" if stream.schema is None else str(stream.schema),
        )
        for stream in sorted(plan.streams.values(), key=lambda stream: (order.index(stream.role), stream.name))
    ]


def to_type_rows(plan: Plan) -> Sequence[TypeRow]:
    """Return the lines of the table of types, in the order of the data."""
    rows = []
    for name in _edges_with_types(plan):
        type_, kind = _type_of(plan, name), plan.operators[name].kind if name in plan.operators else "stream"
        split = ", ".join(map(str, _split(plan, name)))
        rows.append(
            TypeRow(name=name, kind=str(kind), partitioning=str(type_), split=split, changes=str(type_.changes))
        )
    return rows


def to_step_rows(plan: Plan) -> Sequence[StepRow]:
    """Return the lines of the table of steps: query by query, in the order of the data."""
    rows = []
    for query in plan.app.spec.operators:
        if query.sql is None:
            continue
        for name, operator in plan.operators.items():
            if written_name(name) == query.name:
                does = _does(_written(operator.spec)[operator.kind])
                rows.append(StepRow(step=name, kind=operator.kind, reads=", ".join(operator.inputs), does=does))
    return rows


def _written(spec: OperatorSpec) -> dict[str, object]:
    return spec.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)


def _does(value: object) -> str:
    """Write the field of an operator in a line."""
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_does(part)}" for name, part in value.items())
    return ", ".join(map(_does, value)) if isinstance(value, list) else " ".join(str(value).split())


def _edges_with_types(plan: Plan) -> Sequence[str]:
    """Name the streams that are read, then the operators that emit rows."""
    read = [stream.name for stream in plan.streams.values() if stream.role in (StreamRole.INPUT, StreamRole.SIDE_INPUT)]
    return [*read, *(name for name, operator in plan.operators.items() if not operator.kind.terminal)]


def _type_of(plan: Plan, name: str) -> StreamType:
    return plan.operators[name].type if name in plan.operators else plan.streams[name].type


def _type(plan: Plan, name: str) -> dict[str, object]:
    schema = plan.operators[name].schema if name in plan.operators else plan.streams[name].schema
    document = {"schema": None if schema is None else str(schema), **_type_of(plan, name).document()}
    return {**document, "splitBy": list(_split(plan, name))}


def _split(plan: Plan, name: str) -> Sequence[int]:
    """Return the partition counts, when the run began, of the streams that bring the rows; none if in every task."""
    if _type_of(plan, name).everywhere:
        return ()
    own = name in plan.streams and plan.streams[name].role is not StreamRole.OUTPUT
    streams = [name] if own else plan.operators[name].streams
    return sorted({plan.streams[s].initial_partitions for s in streams if not plan.streams[s].broadcast})


def to_mermaid(plan: Plan, *, types: bool = False) -> str:
    """Draw streams, operators and tables from left to right; what goes through a table is dotted.

    With `types`, each arrow bears what is known of the rows that take it.
    """
    figure = draw_plan(plan)
    lines = ["flowchart LR", *(f"  {node.id}{_SHAPES[node.kind].format(_text(node))}" for node in figure.nodes)]
    for edge in figure.edges:
        label = f'|"{type_text(plan, edge.rows)}"|' if types and edge.rows is not None else ""
        lines.append(f"  {edge.source} {'-.->' if edge.by_table else '-->'}{label} {edge.target}")
    return "\n".join(lines) + "\n"


def _text(node: Node) -> str:
    return "<br/>".join(filter(None, (node.name, node.label)))


def type_text(plan: Plan, name: str) -> str:
    """Return what is known of the rows of a stream or an operator: how they are partitioned, and what they replace."""
    type_ = _type_of(plan, name)
    return f"{type_}, {type_.changes}"


def problem_document(problem: Problem) -> dict[str, Any]:
    """Return a problem as programs read it."""
    document: dict[str, Any] = {"path": problem.path, "code": str(problem.code), "message": problem.message}
    if problem.repair is not None:
        edits = [{"op": e.op, "path": e.pointer, "value": e.value} for e in problem.repair.edits]
        document["repair"] = {"text": problem.repair.text, "edits": edits}
    return document


def warning_document(warning: PlanWarning) -> dict[str, str]:
    """Return a warning as programs read it."""
    return {
        "path": warning.path,
        "code": str(warning.code),
        "message": warning.message,
        "repair": warning.repair,
    }


def _stream(stream: PlannedStream) -> dict[str, Any]:
    document: dict[str, Any] = {
        "role": str(stream.role),
        "system": stream.system,
        "partitions": stream.partitions,
        "initialPartitions": stream.initial_partitions,
        "rule": str(stream.rule),
    }
    if stream.role is StreamRole.INTERMEDIATE:
        document |= {"producers": list(stream.producers), "consumers": list(stream.consumers)}
        document |= {"stream": stream.address} if stream.shared else {}
    return document
