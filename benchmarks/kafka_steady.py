"""Ten minutes at one rate: whether memory and lag stay flat. `python -m benchmarks.kafka_steady [RATE [SECONDS]]`.

The lag is what was written and not read; where the generator did not reach the rate, that is told beside it.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka_live import running
from benchmarks.kafka_load import PARTITIONS, Readings, make_topics, offer

RATE, SECONDS = 350_000, 600.0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was written and read after some seconds, and the memory of the workers then (MB)."""

    seconds: float
    written: int
    read: int
    memory: float


def main(rate: int = RATE, seconds: float = SECONDS) -> None:
    read = [0]
    looks: list[Look] = []
    with Broker(kafka_jars(default_cache())) as broker, tempfile.TemporaryDirectory() as folder:
        servers = broker.bootstrap_servers
        make_topics(servers, "in", "out")
        admin = AdminClient({"bootstrap.servers": servers})
        with running(folder, servers, "in", "out", "1s") as app:
            threading.Thread(target=_follow, args=(app, read), daemon=True).start()
            while not read[0]:
                offer(servers, "in", 1_000, 0.2, Readings())
            load = [sys.executable, "-m", "benchmarks.kafka_load", servers, "in", str(rate), str(seconds), "repeated"]
            with subprocess.Popen(load) as generator:  # noqa: S603
                before = _written(admin)
                while _written(admin) == before and generator.poll() is None:
                    time.sleep(0.05)
                began = time.monotonic()
                while _runs(generator):
                    passed, been_read = time.monotonic() - began, read[0] - before
                    looks.append(
                        Look(seconds=passed, written=_written(admin) - before, read=been_read, memory=workers(app.pid))
                    )
    _print(looks, rate)


def _runs(generator: "subprocess.Popen[bytes]") -> bool:
    """Wait until it is time for a look, or the end."""
    with suppress(subprocess.TimeoutExpired):
        generator.wait(_LOOK_SECONDS)
    return generator.returncode is None


def _follow(app: "subprocess.Popen[str]", read: list[int]) -> None:
    assert app.stdout is not None
    with suppress(ValueError):  # it was stopped, and this closed
        for line in filter(str.strip, app.stdout):
            read[0] = int(line)


def _written(admin: AdminClient) -> int:
    """Ask how many rows the generator has written."""
    ends = {TopicPartition("in", partition): OffsetSpec.latest() for partition in range(PARTITIONS)}
    return sum(int(future.result().offset) for future in admin.list_offsets(ends).values())


def _print(looks: list[Look], rate: int) -> None:
    """Print a tenth of the time in a line; behind is what was written and not read, at the rate of writing."""
    last = looks[-1]
    written = last.written / last.seconds
    print(
        f"{rate:,} rows/s wanted for {last.seconds:.0f} s, {written:,.0f} written ({written / rate:.0%}); "
        f"load {os.getloadavg()[0]:.1f}"
    )
    tenth = max(len(looks) // 10, 1)
    for start in range(0, len(looks), tenth):
        part = looks[start : start + tenth]
        behind = [(look.written - look.read) / written for look in part]
        memory = [look.memory for look in part]
        print(
            f"  until {part[-1].seconds:4.0f} s: {median(behind):5.1f} s behind (at most {max(behind):.1f}), "
            f"workers {median(memory):,.0f} MB (at most {max(memory):,.0f}), "
            f"{part[-1].written / part[-1].seconds:,.0f} rows/s written",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
