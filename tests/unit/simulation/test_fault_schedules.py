"""Schedules of faults follow from a seed, and shrink to the faults that are needed."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from simulation.fault_schedules import make_faults, shrink


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
