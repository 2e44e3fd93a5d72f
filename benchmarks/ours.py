"""One run of a case on StreamApp: `python -m benchmarks.ours flights|count FOLDER`, with two processors on local Spark.

The folder has the input; exactly-once, state on disk with a changelog, outputs as files.
"""

import json
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from benchmarks.measured import Measured, arguments
from streamapp_runtime.driver.run_app import MakeHost, run_app
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.hosts.processor_host import ProcessorHost

PROCESSORS = 2
EXAMPLE = Path(__file__).parents[1] / "examples" / "flights" / "app.yaml"
INPUTS = {"flights": "flights", "count": "readings"}

COUNT = {
    "apiVersion": "streamapp.dev/v1alpha1",
    "kind": "StreamApp",
    "metadata": {"name": "count"},
    "spec": {
        "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "state/log.db"}}},
        "defaultSystem": "log",
        "streams": {
            "readings": {
                "system": "files",
                "format": "json",
                "schema": "sensor string, value int, at timestamp, site string",
            },
            "counts": {"system": "files", "name": "out/counts", "format": "parquet"},
        },
        "operators": [
            {"name": "needed", "from": "readings", "map": "sensor, value"},
            {"name": "by-sensor", "from": "needed", "partitionBy": {"key": "sensor"}},
            {
                "name": "running",
                "from": "by-sensor",
                "aggregate": {"by": ["sensor"], "select": "count(*) as readings, sum(value) as total"},
            },
            {"name": "sent", "from": "running", "sendTo": "counts"},
        ],
        "job": {"intermediateStreamPartitions": 4, "commitInterval": "1s"},
    },
}


def document(case: str, processors: int = PROCESSORS) -> str:
    """Return the app of a case as text."""
    app: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")) if case == "flights" else COUNT
    return json.dumps(app | {"spec": app["spec"] | {"processors": {"count": processors}}})


def run(case: str, folder: Path, make_host: MakeHost, *, processors: int = PROCESSORS) -> Measured:
    """Run a case to its end."""
    watch = Watch((INPUTS[case],))
    text = document(case, processors)
    request = RunRequest(text=text, folder=folder, state=folder / "state", fresh=True, run_id="r1")
    summary = run_app(request, partial(watch.started, make_host), watch.look)
    return watch.measured(summary)


@dataclass(slots=True)
class Watch:
    """Notes when the host was ready, and how far the inputs had been read when."""

    streams: tuple[str, ...]
    began: float = 0.0
    seen: list[tuple[float, int]] = field(default_factory=list)

    def started(self, make_host: MakeHost, *arguments: Any) -> ProcessorHost:
        host = make_host(*arguments)
        self.began = time.monotonic()
        return host

    def look(self, summary: Summary) -> None:
        self.seen.append((time.monotonic(), self._read(summary)))

    def measured(self, summary: Summary) -> Measured:
        """Steady is from a third to nine tenths of the rows; the last look but one is when all had ended.

        Processors tell what they have read in large steps, so both ends must be of the same kind.
        """
        rows = self._read(summary)
        start, before = next((when, read) for when, read in self.seen if read >= rows / 3)
        end, after = next((when, read) for when, read in self.seen if read >= 0.9 * rows)
        steady = (after - before) / (end - start) if before < after else None
        return Measured(seconds=self.seen[-2][0] - self.began, steady=steady)

    def _read(self, summary: Summary) -> int:
        return sum(each.read for each in summary.streams if each.name in self.streams)


def main() -> None:
    from streamapp_runtime.spark.spark_host import SparkHost

    case, folder = arguments()
    run(case, Path(folder), SparkHost).print()


if __name__ == "__main__":
    main()
