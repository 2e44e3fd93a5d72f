"""The delays of results: from the time that a result names to its arrival at a consumer of committed records."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer, TopicPartition

from benchmarks.kafka_load import PARTITIONS, now

_START_SECONDS = 240.0
_FEW = 200
"""Rows a second while the app starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A generator of so many rows a second: a module, what it is given before the rate, and what behind it."""

    module: str
    before: tuple[str, ...]
    rate: int
    behind: tuple[str, ...] = ()

    def command(self, rate: int) -> list[str]:
        """Return the command that writes so many rows a second."""
        return [sys.executable, "-m", f"benchmarks.{self.module}", *self.before, str(rate), *self.behind]


def committed(servers: str, output: str) -> Consumer:
    """Open a consumer of what is committed in a topic of eight partitions, from its begin on."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "latency",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 5,
        }
    )
    consumer.assign([TopicPartition(output, partition, 0) for partition in range(PARTITIONS)])
    return consumer


def delays(
    consumer: Consumer, time_of: Callable[[bytes], int], load: Load, *, warm: float, seconds: float
) -> npt.NDArray[np.int64]:
    """Return the delays in milliseconds of results that arrive in some seconds, after others to warm up.

    `time_of` gives the time of a result in milliseconds. A few rows a second are written until there is a first result,
    so that the app has nothing to catch up with when the load begins.

    Raises:
        TimeoutError: no result has come.
    """
    deadline = time.monotonic() + _START_SECONDS
    with _running(load.command(_FEW)):
        while not [message for message in consumer.consume(1, 1.0) if message.error() is None]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"no result in {_START_SECONDS:g} s")
    begin = time.monotonic() + warm
    found: list[int] = []
    with _running(load.command(load.rate)):
        while (moment := time.monotonic()) < begin + seconds:
            messages = consumer.consume(2_000, 0.01)
            arrived = now()
            if moment > begin:
                found += [arrived - time_of(message.value() or b"") for message in messages if message.error() is None]
    return np.array(found, np.int64)


@contextmanager
def _running(command: Sequence[str]) -> Iterator[None]:
    """Run a program, and kill it at the end."""
    with subprocess.Popen(command) as process:  # noqa: S603
        try:
            yield
        finally:
            process.kill()


def described(found: Sequence[int] | npt.NDArray[np.int64]) -> str:
    """Write the percentiles of delays."""
    if not len(found):
        return "no results"
    shares = ", ".join(f"p{share} {np.percentile(found, share):.0f} ms" for share in (50, 90, 99))
    return f"{shares}, longest {max(found):.0f} ms, {len(found):,} results"
