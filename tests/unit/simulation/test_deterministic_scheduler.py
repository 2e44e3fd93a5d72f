"""The scheduler of simulations: one thread at a time, in simulated time, in an order that the seed decides."""

from random import Random

import pytest

from simulation.deterministic_scheduler import Scheduler, SimulatedDeath, SimulationStuck
from simulation.simulated_process import Machine, SimulatedProcess, SimulatedThreads


class Stage:
    """A scheduler with processes whose steps are written down."""

    def __init__(self, seed=1, longest=1_000.0):
        self.scheduler = Scheduler(Random(seed), longest=longest, most_turns=10_000)
        self.seen = []

    def process(self, name="p"):
        return SimulatedProcess(name, Machine("m"), self.scheduler)

    def start(self, function, process=None):
        process = process or self.process()
        return self.scheduler.start(process.name, lambda: function(process), process)

    def see(self, what):
        self.seen.append((round(self.scheduler.now, 3), what))

    def sleep(self, seconds):
        self.scheduler.wait(self.scheduler.now + seconds)


def test_time_jumps_to_what_comes_next():
    stage = Stage()

    def sleeper(seconds):
        def run(_):
            stage.sleep(seconds)
            stage.see(seconds)

        return run

    for seconds in (100.0, 5.0, 20.0):
        stage.start(sleeper(seconds))
    stage.scheduler.at(7.0, lambda: stage.see("timer"))
    stage.scheduler.run()
    assert stage.seen == [(5.0, 5.0), (7.0, "timer"), (20.0, 20.0), (100.0, 100.0)]


def test_the_order_of_what_happens_at_one_time_is_the_seeds():
    def order(seed):
        stage = Stage(seed)
        for name in "abcdef":
            stage.start(lambda process: stage.see(process.name), stage.process(name))
        stage.scheduler.run()
        return [name for _, name in stage.seen]

    assert order(1) == order(1)
    assert {tuple(order(seed)) for seed in range(10)} > {tuple(order(1))}


def test_a_killed_process_does_nothing_more_and_releases_what_it_holds():
    stage = Stage()
    victim = stage.process()

    class Resource:
        def release(self):
            stage.see("released")

    def work(process):
        process.resources.append(Resource())
        try:
            while True:
                stage.sleep(1.0)
                stage.see("works")
        finally:
            with pytest.raises(SimulatedDeath):
                process.step("close")

    stage.start(work, victim)
    stage.scheduler.at(2.5, victim.kill)
    stage.scheduler.run()
    assert stage.seen == [(1.0, "works"), (2.0, "works"), (2.5, "released")]


def test_a_paused_process_goes_on_later_and_others_meanwhile():
    stage = Stage()

    def work(process):
        for _ in range(2):
            stage.sleep(1.0)
            stage.see(process.name)

    paused = stage.process("paused")
    stage.start(work, paused)
    stage.start(work, stage.process("other"))
    stage.scheduler.at(1.5, lambda: paused.pause(10.0))
    stage.scheduler.run()
    assert stage.seen[2:] == [(2.0, "other"), (11.5, "paused")]


def test_threads_wait_for_each_other_and_for_events():
    stage = Stage()
    process = stage.process()
    threads = SimulatedThreads(process)
    event = threads.event()

    def late():
        stage.sleep(3.0)
        event.set()
        return "done"

    def work(_):
        future = threads.start("late", late)
        assert not event.wait(1.0)
        threads.wait([future], 1.0)
        stage.see(future.done())
        assert event.wait()
        threads.wait([future], None, first=True)
        stage.see(future.result())

    stage.start(work, process)
    stage.scheduler.run()
    assert stage.seen == [(2.0, False), (3.0, "done")]


def test_the_error_of_a_thread_ends_the_simulation():
    stage = Stage()

    def fail(_):
        stage.sleep(1.0)
        raise KeyError("x")

    stage.start(fail)
    stage.start(lambda _: stage.sleep(1e6))
    with pytest.raises(KeyError):
        stage.scheduler.run()
    assert stage.scheduler.now == 1.0


def test_what_never_ends_is_stuck():
    stage = Stage(longest=10.0)

    def work(_):
        while True:
            stage.sleep(1.0)

    stage.start(work)
    with pytest.raises(SimulationStuck):
        stage.scheduler.run()
