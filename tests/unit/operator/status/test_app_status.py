"""The status as a whole: the phase, stable times, and what is written when."""

from dataclasses import replace

import pytest

from streamapp_core.deployment.driver_reports import DriverPhase, StateSize, StreamProgress
from streamapp_core.problems import PlanWarning, Problem, ProblemCode, WarningCode
from streamapp_operator.decide.acceptance import Acceptance, AcceptanceState
from streamapp_operator.decide.actions import ActionKind
from streamapp_operator.decide.driver_decision import DriverDecision, DriverState
from streamapp_operator.decide.reconciliation import Decision, Outcome
from streamapp_operator.observe.observed_state import AppMemory
from streamapp_operator.status.app_status import build_status, report_status
from streamapp_operator.status.status_inputs import StatusInputs
from support.observed_values import (
    EDITED,
    SECOND,
    active,
    bound_model,
    driver,
    later,
    launch,
    locality,
    observe,
    observe_running,
    planned,
    progress,
    record,
    resource,
    stored,
)

MODEL = bound_model(node0="node-a", node1="node-b")
RUNS = DriverDecision(state=DriverState.RUNNING, pod=driver(ready=True))
ACCEPTED = Acceptance(state=AcceptanceState.ACCEPTED, active=active())
RUNNING = observe_running(model=stored(MODEL), progress=progress(), locality=locality(MODEL))
OUTCOME = Outcome(acceptance=ACCEPTED, driver_decision=RUNS, model=MODEL, plan=planned())
PROBLEM = Problem(path="spec", code=ProblemCode.INVALID_SPEC, message="wrong")


def decision(outcome=OUTCOME):
    return Decision(actions=(), memory=AppMemory(), outcome=outcome)


def in_state(state, **fields):
    return replace(OUTCOME, driver_decision=DriverDecision(state=state, **fields))


def refused(state):
    return Outcome(acceptance=Acceptance(state=state, active=None, problems=(PROBLEM,)))


def status_of(observed=RUNNING, outcome=OUTCOME, refusal=None):
    return build_status(StatusInputs.of(observed, outcome, refusal))


def with_status(observed, status, **fields):
    return replace(observed, app=replace(observed.app, status=status), **fields)


@pytest.mark.parametrize(
    "observed, outcome, phase",
    [
        (RUNNING, OUTCOME, "Running"),
        (observe_running(), OUTCOME, "Starting"),
        (RUNNING, replace(OUTCOME, acceptance=replace(ACCEPTED, counts_error="nobody answers")), "Degraded"),
        (RUNNING, in_state(DriverState.LAUNCHING), "Starting"),
        (RUNNING, in_state(DriverState.STARTING), "Starting"),
        (RUNNING, in_state(DriverState.DRAINING), "Draining"),
        (RUNNING, in_state(DriverState.SUSPENDED), "Suspended"),
        (RUNNING, in_state(DriverState.COMPLETED), "Completed"),
        (observe(), refused(AcceptanceState.SPEC_REFUSED), "Refused"),
        (observe(), refused(AcceptanceState.JOB_MODEL_LOST), "Refused"),
        (observe(), refused(AcceptanceState.COUNTS_PENDING), "Pending"),
        (observe(), refused(AcceptanceState.SYSTEM_UNAVAILABLE), "Pending"),
    ],
)
def test_the_phase_is_the_conditions_in_one_word(observed, outcome, phase):
    assert status_of(observed, outcome)["phase"] == phase


def test_a_running_app_shows_its_plan_its_driver_and_its_progress():
    shown = progress(streams={"orders": StreamProgress(read=7)})
    status = status_of(replace(RUNNING, progress=shown))
    assert status["plan"] == {
        "mode": "streaming",
        "tasks": 4,
        "jobModelVersion": MODEL.version,
        "topology": planned().topology_hash,
        "streams": {name: stream.partitions for name, stream in MODEL.streams.items()},
    }
    assert status["driver"] == {"epoch": 1, "cause": "FirstStart", "deaths": 0}
    assert status["progress"] == {"phase": "Running", "streams": {"orders": {"read": 7}}}
    assert (status["processors"], status["runId"]) == ({"ready": 2}, "r1")
    assert status["selector"] == "streamapp.dev/app=shop,streamapp.dev/role=processor"


def test_progress_shows_the_size_of_the_state():
    shown = progress(state={"total": StateSize(entries=3, bytes=4_096)})
    status = status_of(replace(RUNNING, progress=shown))
    assert status["progress"]["state"] == {"total": {"entries": 3, "bytes": 4_096}}


def test_the_plan_shows_its_warnings():
    warning = PlanWarning(path="spec", code=WarningCode.STATE_GROWS, message="m", repair="r")
    plan = replace(planned(), warnings=(warning,))
    assert status_of(RUNNING, replace(OUTCOME, plan=plan))["plan"]["warnings"] == ["spec: StateGrows: m; r"]


def test_problems_are_cut_to_what_the_schema_admits():
    long = Problem(path="p" * 5_000, code=ProblemCode.INVALID_SPEC, message="m" * 5_000)
    acceptance = Acceptance(state=AcceptanceState.SPEC_REFUSED, active=None, problems=(long,) * 200)
    problems = status_of(observe(), Outcome(acceptance=acceptance))["problems"]
    assert len(problems) == 100
    assert (len(problems[0]["path"]), len(problems[0]["message"])) == (1_024, 4_096)
    assert problems[0]["message"].endswith("…")


def test_what_shows_that_a_run_has_begun_stays_when_its_documents_are_lost():
    before = {"runId": "r1", "plan": {"tasks": 4}, "driver": {"epoch": 3}, "progress": {"phase": "Running"}}
    status = status_of(observe(app=resource(status=before)), refused(AcceptanceState.JOB_MODEL_LOST))
    assert {name: status.get(name) for name in before} == {**before, "progress": None}


class TestTimes:
    def test_a_transition_has_its_time_and_the_others_keep_theirs(self):
        before = status_of()
        after = status_of(later(with_status(RUNNING, before), SECOND), in_state(DriverState.SUSPENDED))
        times = {entry["type"]: entry["lastTransitionTime"] for entry in after["conditions"]}
        changed = {kind for kind, time in times.items() if time == "2025-01-01T00:00:01Z"}
        assert changed == {"DriverReady", "ProcessorsReady", "Ready"}

    def test_another_reason_alone_is_no_transition(self):
        first = observe_running(model=stored(MODEL))
        starting = status_of(first, in_state(DriverState.STARTING))
        after = status_of(later(with_status(first, starting), SECOND), in_state(DriverState.SUSPENDED))
        (ready,) = [entry for entry in after["conditions"] if entry["type"] == "Ready"]
        assert (ready["reason"], ready["lastTransitionTime"]) == ("Suspended", "2025-01-01T00:00:00Z")

    def test_every_condition_is_of_the_newest_generation(self):
        status = status_of(replace(RUNNING, app=EDITED))
        assert {entry["observedGeneration"] for entry in status["conditions"]} == {2}
        assert status["observedGeneration"] == 2


class TestActions:
    def test_a_change_is_written_and_then_its_events_are_emitted(self):
        kinds = [action.action_kind for action in report_status(RUNNING, decision())]
        assert kinds[0] is ActionKind.WRITE_STATUS
        assert set(kinds[1:]) == {ActionKind.EMIT_EVENT}

    def test_at_rest_nothing_is_written(self):
        unchanged = later(with_status(RUNNING, status_of()), 60 * SECOND)
        assert list(report_status(unchanged, decision())) == []

    def test_without_an_outcome_the_status_stays(self):
        assert list(report_status(RUNNING, decision(None))) == []

    def test_a_refusal_shows_the_state_before_the_actions(self):
        launching = replace(
            in_state(DriverState.LAUNCHING), acceptance=replace(ACCEPTED, active=active(launch=launch(2)))
        )
        observed = observe_running(pods=())
        status = next(report_status(observed, decision(launching), "violates PodSecurity")).status
        reasons = {entry["type"]: entry["reason"] for entry in status["conditions"]}
        assert (reasons["DriverReady"], reasons["Degraded"]) == ("Refused", "Refused")
        assert status["driver"]["epoch"] == 1


class TestInputs:
    NEXT = replace(OUTCOME, acceptance=replace(ACCEPTED, active=active(EDITED, launch=launch(2))))

    @pytest.mark.parametrize(
        "observed, refusal, epoch, version",
        [
            (observe_running(), None, 2, MODEL.version),
            (observe_running(), "no", 1, 1),
            (observe(), None, 2, MODEL.version),
            (observe(), "no", None, None),
        ],
        ids=["done", "refused", "done for the first time", "refused the first time"],
    )
    def test_they_are_those_after_the_actions_unless_one_was_refused(self, observed, refusal, epoch, version):
        found = StatusInputs.of(observed, self.NEXT, refusal)
        assert (None if found.launch is None else found.launch.epoch) == epoch
        assert (None if found.model is None else found.model.version) == version
        assert found.wanted == 2

    @pytest.mark.parametrize(
        "report, expected",
        [
            (progress(), ("0", "1")),
            (progress(running=("1", "5")), ("1",)),
            (progress(epoch=2), ()),
            (progress(DriverPhase.STARTING, running=()), ()),
            (None, ()),
        ],
        ids=["all", "one that is not in the job model", "another epoch's", "none yet", "no report"],
    )
    def test_processors_run_if_the_newest_driver_says_so(self, report, expected):
        assert StatusInputs.of(replace(RUNNING, progress=report), OUTCOME).running == expected

    def test_before_anything_was_accepted_there_is_nothing(self):
        found = StatusInputs.of(observe(record=record()), refused(AcceptanceState.COUNTS_PENDING))
        assert (found.launch, found.report, found.running, found.state, found.executor_problem) == (
            None,
            None,
            (),
            None,
            None,
        )
        assert found.wanted == 0
