"""A plan for people and programs: a JSON document, rows of a table, a Mermaid diagram (docs/planner.md)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streamapp_core.plan.plan import Plan, PlannedStream, PlanResult, StreamRole
from streamapp_core.problems import Problem


class StreamRow(NamedTuple):
    """One line of the table of streams; `grew_from` is empty where the count is the initial one."""

    stream: str
    role: str
    system: str
    partitions: str
    grew_from: str
    rule: str
    schema: str


def to_document(result: PlanResult, job_model: Mapping[str, object] | None) -> dict[str, Any]:
    """Return the document that `streamapp plan --output json` prints.

    `job_model` is the document of the job model; a refused spec has none.
    """
    plan = result.plan
    document: dict[str, Any] = {
        "accepted": plan is not None,
        "problems": [_problem(problem) for problem in result.problems],
        "mode": None,
        "streams": {},
        "joinGroups": [],
        "jobModel": None,
    }
    if plan is not None and job_model is not None:
        document["mode"] = str(plan.mode)
        document["streams"] = {name: _stream(stream) for name, stream in plan.streams.items()}
        document["joinGroups"] = [
            {"operator": group.operator, "streams": list(group.streams)} for group in plan.join_groups
        ]
        document["jobModel"] = dict(job_model)
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


def to_mermaid(plan: Plan) -> str:
    """Draw streams, operators and tables from left to right; what goes through a table is dotted."""
    external = [stream for stream in plan.streams.values() if stream.role is not StreamRole.INTERMEDIATE]
    lines = ["flowchart LR"]
    lines += [f'  {_id("s", stream.name)}[("{stream.name}<br/>{_partitions(stream)}")]' for stream in external]
    for operator in plan.operators.values():
        if operator.kind.makes_intermediate_stream:
            stream = plan.streams[operator.name]
            label = f"{operator.kind}{f' to {stream.address}' if stream.shared else ''}, {_partitions(stream)}"
            lines.append(f'  {_id("o", operator.name)}[["{operator.name}<br/>{label}"]]')
        else:
            lines.append(f'  {_id("o", operator.name)}["{operator.name}<br/>{operator.kind}"]')
    lines += [f'  {_id("t", name)}{{{{"{name}"}}}}' for name in plan.tables]
    lines += [f"  {source} {arrow} {target}" for source, arrow, target in _edges(plan)]
    return "\n".join(lines) + "\n"


def _edges(plan: Plan) -> list[tuple[str, str, str]]:
    edges = []
    for operator in plan.operators.values():
        node = _id("o", operator.name)
        edges += [(_node(plan, name), "-->", node) for name in operator.inputs]
        if operator.spec.send_to is not None:
            edges.append((node, "-->", _id("s", operator.spec.send_to)))
        if operator.spec.send_to_table is not None:
            edges.append((node, "-.->", _id("t", operator.spec.send_to_table)))
        if operator.spec.join_table is not None:
            edges.append((_id("t", operator.spec.join_table.table), "-.->", node))
    for name, table in plan.tables.items():
        edges += [(_id("s", stream), "-.->", _id("t", name)) for stream in table.spec.side_inputs]
    return edges


def _node(plan: Plan, name: str) -> str:
    return _id("o" if name in plan.operators else "s", name)


def _id(kind: str, name: str) -> str:
    """Return the id of a node: dashes could be taken for an arrow, and `end` for a keyword."""
    return f"{kind}_{name.replace('-', '_')}"


def _partitions(stream: PlannedStream) -> str:
    return f"{stream.partitions} partition{'' if stream.partitions == 1 else 's'}"


def _problem(problem: Problem) -> dict[str, Any]:
    document: dict[str, Any] = {"path": problem.path, "code": str(problem.code), "message": problem.message}
    if problem.repair is not None:
        edits = [{"op": e.op, "path": e.pointer, "value": e.value} for e in problem.repair.edits]
        document["repair"] = {"text": problem.repair.text, "edits": edits}
    return document


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
