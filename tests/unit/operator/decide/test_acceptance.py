"""Acceptance: the state of the newest spec, and which spec is active."""

from dataclasses import replace

import pytest

from streamapp_core.problems import ProblemCode
from streamapp_operator.decide.acceptance import (
    AcceptanceState,
    accept,
    plan_active_spec,
)
from streamapp_operator.decide.validation import PlanVerdict
from streamapp_operator.observe.observed_state import StreamCounts
from support.observed_values import (
    COUNTS,
    EDITED,
    GROWN,
    REFUSED,
    SHOP,
    active,
    observe,
    observe_running,
    planned,
    record,
    resource,
    stored,
    unbound_model,
)
from support.operated import PLANNER

SILENT = StreamCounts(error="nobody answers")
PENDING = StreamCounts()
ODD = StreamCounts(known={"orders": 6, "totals": 4})
"""A growth that tasks can't follow: 6 is no multiple of 4."""
LOST = "the documents of run r1 are gone"
FORBIDDEN = {"count": 2, "state": {"hostPath": "/etc"}}


@pytest.mark.parametrize(
    "observed, state, generation, message",
    [
        (observe(), AcceptanceState.ACCEPTED, 1, None),
        (observe(counts=PENDING), AcceptanceState.COUNTS_PENDING, None, None),
        (observe(counts=SILENT), AcceptanceState.SYSTEM_UNAVAILABLE, None, "nobody answers"),
        (observe(app=REFUSED), AcceptanceState.SPEC_REFUSED, None, None),
        (observe_running(), AcceptanceState.ACCEPTED, 1, None),
        (observe_running(counts=PENDING), AcceptanceState.ACCEPTED, 1, None),
        (observe_running(counts=SILENT), AcceptanceState.ACCEPTED, 1, "nobody answers"),
        (observe_running(app=EDITED), AcceptanceState.ACCEPTED, 2, None),
        (observe_running(app=EDITED, counts=PENDING), AcceptanceState.COUNTS_PENDING, 1, None),
        (observe_running(app=EDITED, counts=SILENT), AcceptanceState.SYSTEM_UNAVAILABLE, 1, "nobody answers"),
        (observe_running(app=REFUSED), AcceptanceState.SPEC_REFUSED, 1, None),
        (observe_running(counts=ODD), AcceptanceState.STREAMS_REFUSED, 1, None),
        (observe_running(app=EDITED, counts=ODD), AcceptanceState.SPEC_REFUSED, 1, None),
        (observe(unrecoverable=LOST), AcceptanceState.JOB_MODEL_LOST, None, LOST),
        (observe(unrecoverable=LOST, app=resource(runId="r2")), AcceptanceState.ACCEPTED, 1, None),
        (
            observe(unrecoverable=LOST, app=resource(runId="r1", status={"runId": "r1"})),
            AcceptanceState.JOB_MODEL_LOST,
            None,
            LOST,
        ),
    ],
    ids=[
        "first spec",
        "first spec, systems not asked yet",
        "first spec, systems unavailable",
        "first spec, refused",
        "at rest",
        "at rest, systems not asked yet",
        "at rest, systems unavailable",
        "edited",
        "edited, systems not asked yet",
        "edited, systems unavailable",
        "edit refused",
        "growth refused",
        "edit refused because of a growth",
        "job model lost",
        "job model lost, another run",
        "job model lost, the same run by name",
    ],
)
def test_the_newest_spec_becomes_active_only_when_it_is_accepted(observed, state, generation, message):
    acceptance = accept(observed, PLANNER)
    found = None if acceptance.active is None else acceptance.active.accepted.generation
    assert (acceptance.state, found, acceptance.unrecoverable or acceptance.counts_error) == (
        state,
        generation,
        message,
    )
    refused = state in (AcceptanceState.SPEC_REFUSED, AcceptanceState.STREAMS_REFUSED)
    assert bool(acceptance.problems) == refused


def test_at_rest_nothing_is_planned():
    accept(observe_running(), lambda _: pytest.fail("planned again"))


def test_counts_of_outputs_are_not_compared():
    accept(observe_running(counts=StreamCounts(known={"orders": 4})), lambda _: pytest.fail("planned again"))


def test_an_accepted_growth_is_in_the_record():
    acceptance = accept(observe_running(counts=StreamCounts(known=GROWN)), PLANNER)
    assert acceptance.active.accepted.counts == GROWN
    assert acceptance.active.record.launch.counts == COUNTS


@pytest.mark.parametrize(
    "observed, run_id",
    [
        (observe(), "fresh"),
        (observe(model=stored()), "r1"),
        (observe_running(app=EDITED), "r1"),
        (observe_running(app=resource(runId="r2")), "r2"),
    ],
    ids=["first", "record lost", "edited", "named by the spec"],
)
def test_a_run_goes_on_unless_the_spec_names_another(observed, run_id):
    assert accept(observed, PLANNER).active.accepted.run_id == run_id


@pytest.mark.parametrize(
    "observed, previous",
    [
        (observe(), None),
        (observe_running(app=EDITED), SHOP.text),
        (observe_running(counts=StreamCounts(known=GROWN)), None),
    ],
    ids=["first", "edited", "grown"],
)
def test_an_edit_is_planned_as_one_of_the_accepted_spec(observed, previous):
    requests = []
    accept(observed, lambda request: (requests.append(request), PlanVerdict(problems=(), plan=planned()))[1])
    assert [request.previous for request in requests] == [previous]


@pytest.mark.parametrize(
    "app, suspended",
    [(SHOP, False), (resource(suspend=True), True), (resource(operators=[], suspend=True), True)],
    ids=["no", "yes", "yes, in a spec that is refused"],
)
def test_suspend_counts_even_in_a_refused_spec(app, suspended):
    assert accept(observe_running(app=app), PLANNER).active.suspended is suspended


def test_the_active_spec_is_planned_with_the_counts_it_was_accepted_with():
    observed = observe_running(counts=StreamCounts(known=GROWN))
    plan = plan_active_spec(observed, active(), PLANNER).plan
    assert plan.streams["orders"].partitions == 4


def test_an_active_spec_that_this_release_refuses_has_no_plan():
    refusing = replace(observe_running(), record=record(REFUSED))
    verdict = plan_active_spec(refusing, active(REFUSED), PLANNER)
    assert (verdict.plan, [problem.code for problem in verdict.problems]) == (None, [ProblemCode.UNKNOWN_COLUMN])


def test_a_record_made_again_keeps_the_run_of_the_job_model():
    acceptance = accept(observe(model=stored(unbound_model())), PLANNER)
    assert acceptance.active.record.launch is None
    assert acceptance.active.accepted.run_id == "r1"


CERTIFIED = {"hub": {"kafka": {"bootstrapServers": "b:9092", "config": {"ssl.ca.location": "/ca.pem"}}}}


def test_a_setting_that_names_a_file_is_refused_and_the_running_app_stays():
    edited = resource(generation=2, systems=CERTIFIED)
    acceptance = accept(observe_running(app=edited, counts=SILENT), PLANNER)
    assert (acceptance.state, acceptance.active.accepted.generation) == (AcceptanceState.SPEC_REFUSED, 1)
    assert ("spec.systems.hub.kafka.config.ssl.ca.location", "NotSupported") in [
        (problem.path, problem.code) for problem in acceptance.problems
    ]


def test_an_app_that_an_earlier_release_accepted_with_such_a_setting_runs_on():
    app = resource(systems=CERTIFIED)
    acceptance = accept(observe_running(app=app, record=record(app), counts=SILENT), PLANNER)
    assert (acceptance.state, acceptance.counts_error) == (AcceptanceState.ACCEPTED, "nobody answers")


@pytest.mark.parametrize("counts", [StreamCounts(known=COUNTS), StreamCounts(known=GROWN)])
def test_what_was_accepted_keeps_what_is_not_allowed_any_more(counts):
    app = resource(processors=FORBIDDEN)
    kept = accept(observe_running(app=app, record=record(app), counts=counts), PLANNER)
    assert (kept.state, kept.problems) == (AcceptanceState.ACCEPTED, ())


def test_a_new_or_edited_spec_is_refused_for_what_is_not_allowed():
    app = resource(generation=2, processors=FORBIDDEN)
    for observed in (observe(app=app), observe_running(app=app)):
        refused = accept(observed, PLANNER)
        assert refused.state is AcceptanceState.SPEC_REFUSED
        assert {problem.code for problem in refused.problems} == {ProblemCode.NOT_ALLOWED}
