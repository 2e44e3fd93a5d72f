"""The latency of Nexmark queries at a fixed rate, exactly once: StreamApp beside Flink.

From the event's time of sending to its committed result, as a consumer of committed records gets it. A result of a
window counts from the time when an event is sent that makes it final: the window's end, and the four seconds that
events may be late.
"""

import argparse
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from examples.nexmark.generate import write_files
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.flink_sql import BACKENDS, classes
from benchmarks.flink_sql import HERE as FLINK
from benchmarks.kafka_live import running
from benchmarks.kafka_load import PARTITIONS, make_topics
from benchmarks.latency import Load, committed, delays, described

RATES = (10_000, 20_000)
SECONDS, WARM_SECONDS = 40.0, 20.0
LATE, WINDOW = 4_000, 10_000
"""Milliseconds by which events may be late, and of the windows."""
OURS = "streamapp"
SYSTEMS: Mapping[str, Sequence[str]] = {
    OURS: ("10ms", "20ms", "100ms"),
    **{f"flink-{backend}": ("100ms", "1s") for backend in BACKENDS},
}
"""The systems, each with its times between commits."""


class _Result(msgspec.Struct):
    dateTime: datetime | None = None  # noqa: N815 - Nexmark's
    window_end: datetime | None = None


def _milliseconds(moment: datetime | None) -> int:
    assert moment is not None, "a result has no time"
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1_000)


TIMES: Mapping[str, Callable[[_Result], int]] = {
    "q01": lambda result: _milliseconds(result.dateTime),
    "q05": lambda result: _milliseconds(result.window_end) + LATE,
    "q07": lambda result: _milliseconds(result.dateTime) // WINDOW * WINDOW + WINDOW + LATE,
}
"""The queries, each with the time in milliseconds from which the delay of a result counts."""


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks nexmark_latency", description=__doc__)
    parser.add_argument("--rates", nargs="+", type=int, default=[*RATES], help="events a second")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long delays are measured")
    parser.add_argument("--queries", nargs="+", choices=TIMES, default=[*TIMES])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[*SYSTEMS])
    parser.add_argument("--intervals", nargs="+", help="times between commits, in place of each system's own")
    options = parser.parse_args(arguments)
    classes(kafka_jars(default_cache(), FLINK / "pom.xml"))
    with Broker(kafka_jars(default_cache())) as broker:
        runs = itertools.product(options.queries, options.rates, options.systems)
        for query, rate, system in runs:
            for interval in options.intervals or SYSTEMS[system]:
                run = Live(query=query, system=system, interval=interval, servers=broker.bootstrap_servers)
                found = run.measure(rate, options.seconds)
                title = f"{query}, {rate:,} events/s, {system}, commits every {interval}"
                print(f"{title}: {found}; load {os.getloadavg()[0]:.1f}", flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """A query on a system, with its time between commits."""

    query: str
    system: str
    interval: str
    servers: str

    def measure(self, rate: int, seconds: float) -> str:
        """Return the delays of the results at so many events a second, in words."""
        name = f"{self.query}-{rate}-{self.system}-{self.interval}"
        topic, output = f"in-{name}", f"out-{name}"
        make_topics(self.servers, topic, output)
        consumer = committed(self.servers, output)
        decode, time_of = msgspec.json.Decoder(_Result).decode, TIMES[self.query]
        load = Load(module="nexmark_load", before=(self.servers, topic), rate=rate)
        with self._running(topic, output):
            try:
                times = delays(consumer, lambda value: time_of(decode(value)), load, warm=WARM_SECONDS, seconds=seconds)
            except TimeoutError as error:
                return str(error)
            finally:
                consumer.close()
        return described(times)

    @contextmanager
    def _running(self, topic: str, output: str) -> Iterator[None]:
        """Run the query in a process of its own until the end of the block."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            write_files(Path(folder), (), PARTITIONS)  # the side input of q13 must be there
            arguments = (self.query, folder, self.servers, topic, output, self.interval)
            if self.system == OURS:
                with running(*arguments):
                    yield
                return
            backend = self.system.removeprefix("flink-")
            command = [sys.executable, "-m", "benchmarks.nexmark_flink", backend, *arguments]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:  # noqa: S603
                try:
                    yield
                finally:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
