"""What happens to runs in tests of supervision, on a log or on a broker; the results must be exact in the end."""

import signal
import time
from pathlib import Path

from streamapp_runtime.driver.run_record import Summary
from streamapp_runtime.driver.timeouts import Timeouts
from support.growth import Growing
from support.supervision import scaled
from support.waiting import eventually
from support.workers import SeparateMachines, Workers, feeding, play

IMPATIENT = Timeouts(report=15.0)
"""Declares dead who is silent for 15 s; who works reports twice a second, on a slow machine less often."""

PATIENT = Timeouts(report=60.0, drain=60.0)
"""Declares nobody dead who lives, however slow the machine is."""


def worker_dies(source: Growing, folder: Path) -> Summary:
    """Kill a worker; the other one goes on and never notices."""
    workers = Workers()

    def scenario():
        yield workers.committing("0", "1")
        victim, other, before = workers.number("0"), workers.number("1"), workers.commits("1")
        workers.process("0").kill()
        yield workers.committing("0", after=victim)
        yield lambda _: workers.commits("1") > before
        assert workers.number("1") == other
        stop_feeding()
        yield source.all_counted

    with feeding(source) as stop_feeding:
        return play(source.document(), folder, workers, scenario(), timeouts=PATIENT)


def worker_hangs(source: Growing, folder: Path) -> Summary:
    """Stop a worker; it is killed, and the other one goes on."""
    workers = Workers()

    def scenario():
        yield workers.committing("0", "1")
        hanging, other = workers.process("0"), workers.number("1")
        hanging.send_signal(signal.SIGSTOP)
        yield workers.committing("0", after=other)
        assert hanging.wait(60) == -signal.SIGKILL
        assert workers.number("1") == other
        stop_feeding()
        yield source.all_counted

    with feeding(source) as stop_feeding:
        return play(source.document(), folder, workers, scenario(), timeouts=IMPATIENT)


def zombie_comes_back(source: Growing, folder: Path, stopped_seconds: float) -> Summary:
    """Stop a worker on a machine that nobody reaches; when it goes on, others have its tasks, and it ends by itself."""
    workers = Workers(SeparateMachines)

    def scenario():
        yield workers.committing("0", "1")
        zombie, other = workers.process("0"), workers.number("1")
        zombie.send_signal(signal.SIGSTOP)
        while source.locked():
            zombie.send_signal(signal.SIGCONT)
            assert eventually(lambda: not source.locked())
            zombie.send_signal(signal.SIGSTOP)
        until = time.monotonic() + stopped_seconds
        yield workers.committing("0", after=other)
        yield lambda _: time.monotonic() > until
        successor = workers.number("0")
        zombie.send_signal(signal.SIGCONT)
        yield lambda _: zombie.poll() is not None
        assert zombie.returncode == 0
        before = workers.commits("0")
        yield lambda _: workers.commits("0") > before
        assert (workers.number("0"), workers.number("1")) == (successor, other)
        stop_feeding()
        yield source.all_counted

    with feeding(source) as stop_feeding:
        return play(source.document(), folder, workers, scenario(), timeouts=IMPATIENT)


def tasks_change_hands(source: Growing, folder: Path) -> Summary:
    """Go from two processors to three and to one while rows come; who keeps its tasks is not disturbed."""
    workers, wanted = Workers(), []

    def scenario():
        yield workers.committing("0", "1")
        wanted.append(3)
        yield workers.committing("2")
        yield workers.committing("0", "1")
        assert sum(workers.number(id_) <= 2 for id_ in ("0", "1")) == 1
        newest = workers.number("2")
        wanted.append(1)
        yield workers.committing("0", after=newest)
        stop_feeding()
        yield source.all_counted

    with feeding(source) as stop_feeding:
        return play(
            source.document(),
            folder,
            workers,
            scenario(),
            requested_change=lambda run: scaled(run, wanted.pop()) if wanted else None,
            timeouts=PATIENT,
        )
