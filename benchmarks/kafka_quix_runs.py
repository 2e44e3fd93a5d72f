"""One run of the keyed count on Quix Streams: two processes of `kafka_quix` share the partitions."""

import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.kafka import ROWS, quix_python
from benchmarks.measured import Measured

PROCESSES = 2
SCRIPT = Path(__file__).with_name("kafka_quix.py")


def main() -> None:
    _, folder, servers, topic, output = sys.argv[1:]
    began = time.time()
    processes = []
    for number in range(PROCESSES):
        command = [quix_python(), SCRIPT, f"{folder}/{number}", servers, topic, output, str(ROWS[topic])]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))  # noqa: S603
    seen = [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]
    end = max(when for looks in seen for when, _ in looks[:-1])
    steady = sum(_rate(looks) for looks in seen)
    Measured(seconds=end - began, steady=steady).print()


def _rate(looks: list[tuple[float, int]]) -> float:
    """Rows a second of one process, from its first third on; the last look is when it had been idle for a while."""
    when, count = next(look for look in looks if look[1] >= looks[-1][1] / 3)
    return (looks[-2][1] - count) / (looks[-2][0] - when)


if __name__ == "__main__":
    main()
