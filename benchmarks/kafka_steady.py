"""Ten minutes at half of the top rate: whether memory and lag stay flat.

`python -m benchmarks.kafka_steady [RATE [SECONDS]]`. The input holds some readings in large batches, and gets these
again and again, so that the generator takes next to nothing of the processors. The lag is what was written and not
read. At the end the counts must add up to all rows.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from confluent_kafka import Producer
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka_live import running
from benchmarks.kafka_load import PARTITIONS, InputSource, make_topics, now, send
from benchmarks.kafka_replay import Replay
from benchmarks.kafka_results import totals

RATE, SECONDS = 525_000, 600
_ROWS = 400_000
_BATCHES = {"batch.num.messages": 2_000, "linger.ms": 1_000, "queue.buffering.max.messages": _ROWS}
_INPUT_KEPT, _OUTPUT_KEPT = 320 << 20, 8 << 20
"""Bytes of a partition: half a minute of the input at the rate above, and of the output many results of each key."""
_SETTINGS = {"log.retention.check.interval.ms": 2_000, "log.segment.delete.delay.ms": 1_000}
_LOOK_SECONDS = 5.0
_TIMEOUT_SECONDS = 120.0
_PAGES = os.sysconf("SC_PAGE_SIZE") / (1 << 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at the run: rows written and read after some seconds, and the memory of the workers then (MB)."""

    seconds: float
    written: int
    read: int
    memory: float


class App:
    """An app that runs, and how many rows it has read."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.read = 0
        threading.Thread(target=self._follow, daemon=True).start()

    def runs(self) -> bool:
        """Return whether it is still running."""
        return self._process.poll() is None

    def wait(self, rows: int) -> None:
        """Wait until it has read so many rows."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while self.read < rows:
            in_time = self.runs() and time.monotonic() < deadline
            assert in_time, f"only {self.read:,} of {rows:,} rows were read"
            time.sleep(0.1)

    def memory(self) -> float:
        """Add up the resident megabytes of its Python workers (`man 5 proc_pid_stat`)."""
        found = 0.0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                values = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                if int(values[3]) == self._process.pid and "pyspark.daemon" in (stat.parent / "cmdline").read_text():
                    found += int(values[21]) * _PAGES
        return found

    def _follow(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError):  # it was stopped, and this closed
            for line in filter(str.strip, self._process.stdout):
                self.read = int(line)


def main(rate: int = RATE, seconds: int = SECONDS) -> None:
    with Broker(kafka_jars(default_cache()), settings=_SETTINGS) as broker, tempfile.TemporaryDirectory() as folder:
        servers = broker.bootstrap_servers
        make_topics(servers, "in", kept=_INPUT_KEPT)
        make_topics(servers, "out", kept=_OUTPUT_KEPT)
        _fill(servers)
        replay = Replay(broker.port, broker.data, "in", PARTITIONS)
        with running("shuffle", folder, servers, "in", "out", "1s") as process:
            app = App(process)
            app.wait(_ROWS)
            _load(app, replay, rate, seconds)
            app.wait(_ROWS + replay.rows)
        rows = _ROWS + replay.rows
        found = totals(servers, "out", replaced=True)[1]
        assert found == rows, f"the counts add up to {found:,} of {rows:,} rows"
        print(f"  the counts add up to all {rows:,} rows")


def _fill(servers: str) -> None:
    """Write what is repeated."""
    producer = Producer({"bootstrap.servers": servers, **_BATCHES})
    send(producer, "in", InputSource().batch([now()] * _ROWS))
    producer.flush()


def _load(app: App, replay: Replay, rate: int, seconds: int) -> None:
    """Write to the app's input, and tell how it did."""
    looks = [Look(seconds=0, written=0, read=0, memory=app.memory())]
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        generator = pool.submit(replay.run, rate, seconds, app.runs)
        while not wait([generator], _LOOK_SECONDS).done:
            passed, read = time.monotonic() - began, app.read - _ROWS
            looks.append(Look(seconds=passed, written=replay.rows, read=read, memory=app.memory()))
        passed = time.monotonic() - began
        written, cores = replay.rows / passed, generator.result() / passed
    print(
        f"{rate:,} rows/s wanted for {seconds} s, {written:,.0f} written in {passed:.0f} s by {cores:.3f} cores; "
        f"load {os.getloadavg()[0]:.1f}"
    )
    _print(looks)


def _print(looks: Sequence[Look]) -> None:
    """Print a tenth of the time in a line; behind is what was written and not read, at the rate of writing."""
    for tenth in range(10):
        first, last = ((len(looks) - 1) * part // 10 for part in (tenth, tenth + 1))
        if first == last:
            continue
        written = (looks[last].written - looks[first].written) / (looks[last].seconds - looks[first].seconds)
        behind = [(look.written - look.read) / written for look in looks[first + 1 : last + 1]]
        memory = [look.memory for look in looks[first + 1 : last + 1]]
        print(
            f"  until {looks[last].seconds:4.0f} s: {written:,.0f} rows/s written, "
            f"{median(behind):5.1f} s behind (at most {max(behind):.1f}), "
            f"workers {median(memory):,.0f} MB (at most {max(memory):,.0f})",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
