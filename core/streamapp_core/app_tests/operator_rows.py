"""The rows that operators emit, in streams of their own: of an app that is tested or sampled they are looked at."""

from collections.abc import Iterable, Mapping
from typing import Any

from streamapp_core.app_tests.tested_outputs import find_output
from streamapp_core.plan.plan import Plan, PlannedOperator, StreamRole
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.spec.streams import StreamChanges

_LONGEST = 50
"""Characters of an operator's name that the name of the stream of its rows has: 63 are the most."""


def output_stream(name: str, plan: Plan) -> str:
    """Return the stream with the rows of an output or operator of a plan."""
    return name if name in plan.streams and plan.streams[name].role is StreamRole.OUTPUT else f"{name[:_LONGEST]}--rows"


def add_operator_rows(spec: dict[str, Any], plan: Plan, names: Iterable[str], system: str) -> None:
    """Add streams in a system, which is an embedded log, with the rows of operators of a plan; others emit none."""
    emitting = [name for name in names if name in plan.operators and find_output(name, plan) is not None]
    spec["streams"] |= {output_stream(name, plan): _stream(plan.operators[name], system) for name in emitting}
    spec["operators"] = [*spec["operators"], *(_sender(output_stream(name, plan), name) for name in emitting)]


def _stream(operator: PlannedOperator, system: str) -> Mapping[str, Any]:
    """Return the stream of an operator's rows; where they are changes, it has those that delete, too."""
    changes = {"changes": StreamChanges.LOG.value} if isinstance(operator.type.changes, Upsert) else {}
    return {"system": system, "partitions": 1, **changes}


def _sender(stream: str, operator: str) -> Mapping[str, Any]:
    return {"name": f"{stream}-out", "from": operator, "sendTo": stream}
