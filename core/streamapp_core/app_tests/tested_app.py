"""An app as its tests run it: embedded logs and files in place of its systems, and an end of each stream."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from streamapp_core.app_tests.circumstances import Circumstances
from streamapp_core.app_tests.operator_rows import add_operator_rows
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole

KEPT_OF_STREAMS = (
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
"""What of a stream's declaration is about its rows, not about where and how they are kept."""
_KEPT_OF_EVENT_TIMES = ("column", "orElse", "maxOutOfOrderness", "idleTimeout")
_REMOVED_OF_SPEC = ("runId", "suspend", "namePrefix")
"""They are about runs elsewhere."""


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
    add_operator_rows(spec, plan, expected, plan.default_system)
    job = spec["job"] = {**(spec.get("job") or {})}
    job |= {"commitInterval": circumstances.commit_interval, "watermarkInterval": "1ms", "onBrokenClaim": "fail"}
    if circumstances.partitions is not None:
        job["intermediateStreamPartitions"] = circumstances.partitions
    if circumstances.processors is not None:
        spec["processors"] = {"count": circumstances.processors}
    return tested


def _stream(declared: Mapping[str, Any], planned: PlannedStream, plan: Plan) -> dict[str, Any]:
    stream = {name: declared[name] for name in KEPT_OF_STREAMS if name in declared}
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
