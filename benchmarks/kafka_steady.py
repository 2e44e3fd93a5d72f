"""Ten minutes at one rate: whether memory and lag stay flat. `python -m benchmarks.kafka_steady [RATE [SECONDS]]`."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka_live import running
from benchmarks.kafka_load import make_topics

RATE, SECONDS = 100_000, 600.0
_LOOK_SECONDS = 5.0
_PAGES = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def workers(session: int) -> float:
    """Add up the resident megabytes of the Python workers of a session (`man 5 proc_pid_stat`)."""
    found = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            values = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(values[3]) == session and "pyspark.daemon" in (stat.parent / "cmdline").read_text():
                found += int(values[21]) * _PAGES
    return found


def main(rate: int = RATE, seconds: float = SECONDS) -> None:
    read = [0]
    looks: list[tuple[float, float, float]] = []
    with Broker(kafka_jars(default_cache())) as broker, tempfile.TemporaryDirectory() as folder:
        servers = broker.bootstrap_servers
        make_topics(servers, "in", "out")
        with running(folder, servers, "in", "out", "1s") as app:
            threading.Thread(target=_follow, args=(app, read), daemon=True).start()
            load = [sys.executable, "-m", "benchmarks.kafka_load", servers, "in", str(rate), str(seconds)]
            with subprocess.Popen(load) as generator:  # noqa: S603
                began = time.monotonic()
                while generator.poll() is None:
                    time.sleep(_LOOK_SECONDS)
                    passed = time.monotonic() - began
                    looks.append((passed, rate * passed - read[0], workers(app.pid)))
    _print(looks, rate)


def _follow(app: "subprocess.Popen[str]", read: list[int]) -> None:
    assert app.stdout is not None
    for line in filter(str.strip, app.stdout):
        read[0] = int(line)


def _print(looks: list[tuple[float, float, float]], rate: int) -> None:
    print(f"{rate:,} rows/s for {looks[-1][0]:.0f} s; load {os.getloadavg()[0]:.1f}")
    tenth = max(len(looks) // 10, 1)
    for start in range(0, len(looks), tenth):
        part = looks[start : start + tenth]
        seconds, lags, sizes = zip(*part, strict=True)
        print(
            f"  until {seconds[-1]:4.0f} s: {median(lags) / rate:5.1f} s behind (at most {max(lags) / rate:.1f}), "
            f"workers {median(sizes):,.0f} MB (at most {max(sizes):,.0f})",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
