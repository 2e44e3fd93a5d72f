"""Every state that the protocols can lead to is visited, within bounds; each step that is left out is missed."""

from functools import partial

import pytest

from protocol_model.commit_protocol import Bounds, Omission, State, next_states, problem
from protocol_model.exhaustive_search import search
from support.repository import ROOT

BOUNDS = [Bounds(records=3, losses=2, forgotten=1), Bounds(incarnations=3, drivers=1)]
SMALL = Bounds(drivers=1, forgotten=1)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_no_state_is_wrong_and_the_end_is_reached(bounds):
    found = search(State(), partial(next_states, bounds=bounds), problem)
    assert found.problem is None, found.way
    assert any(len(state.output) == bounds.records for state in found.last)
    assert f"{found.states:,}" in (ROOT / "docs" / "protocol-model.md").read_text()


@pytest.mark.parametrize("omitted", Omission)
def test_no_step_of_the_protocols_can_be_left_out(omitted):
    found = search(State(), partial(next_states, bounds=SMALL, omitted=omitted), problem)
    assert found.problem is not None
    assert omitted.value in (ROOT / "docs" / "protocol-model.md").read_text()


def test_the_way_to_a_problem_is_one_that_the_steps_allow():
    found = search(State(), partial(next_states, bounds=SMALL, omitted=Omission.FENCE), problem)
    state = State()
    for step in found.way:
        state = dict(next_states(state, SMALL, Omission.FENCE))[step]
    assert problem(state) == found.problem
