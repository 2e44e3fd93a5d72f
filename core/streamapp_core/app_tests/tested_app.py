"""An app as its tests run it: embedded logs and files in place of its systems, and an end of each stream."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from streamapp_core.app_tests.circumstances import Circumstances
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole

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
_KEPT_OF_EVENT_TIMES = ("column", "orElse", "maxOutOfOrderness")
_REMOVED_OF_SPEC = ("runId", "suspend", "namePrefix")
"""They are about runs elsewhere."""


def build_tested_app(
    document: Mapping[str, Any], plan: Plan, circumstances: Circumstances, folder: str
) -> dict[str, Any]:
    """Return an accepted app's document with systems in a folder and streams of JSON that end.

    Systems of Kafka and logs become embedded logs, those with files or tables folders of files. Nothing depends on the
    time of day: no partition is idle, and no row too far ahead.
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
    spec["streams"] = {name: _stream(spec["streams"][name], plan.streams[name]) for name in spec["streams"]}
    job = spec["job"] = {**(spec.get("job") or {})}
    job |= {"commitInterval": circumstances.commit_interval, "watermarkInterval": "1ms"}
    if circumstances.partitions is not None:
        job["intermediateStreamPartitions"] = circumstances.partitions
    if circumstances.processors is not None:
        spec["processors"] = {"count": circumstances.processors}
    return tested


def _stream(declared: Mapping[str, Any], planned: PlannedStream) -> dict[str, Any]:
    stream = {name: declared[name] for name in _KEPT_OF_STREAMS if name in declared}
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
