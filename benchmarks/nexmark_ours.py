"""One run of a Nexmark query on StreamApp: `python -m benchmarks.nexmark_ours QUERY FOLDER SERVERS TOPIC OUTPUT`.

The app is that of `examples/nexmark/queries`, from topic to topic: exactly once, state on disk with a changelog; two
processors on local Spark, commits once a second.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from examples.nexmark.check import HERE

from benchmarks.ours import Watch
from streamapp_runtime.driver.run_app import run_app
from streamapp_runtime.driver.start_run import RunRequest


def document(
    query: str, servers: str, topic: str, output: str, *, bounded: bool = True, commit_interval: str = "1s"
) -> str:
    """Return the app of a query, with topics as input and output, as text."""
    app: dict[str, Any] = yaml.safe_load((HERE / "queries" / f"{query}.yaml").read_text(encoding="utf-8"))
    spec = app["spec"]
    spec["systems"] = {"files": {"file": {"path": "."}}, "kafka": {"kafka": {"bootstrapServers": servers}}}
    spec["defaultSystem"] = "kafka"
    spec["streams"]["events"] |= {"system": "kafka", "name": topic, "bounded": bounded}
    spec["streams"]["results"] |= {"system": "kafka", "name": output}
    if "side-rows" in spec["streams"]:
        spec["streams"]["side-rows"]["name"] = "side.jsonl"
    spec["job"] = {"intermediateStreamPartitions": 8, "commitInterval": commit_interval}
    return json.dumps(app)


def main() -> None:
    from streamapp_runtime.spark.spark_host import SparkHost

    query, folder, servers, topic, output = sys.argv[1:]
    watch = Watch(("events",))
    text = document(query, servers, topic, output)
    request = RunRequest(text=text, folder=Path(folder), state=Path(folder) / "state", fresh=True, run_id=output)
    summary = run_app(request, partial(watch.started, SparkHost), watch.look)
    watch.measured(summary).print()


if __name__ == "__main__":
    main()
