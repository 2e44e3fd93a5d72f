"""Expansion algorithms are checked before their answers move anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.tasks import MODULO, CheckedAlgorithm, ExpansionRefusedError, built_in_algorithm


class Fixed:
    """Gives the same answers whatever it is asked."""

    def __init__(self, *answers):
        self.answers = answers

    def accepts(self, *_counts):
        return True

    def get_partition_before_expansion(self, current_partition, *_counts):
        return self.answers[current_partition]


@given(st.integers(1, 50), st.integers(1, 20))
def test_modulo_accepts_multiples(initial, factor):
    assert list(MODULO.initial_partitions(initial * factor, initial)) == list(range(initial)) * factor


@pytest.mark.parametrize("current, initial", [(5, 3), (3, 6), (0, 4), (4, 0)])
def test_modulo_refuses_all_else(current, initial):
    with pytest.raises(ExpansionRefusedError, match=f"'modulo' does not accept a growth from {initial} to {current}"):
        MODULO.initial_partitions(current, initial)


@pytest.mark.parametrize(
    "answers, complaint",
    [
        ((0, 1, 2, 0), "partition 2 of 4 to partition 2 of 2; right is only one of 0 to 1"),
        ((0, 1, -1, 0), "partition 2 of 4 to partition -1 of 2"),
        ((1, 0, 0, 1), "partition 0 of 4 to partition 1 of 2; right is only 0"),
    ],
)
def test_wrong_answers_name_the_algorithm(answers, complaint):
    algorithm = CheckedAlgorithm("ours", Fixed(*answers))

    with pytest.raises(ExpansionRefusedError, match="expansion algorithm 'ours' is wrong") as refused:
        algorithm.initial_partitions(4, 2)

    assert complaint in str(refused.value)


def test_modulo_is_built_in():
    assert built_in_algorithm("modulo") is MODULO


def test_no_other_algorithm_is_built_in():
    with pytest.raises(LookupError, match=r"no expansion algorithm 'moduli' is built in \(there is: modulo\)"):
        built_in_algorithm("moduli")
