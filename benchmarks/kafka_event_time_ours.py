"""One run on StreamApp: `python -m benchmarks.kafka_event_time_ours windows|pairs FOLDER SERVERS OUTPUT`.

Exactly once, state on disk with a changelog; two processors on local Spark, commits once a second.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.kafka_ours import SCHEMA, head
from benchmarks.ours import Watch
from streamapp_runtime.driver.run_app import run_app
from streamapp_runtime.driver.start_run import RunRequest

STREAMS = {"windows": ("readings",), "pairs": ("left", "right")}
OPERATORS: dict[str, list[dict[str, Any]]] = {
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


def document(case: str, servers: str, output: str) -> str:
    """Return the app of a case as text."""
    time = {"column": "at", "maxOutOfOrderness": "10s"}
    read = {"system": "kafka", "schema": SCHEMA, "key": "sensor", "bounded": True, "eventTime": time}
    spec: dict[str, Any] = {
        "systems": {"kafka": {"kafka": {"bootstrapServers": servers}}},
        "defaultSystem": "kafka",
        "streams": {
            **{stream: {**read, "name": stream} for stream in STREAMS[case]},
            "out": {"system": "kafka", "name": output, "key": "sensor"},
        },
        "operators": [*OPERATORS[case], {"name": "sent", "from": "result", "sendTo": "out"}],
        "processors": {"count": 2},
        "job": {"commitInterval": "1s"},
    }
    return head(f"bench-{case}", spec)


def main() -> None:
    from streamapp_runtime.spark.spark_host import SparkHost

    case, folder, servers, output = sys.argv[1:]
    watch = Watch(STREAMS[case])
    text = document(case, servers, output)
    request = RunRequest(text=text, folder=Path(folder), state=Path(folder) / "state", fresh=True, run_id=output)
    summary = run_app(request, partial(watch.started, SparkHost), watch.look)
    watch.measured(summary).print()


if __name__ == "__main__":
    main()
