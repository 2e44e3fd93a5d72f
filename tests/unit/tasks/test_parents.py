"""The parents of a partition are where its keys may have been."""

from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.tasks import MODULO
from streamapp_core.tasks.parent_partitions import parents


@given(st.integers(1, 6), st.lists(st.integers(1, 3), max_size=4), st.integers(0, 10_000))
def test_wherever_a_key_was_is_a_parent(initial, growth, hashed):
    """Producers spread keys by hash modulo the count of their time."""
    counts = [initial]
    for factor in growth:
        counts.append(counts[-1] * factor)
    now = hashed % counts[-1]
    before = {hashed % count for count in counts} - {now}

    assert before <= set(parents(now, MODULO.initial_partitions(counts[-1], initial)))


def test_parents_are_the_older_partitions_of_one_origin():
    assert parents(9, MODULO.initial_partitions(12, 4)) == (1, 5)


def test_partitions_of_the_beginning_have_no_parents():
    assert parents(3, MODULO.initial_partitions(12, 4)) == ()
