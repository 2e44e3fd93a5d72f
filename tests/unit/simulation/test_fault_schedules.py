"""Schedules of faults follow from a seed, and shrink to the faults that are needed."""

from itertools import pairwise, permutations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from simulation.fault_schedules import (
    BEFORE_ALL_STEPS,
    FaultKind,
    asks_at_once,
    asks_for_fewer,
    lets_through,
    make_faults,
    shrink,
)
from simulation.numbered_app import MAX_AGE_MS, TOMBSTONES_MS
from simulation.simulation_run import faults_of, shape_of


@given(st.integers(0, 10_000))
def test_a_seed_gives_the_same_faults_in_order_and_in_time(seed):
    faults = make_faults(Random(seed), 40.0)
    assert faults == make_faults(Random(seed), 40.0)
    assert [fault.at for fault in faults] == sorted(fault.at for fault in faults)
    assert all(0 <= fault.at <= 40.0 for fault in faults)


@given(st.integers(0, 1_000).filter(lambda seed: len(make_faults(Random(seed), 40.0)) > 3), st.data())
def test_a_schedule_shrinks_to_the_faults_that_are_needed(seed, data):
    faults = make_faults(Random(seed), 40.0)
    needed = data.draw(st.sets(st.sampled_from(faults)))
    assert set(shrink(faults, lambda some: needed <= set(some))) == needed


def test_an_eighth_of_the_schedules_has_a_loss_of_power_soon_after_another_fault():
    schedules = [make_faults(Random(seed), 25.0) for seed in range(400)]
    soon = [
        faults
        for faults in schedules
        if any(b.kind is FaultKind.KILL_MACHINE and b.at - a.at < 6.0 for a, b in pairwise(faults))
    ]
    assert len(soon) > len(schedules) / 8


def test_a_twelfth_of_the_schedules_with_several_drivers_has_one_that_is_cut_off_beside_its_successor():
    schedules = [make_faults(Random(seed), 25.0, several=True) for seed in range(400)]
    beside = [
        faults
        for faults in schedules
        if any(
            a.kind in (FaultKind.PAUSE_DRIVER, FaultKind.CUT_DRIVER)
            and b.kind is FaultKind.SCALE
            and a.seconds > 10.0
            and not asks_at_once(b.target)
            and 0.0 < b.at - a.at < 1.5
            for a, b in permutations(faults, 2)
        )
    ]
    assert len(beside) > len(schedules) / 12


def test_a_tenth_of_the_schedules_has_the_death_of_a_worker_just_before_the_end():
    schedules = [make_faults(Random(seed), 25.0) for seed in range(400)]
    near = [faults for faults in schedules if any(f.kind is FaultKind.KILL_WORKER and f.at > 22.5 for f in faults)]
    assert len(near) > len(schedules) / 10


def test_a_sixteenth_of_the_schedules_with_several_drivers_has_workers_that_begin_beside_a_successor():
    apps = [seed for seed in range(400) if shape_of(seed).kubernetes]
    beginning = [seed for seed in apps if _begins_beside_a_successor(faults_of(seed))]
    assert len(beginning) > len(apps) / 16


def _begins_beside_a_successor(faults):
    """Return whether a worker stands still while it begins, until its driver, which is cut off, has a successor."""
    return any(
        worker.kind is FaultKind.PAUSE_STARTING_AT
        and worker.step in (BEFORE_ALL_STEPS, "InitProducerId")
        and {cut.kind for cut in faults if worker.at < cut.at < successor.at}
        >= {FaultKind.CUT_DOCUMENTS, FaultKind.CUT_DRIVER}
        and successor.kind is FaultKind.SCALE
        and not asks_at_once(successor.target)
        and successor.at < worker.at + worker.seconds - 5.0
        for worker, successor in permutations(faults, 2)
    )


def test_a_fortieth_of_the_schedules_has_workers_that_are_declared_dead_before_they_begin():
    declared = [seed for seed in range(400) if _is_declared_dead_before_it_begins(faults_of(seed))]
    assert len(declared) > 400 / 40


def _is_declared_dead_before_it_begins(faults):
    """Return whether workers that stand still before all their steps are asked to leave meanwhile, by their driver."""
    begins = [f for f in faults if f.kind is FaultKind.PAUSE_STARTING_AT and f.step == BEFORE_ALL_STEPS]
    return {lets_through(worker.target) for worker in begins} == {0, 1} and all(
        any(
            fewer.kind is FaultKind.SCALE
            and asks_at_once(fewer.target)
            and asks_for_fewer(fewer.target)
            and worker.at + 1.0 < fewer.at < worker.at + worker.seconds - 10.0
            for fewer in faults
        )
        for worker in begins
    )


def test_a_fortieth_of_the_schedules_has_a_table_that_is_young_after_each_of_two_absences_but_not_after_both():
    aging = [seed for seed in range(400) if shape_of(seed).aging]
    assert len(aging) > 400 / 40
    for faults in map(faults_of, aging):
        away = [f.seconds * 1_000 for f in faults if f.kind is FaultKind.PAUSE_STARTING_AT]
        assert len(away) == 2
        assert max(away) < MAX_AGE_MS < TOMBSTONES_MS < sum(away)
