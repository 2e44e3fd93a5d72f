"""The embedded log of a simulation: what is left of it after deaths and losses of power."""

from random import Random

import pytest

from simulation.deterministic_scheduler import SimulatedDeath
from simulation.numbered_app import HUB, Row
from simulation.simulated_log import SimulatedLog, describe
from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import TransactionOwner

SEEDS = range(30)
SSP = Ssp(HUB, "in", 0)
ROWS = 40


class Process:
    """One that dies at the point of this number in its transactions."""

    def __init__(self, dies_at=0):
        self.left = dies_at
        self.dead = False

    def step(self, what):
        self.point(what)

    def point(self, what):
        self.left -= 1
        self.dead |= self.left == 0
        self.raise_if_dead()

    def raise_if_dead(self):
        if self.dead:
            raise SimulatedDeath


@pytest.fixture
def log(tmp_path):
    log = SimulatedLog(tmp_path)
    log.create({"in": 1})
    log.write(rows(0), {"in": 1}, now=1)
    yield log
    log.close()


def rows(first):
    return [Row(key="k", number=number, at=0) for number in range(first, first + ROWS)]


def numbers(log):
    return [row["n"] for partition in log.read("in") for row in partition]


def producer(log, process):
    opened = log.open_producer([describe("in")], TransactionOwner(id="app", epoch=1), process)
    log.keep(opened)
    for row in rows(ROWS):
        opened.send(SSP, row.value, key=b"k", timestamp=1)
    return opened


def test_of_a_process_that_dies_in_a_transaction_nothing_is_left(log):
    for point in (1, 2, 3):
        with pytest.raises(SimulatedDeath):
            producer(log, Process(dies_at=point)).commit()
        assert numbers(log) == [*range(ROWS)]


def after_loss_of_power_in_a_commit(log, seed):
    process = Process()
    writing = producer(log, process)

    def lose_power():
        process.dead = True
        log.lose_power(Random(seed))

    log.images.at_commit = lose_power
    with pytest.raises(SimulatedDeath):
        writing.commit()
    return numbers(log)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_loss_of_power_in_a_commit_leaves_all_of_it_or_nothing(log, seed):
    assert after_loss_of_power_in_a_commit(log, seed) in ([*range(ROWS)], [*range(2 * ROWS)])


def test_what_was_synced_is_never_lost_and_what_was_not_is_sometimes(tmp_path):
    left = {"FULL": set(), "NORMAL": set()}
    for synchronous, counts in left.items():
        for seed in SEEDS:
            folder = tmp_path / f"{synchronous}-{seed}"
            folder.mkdir()
            log = SimulatedLog(folder)
            log.create({"in": 1})
            log.write(rows(0), {"in": 1}, now=1)
            committing = producer(log, Process())
            committing._connection.execute(f"PRAGMA synchronous = {synchronous}")
            committing.commit()
            log.lose_power(Random(seed))
            counts.add(len(numbers(log)))
            log.close()
    assert left == {"FULL": {2 * ROWS}, "NORMAL": {ROWS, 2 * ROWS}}
