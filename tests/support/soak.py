"""An endless run under fire: records are fed while its processes and its broker die, and it must stay exact."""

import json
import os
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from types import ModuleType

from confluent_kafka import Consumer, Producer, TopicPartition

from support import numbered
from support.forked_runs import ForkedRun
from support.processes import descendants, executors_of, kill, workers_of

DEADLINE = 300.0
"""Seconds until what was fed must have come out, when nothing is killed any more."""


class Soak:
    """One app on a broker of its own: `with Soak(...) as soak:` starts it; `finish` proves that it was exact."""

    def __init__(self, folder: Path, broker, name: str, *options: str, scenario: ModuleType = numbered) -> None:
        """Take options of `streamapp run`; the scenario lays out the app and checks it, `numbered` or one over it."""
        self._scenario = scenario
        self._folder = folder
        self._broker = broker
        self._options = options
        self._log = folder / "run.log"
        system = {"kafka": {"bootstrapServers": broker.bootstrap_servers}}
        scenario.lay_out(folder, system, name, records=0, bounded=False)
        self._producer = Producer(
            {"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True, "log_level": 2}
        )
        self._topic = f"{name}.in"
        self._out = f"{name}.out"
        self.fed = 0
        self._found = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": "soak",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self.struck: Counter[str] = Counter()
        """How often a worker or an executor was there to be killed, or to be frozen."""
        self.gave_up: list[str] = []
        """What the run said last each time that it ended though nobody had killed it."""

    def __enter__(self):
        self._start()
        return self

    def __exit__(self, *_):
        kill([*descendants(self._process.pid), self._process.pid])
        self._process.wait()
        self._producer.purge()
        self._consumer.close()

    @property
    def pid(self) -> int:
        """The driver's process."""
        return self._process.pid

    def feed(self, count: int, padding: int = 0) -> None:
        """Write the next records of all keys, each key's in order; they arrive when the broker is there.

        `padding` is how many bytes each has that the app does not need.
        """
        for number in range(self.fed, self.fed + count):
            key, n = number % numbered.KEYS, number // numbered.KEYS
            value = json.dumps({"k": key, "n": n, "padding": padding * "x"})
            self._producer.produce(self._topic, value, partition=key % numbered.PARTITIONS)
            if number % 10_000 == 0:
                self._producer.flush(1)
        self.fed += count

    def works(self, seconds: float = DEADLINE) -> bool:
        """Wait until something comes out that had not; False if nothing does in that time."""
        before = self._found
        return self._count_until(before + 1, time.monotonic() + seconds) > before

    def go_on(self) -> None:
        """Wait until the driver has died at a fail-point, and start it again."""
        assert self._process.wait(DEADLINE) == -signal.SIGKILL, self._log.read_text()[-4000:]
        self._start()

    def strike(self, victim: str, random: Random) -> None:
        """Kill a worker, an executor, the driver, everything of the run, or the broker; start again what has to be.

        A worker that is `frozen` stands still and then goes on.
        """
        self._start_if_it_gave_up()
        if victim == "broker":
            self._broker.kill()
            time.sleep(random.uniform(0.1, 2.0))
            self._broker.start()
        elif victim in {"worker", "executor", "frozen"}:
            found = (executors_of if victim == "executor" else workers_of)(self._process.pid)
            for pid in random.sample(found, min(1, len(found))):
                kill([pid]) if victim != "frozen" else freeze(pid, random.uniform(15, 20))
                self.struck[victim] += 1
        else:
            kill([self._process.pid, *(descendants(self._process.pid) if victim == "everything" else ())])
            self._process.wait()
            self._start()

    def finish(self) -> None:
        """Wait until all that was fed has come out, stop the run, and prove that it was exact."""
        assert self._producer.flush(DEADLINE) == 0
        found = self._count_until(self.fed, time.monotonic() + DEADLINE)
        assert found == self.fed, self._log.read_text()[-4000:]
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(DEADLINE) == 130, self._log.read_text()[-4000:]
        self._scenario.check(self._folder, self.fed)

    def _start_if_it_gave_up(self) -> None:
        if self._process.poll() is not None:
            log = self._log.read_text()
            errors = [line for line in log.splitlines() if line.startswith("error:")]
            last = errors[-1] if errors else f"exit code {self._process.returncode}: {log[-4000:]}"
            spark = "".join(found.read_text()[-4000:] for found in self._folder.glob("**/spark.log"))
            self.gave_up.append(f"{last}\n{spark}")
            self._start()

    def _start(self) -> None:
        with self._log.open("ab") as log:
            arguments = ["run", str(self._folder / "app.yaml"), *self._options]
            self._process = ForkedRun(arguments, os.environ, log.fileno())

    def _count_until(self, wanted: int, deadline: float) -> int:
        """Count the committed records of the output; ask until there are as many as wanted."""
        if not self._consumer.assignment():
            parts = range(numbered.OUT_PARTITIONS)
            self._consumer.assign([TopicPartition(self._out, partition, 0) for partition in parts])
        while self._found < wanted and time.monotonic() < deadline:
            self._start_if_it_gave_up()
            self._found += sum(record.error() is None for record in self._consumer.consume(10_000, 0.2))
        return self._found


def freeze(pid: int, seconds: float) -> None:
    """Let a process stand still for a while; it may end before, or be killed meanwhile."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)
