"""One run of a Kafka case on StreamApp: `python -m benchmarks.kafka_ours CASE FOLDER SERVERS ROWS OUTPUT`.

Exactly once, state on disk with a changelog, output as a topic; two processors on local Spark, commits once a second.
"""

import json
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.kafka_load import topics
from benchmarks.ours import Watch
from streamapp_runtime.driver.run_app import run_app
from streamapp_runtime.driver.start_run import RunRequest

SCHEMA = "sensor string, value int, at bigint, site string, note string"
_NEEDED = {"name": "needed", "from": "readings", "map": "sensor, value, at"}
_COUNTED = {"by": ["sensor"], "select": "count(*) as readings, sum(value) as total, max(at) as at"}
OPERATORS: dict[str, list[dict[str, Any]]] = {
    "count": [{"name": "result", "from": "readings", "aggregate": _COUNTED}],
    "shuffle": [
        _NEEDED,
        {"name": "by-sensor", "from": "needed", "partitionBy": {"key": "sensor"}},
        {"name": "result", "from": "by-sensor", "aggregate": _COUNTED},
    ],
    "join": [
        _NEEDED,
        {"name": "result", "from": "needed", "joinTable": {"table": "places", "on": "sensor", "type": "left"}},
    ],
    "windows": [
        {"name": "needed", "from": "readings", "map": "sensor, value"},
        {
            "name": "result",
            "from": "needed",
            "window": {"tumbling": "1m", "by": ["sensor"], "select": "count(*) as readings, sum(value) as total"},
        },
    ],
    "pairs": [
        {"name": "lefts", "from": "left", "map": "sensor, value"},
        {"name": "rights", "from": "right", "map": "sensor, value as other"},
        {"name": "both", "from": "lefts", "join": {"with": "rights", "on": "sensor", "type": "inner", "within": "10s"}},
        {"name": "result", "from": "both", "map": "sensor, 1 as readings, value + other as total"},
    ],
}
_TIME = {"eventTime": {"column": "at", "maxOutOfOrderness": "10s"}}
PLACES = {"system": "files", "format": "parquet", "schema": "sensor string, floor int, room string", "broadcast": True}


def document(
    case: str,
    servers: str,
    read: Mapping[str, str],
    output: str,
    *,
    bounded: bool,
    commit_interval: str,
    processors: int = 2,
) -> str:
    """Return the app of a case as text; `read` has the topics of its streams."""
    stream = {"system": "kafka", "schema": SCHEMA, "key": "sensor", "bounded": bounded}
    stream |= _TIME if case in {"windows", "pairs"} else {}
    spec: dict[str, Any] = {
        "systems": {"kafka": {"kafka": {"bootstrapServers": servers}}},
        "defaultSystem": "kafka",
        "streams": {
            **{name: {**stream, "name": topic} for name, topic in read.items()},
            "out": {"system": "kafka", "name": output, "key": "sensor"},
        },
        "operators": [*OPERATORS[case], {"name": "sent", "from": "result", "sendTo": "out"}],
        "processors": {"count": processors},
        "job": {"intermediateStreamPartitions": 8, "commitInterval": commit_interval},
    }
    if case == "join":
        spec["systems"]["files"] = {"file": {"path": "."}}
        spec["streams"]["rooms"] = {**PLACES, "name": "places"}
        spec["tables"] = {"places": {"sideInputs": ["rooms"], "key": "sensor", "value": "floor, room"}}
    return head(f"bench-{case}", spec)


def head(name: str, spec: dict[str, Any]) -> str:
    """Return an app as text."""
    kind = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp"}
    return json.dumps({**kind, "metadata": {"name": name}, "spec": spec})


def main() -> None:
    from streamapp_runtime.spark.spark_host import SparkHost

    case, folder, servers, rows, output = sys.argv[1:]
    read = topics(case, int(rows))
    watch = Watch(tuple(read))
    text = document(case, servers, read, output, bounded=True, commit_interval="1s")
    request = RunRequest(text=text, folder=Path(folder), state=Path(folder) / "state", fresh=True, run_id=output)
    summary = run_app(request, partial(watch.started, SparkHost), watch.look)
    watch.measured(summary).print()


if __name__ == "__main__":
    main()
