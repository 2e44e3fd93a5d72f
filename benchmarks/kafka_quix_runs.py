"""One run of the keyed count on Quix Streams: two processes of `kafka_quix` share the partitions."""

import json
import subprocess
import sys
import time
from pathlib import Path

from tools.kafka.jars import default_cache

from benchmarks.kafka_load import topics
from benchmarks.measured import Measured

PROCESSES = 2
QUIX = "quixstreams==3.28.1"
SCRIPT = Path(__file__).with_name("kafka_quix.py")


def quix_python() -> Path:
    """Return the interpreter of an environment that has Quix Streams, made once in the cache."""
    folder = default_cache() / QUIX
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)  # noqa: S603
        subprocess.run([python, "-m", "pip", "install", "--quiet", QUIX], check=True)  # noqa: S603
    return python


def main() -> None:
    case, folder, servers, rows, output = sys.argv[1:]
    (topic,) = topics(case, int(rows)).values()
    python = quix_python()
    began = time.time()
    processes = []
    for number in range(PROCESSES):
        command = [python, SCRIPT, f"{folder}/{number}", servers, topic, output, rows]
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
