"""An app that runs until it is stopped: `python -m benchmarks.kafka_live CASE FOLDER SERVERS TOPIC OUTPUT INTERVAL`.

A case of `benchmarks.kafka_ours`, or a Nexmark query, on two processors, with commits at the interval. Prints how many
rows were read, a line a look; a line on its standard input stops it.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks import kafka_ours, nexmark_ours
from streamapp_runtime.driver.run_app import run_app
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.errors import Drained


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run the app in a process; it is stopped at the end."""
    command = [sys.executable, "-m", "benchmarks.kafka_live", *arguments]
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.communicate("stop\n", timeout=60)


def main() -> None:
    from streamapp_runtime.spark.spark_host import SparkHost

    case, folder, servers, topic, output, interval = sys.argv[1:]
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    if case in kafka_ours.OPERATORS:
        read = {"readings": topic}
        text = kafka_ours.document(case, servers, read, output, bounded=False, commit_interval=interval)
    else:
        text = nexmark_ours.document(case, servers, topic, output, bounded=False, commit_interval=interval)
    request = RunRequest(text=text, folder=Path(folder), state=Path(folder) / "state", fresh=True, run_id=output)

    def tell(summary: Summary) -> None:
        print(sum(stream.read for stream in summary.streams if stream.name in {"readings", "events"}), flush=True)

    with suppress(Drained):
        run_app(request, SparkHost, tell, drain=stop.is_set)


if __name__ == "__main__":
    main()
