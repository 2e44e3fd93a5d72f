"""An app as its tests run it: embedded logs and files in place of its systems, and an end of each stream."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from streamapp_core.app_tests.circumstances import Circumstances
from streamapp_core.app_tests.tested_outputs import find_output
from streamapp_core.plan.plan import Plan, PlannedOperator, PlannedStream, StreamRole
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.spec.streams import StreamChanges

_KEPT_OF_STREAMS = (
    "system",
    "schema",
    "key",
    "changes",
    "debezium",
    "partitioned",
    "keyFormat",
    "partitioner",
    "broadcast",
)
_KEPT_OF_EVENT_TIMES = ("column", "orElse", "maxOutOfOrderness", "idleTimeout")
_REMOVED_OF_SPEC = ("runId", "suspend", "namePrefix")
"""They are about runs elsewhere."""
_LONGEST = 50
"""Characters of an operator's name that the name of the stream of its rows has: 63 are the most."""


def build_tested_app(
    document: Mapping[str, Any], plan: Plan, circumstances: Circumstances, folder: str, expected: Iterable[str] = ()
) -> dict[str, Any]:
    """Return an accepted app's document with systems in a folder and streams of JSON that end.

    Systems of Kafka and logs become embedded logs, those with files or tables folders of files, and changes of tables
    records of the default system, since files delete nothing. Nothing depends on the time of day: no row is too far
    ahead. A row in the partition of another key ends the app. The rows of operators in `expected` go to streams of
    their own, too (`output_stream`).
    """
    tested = deepcopy(dict(document))
    spec = tested["spec"]
    for name in _REMOVED_OF_SPEC:
        spec.pop(name, None)
    spec["systems"] = {
        name: {"log": {"path": f"{folder}/{name}.db"}}
        if system.kind.transactional
        else {"file": {"path": f"{folder}/{name}"}}
        for name, system in plan.app.spec.systems.items()
    }
    spec["streams"] = {name: _stream(spec["streams"][name], plan.streams[name], plan) for name in spec["streams"]}
    emitting = [name for name in expected if name in plan.operators and find_output(name, plan) is not None]
    operators = [plan.operators[name] for name in emitting]
    spec["streams"] |= {output_stream(operator.name, plan): _tap(operator, plan) for operator in operators}
    taps = [_sender(operator.name, plan) for operator in operators]
    spec["operators"] = [*spec["operators"], *taps]
    job = spec["job"] = {**(spec.get("job") or {})}
    job |= {"commitInterval": circumstances.commit_interval, "watermarkInterval": "1ms", "onBrokenClaim": "fail"}
    if circumstances.partitions is not None:
        job["intermediateStreamPartitions"] = circumstances.partitions
    if circumstances.processors is not None:
        spec["processors"] = {"count": circumstances.processors}
    return tested


def output_stream(name: str, plan: Plan) -> str:
    """Return the stream with the rows of an output or operator in a tested app."""
    return name if name in plan.streams and plan.streams[name].role is StreamRole.OUTPUT else f"{name[:_LONGEST]}--rows"


def _tap(operator: PlannedOperator, plan: Plan) -> dict[str, Any]:
    """Return the stream of an operator's rows; where they are changes, it has those that delete, too."""
    changes = {"changes": StreamChanges.LOG.value} if isinstance(operator.type.changes, Upsert) else {}
    return {"system": plan.default_system, "partitions": 1, **changes}


def _sender(name: str, plan: Plan) -> dict[str, Any]:
    stream = output_stream(name, plan)
    return {"name": f"{stream}-out", "from": name, "sendTo": stream}


def _stream(declared: Mapping[str, Any], planned: PlannedStream, plan: Plan) -> dict[str, Any]:
    stream = {name: declared[name] for name in _KEPT_OF_STREAMS if name in declared}
    if planned.spec is not None and planned.spec.changes.is_read and not planned.system_kind.transactional:
        stream["system"] = plan.default_system
    if planned.role is StreamRole.OUTPUT:
        if planned.system_kind.transactional:
            stream["partitions"] = planned.partitions
        return stream
    if planned.schema is not None:
        stream["schema"] = str(planned.schema)
    event_time = declared.get("eventTime")
    if event_time is not None:
        stream["eventTime"] = {name: event_time[name] for name in _KEPT_OF_EVENT_TIMES if name in event_time}
    return {**stream, "bounded": True}
