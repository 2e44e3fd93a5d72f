"""Runs whose processors are processes that tests can find, stop and kill."""

import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from streamapp_runtime.driver.report_registry import ReportRegistry
from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.errors import Drained
from streamapp_runtime.hosts.process_host import ProcessHost
from support import apps
from support.growth import Growing

LOG = {"log": {"path": "log.db"}}
DEADLINE = 240
KEYS = 24


class SeparateMachines(ProcessHost):
    """Each incarnation is on a machine of its own: with its own state folder, and out of the driver's reach."""

    def start(self, config):
        folder = f"{config.state_folder}-on-machine-{config.incarnation.number}"
        return super().start(msgspec.structs.replace(config, state_folder=folder))

    def cancel(self, incarnation):
        """Do nothing: the machine does not answer."""


class Workers:
    """The workers of one run, and what they report."""

    registry: ReportRegistry
    host: ProcessHost

    def __init__(self, kind: type[ProcessHost] = ProcessHost):
        self._kind = kind

    def make(self, channel, name, log_folder):
        """Make the host; see `MakeHost`."""
        self.registry, self.host = channel, self._kind(channel, log_folder)
        return self.host

    def number(self, processor: str) -> int:
        """Tell which incarnation of a processor is the newest that has opened its tasks."""
        report = self.registry.reports().get(processor)
        return 0 if report is None or not report.opened else report.incarnation.number

    def commits(self, processor: str) -> int:
        """Tell how often the newest incarnation has committed."""
        report = self.registry.reports().get(processor)
        return 0 if report is None else report.commits

    def process(self, processor: str) -> subprocess.Popen:
        """Give the process of a processor's newest incarnation."""
        return self.host._processes[self.number(processor)]

    def committing(self, *processors: str, after: int = 0) -> Callable[[Summary], bool]:
        """Give what tells whether later incarnations of all these processors have committed a few times."""
        return lambda _: all(self.number(id_) > after and self.commits(id_) > 2 for id_ in processors)


Scenario = Generator[Callable[[Summary], bool], None, None]
"""What happens to a run: it yields what it waits for, asked with each summary."""


def play(app: dict, folder: Path, workers: Workers, scenario: Scenario, **options) -> Summary:
    """Run an endless app while a scenario goes on; drain the run at its end, and give the last summary."""
    deadline = time.monotonic() + DEADLINE
    waiting: Callable[[Summary], bool] | None = next(scenario)
    last: Summary | None = None

    def listener(summary):
        nonlocal waiting, last
        last = summary
        while waiting is not None and waiting(summary):
            waiting = next(scenario, None)
        assert time.monotonic() < deadline, summary

    with pytest.raises(Drained):
        apps.run(app, folder, workers.make, fresh=False, listener=listener, drain=lambda: waiting is None, **options)
    return last


@contextmanager
def feeding(source: Growing, partitions: int = 4) -> Iterator[Callable[[], None]]:
    """Write rows all the time; give what ends it."""
    ending = threading.Event()

    def feed():
        producer = source.producer("source", partitions)
        try:
            while not ending.wait(0.05):
                producer.write(*range(KEYS))
        finally:
            producer.close()

    def end():
        ending.set()
        thread.join()

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield end
    finally:
        end()
