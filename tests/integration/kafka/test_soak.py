"""Long runs on a broker of their own: workers, drivers and the broker die or stand still, and results stay exact.

`make test` takes a sample with fixed seeds; `make soak` sets STREAMAPP_SOAK_KILLS for more.
"""

import os
import time
from random import Random

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from support import timed
from support.processes import resident_bytes, workers_of
from support.soak import Soak
from support.waiting import eventually

KILLS = int(os.environ.get("STREAMAPP_SOAK_KILLS", "10"))
RESTARTS = 1 + KILLS // 10
ON_SPARK = 3 + KILLS // 10
FROZEN = KILLS // 25
"""Workers that stand still for longer than their transactions may take, and then go on."""

UNREACHABLE, AT_WORK = "Check that its brokers run", "times in a row"
"""Words of the errors of a run that finds no broker, and of one whose processors have failed too often."""

BACKLOG, PADDING = 150_000, 500
MEMORY = 600_000_000
"""Bytes that a worker may hold while 80 MB wait for it: it takes about 300 million when nothing waits."""


@pytest.fixture(scope="module")
def broker():
    """A broker of this module's own: its tests kill it."""
    with Broker(kafka_jars(default_cache())) as broker:
        yield broker


def under_fire(soak, victims, random):
    """Feed a little and kill something, again and again; then prove that nothing came of it.

    Three of four strikes come while the run is at work, whatever the speed of the machine; the others may come earlier.

    Of itself a run ends for one reason only: it was just being started, and found no broker for ten seconds. One that
    is at work waits for longer.
    """
    with soak:
        for number, victim in enumerate(victims):
            soak.feed(2_000)
            assert number % 4 == 3 or soak.works(), "nothing comes out any more"
            time.sleep(random.uniform(0.0, 1.0))
            soak.strike(victim, random)
        soak.finish()
    assert all(UNREACHABLE in reason and AT_WORK not in reason for reason in soak.gave_up), soak.gave_up
    assert len(soak.gave_up) <= victims.count("broker"), soak.gave_up


@pytest.mark.timeout(600 + 60 * KILLS)
def test_a_run_whose_processes_and_broker_die_again_and_again_stays_exact(tmp_path, broker):
    random = Random(5_000)
    victims = [random.choice(["worker", "worker", "driver", "everything"]) for _ in range(KILLS)]
    victims += ["broker"] * RESTARTS + ["frozen"] * FROZEN
    random.shuffle(victims)
    under_fire(Soak(tmp_path, broker, "soak", "--host", "processes", scenario=timed), victims, random)


@pytest.mark.spark
@pytest.mark.timeout(900 + 60 * ON_SPARK)
def test_a_run_on_spark_whose_processes_die_stays_exact(tmp_path, broker, monkeypatch):
    monkeypatch.setenv("STREAMAPP_SPARK_MASTER", "local-cluster[2,1,1024]")
    random = Random(6_000)
    victims = ["executor", "worker", "driver"]
    victims += random.choices([*victims, "executor", "everything"], k=ON_SPARK - len(victims))
    soak = Soak(tmp_path, broker, "soak-on-spark")
    under_fire(soak, victims, random)
    assert soak.struck["executor"] > 0


def test_memory_stays_bounded_when_much_waits_and_the_broker_stands_still_or_is_away(tmp_path, broker):
    with Soak(tmp_path, broker, "backlog", "--host", "processes") as soak:
        soak.feed(BACKLOG, PADDING)
        assert eventually(lambda: workers_of(soak.pid))
        most = most_memory(soak, 3.0)
        with broker.paused():
            most = max(most, most_memory(soak, 4.0))
        most = max(most, most_memory(soak, 3.0))
        broker.kill()
        most = max(most, most_memory(soak, 4.0))
        broker.start()
        soak.feed(2_000)  # what is written next ends a transaction that the broker forgot (docs/kafka.md)
        soak.finish()
    assert 0 < most < MEMORY
    assert soak.gave_up == []


def most_memory(soak, seconds):
    """Watch a run for a while; tell the most bytes that one of its workers held."""
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        most = max([most, *map(resident_bytes, workers_of(soak.pid))])
        time.sleep(0.1)
    return most
