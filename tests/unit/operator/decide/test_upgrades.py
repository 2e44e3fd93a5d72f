"""Whether an upgrade has come to run, has failed, and can be rolled back."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamapp_core.problems import Problem, ProblemCode
from streamapp_operator.decide.driver_decision import decide_driver
from streamapp_operator.decide.upgrades import decide_upgrade
from streamapp_operator.decide.validation import PlanVerdict
from streamapp_operator.observe.observed_state import AppMemory
from streamapp_operator.observe.pod_problems import PodProblem
from streamapp_operator.observe.resource_views import PodPhase
from support.observed_values import (
    EDITED,
    NOW,
    SECOND,
    SHOP,
    active,
    driver,
    executor,
    launch,
    locality,
    observe_running,
    record,
    resource,
    stored,
    unbound_model,
)
from support.operated import PLANNER

MINUTE = timedelta(minutes=1)
STARTING = driver(2, started_at=NOW)
NO_IMAGE = PodProblem(reason="ImagePullFailed", message="pod p: no image")
NO_NODE = PodProblem(reason="Unschedulable", message="pod p: no node")
ATTACHED = PodProblem(reason="FailedAttachVolume", message="pod p: Multi-Attach error")
NEW_IMAGE = resource(generation=2, image="registry.invalid/streamapp:2")
IMPATIENT = resource(generation=2, job={"commitInterval": "5s"}, upgrade={"deadline": "30s"})
PATIENT = resource(generation=2, job={"commitInterval": "5s"}, upgrade={"rollBack": False})
HARMLESS = resource(generation=2, restartPolicy={"backoff": "1s"})
USED_UP = resource(generation=2, job={"commitInterval": "5s"}, restartPolicy={"maxRestarts": 0})


def upgraded(app=EDITED, **fields):
    """Make a record of an app that ran, was edited, and has been launched with the edit."""
    launched = launch(2, app, first_epoch=2, first_at=NOW, **fields)
    edited = record(app, launched, app)
    apps = {**record().apps, **edited.apps}
    return edited.model_copy(update={"ready": record().accepted, "apps": apps})


def decided(app=EDITED, *pods, after=15 * MINUTE, planner=PLANNER, given=None, **fields):
    given = upgraded(app) if given is None else given
    observed = observe_running(app=app, record=given, model=stored(epoch=2), pods=pods, now=NOW + after, **fields)
    spec = replace(active(app), record=given)
    return decide_upgrade(observed, spec, decide_driver(observed, spec), planner)


def outcome(decision):
    if decision.blocked is not None:
        return "blocked"
    return "rolled back" if decision.active.record.failed_upgrade is not None else decision.wake_at


def stuck(problem=NO_IMAGE):
    return driver(2, phase=PodPhase.PENDING, problem=problem)


def dead(epoch=2):
    return driver(epoch, phase=PodPhase.FAILED, started_at=NOW, finished_at=NOW + SECOND, exit_code=1)


REFUSED = AppMemory(refused_epoch=2, refusal="exceeded quota")


@pytest.mark.parametrize(
    "decision, expected",
    [
        (decided(EDITED, STARTING, after=14 * MINUTE), NOW + 15 * MINUTE),
        (decided(EDITED, STARTING), "rolled back"),
        (decided(EDITED, STARTING, executor(1, epoch=2)), "rolled back"),
        (decided(EDITED, STARTING, executor(1, epoch=2), executor(2, epoch=2)), None),
        (decided(IMPATIENT, STARTING, after=29 * SECOND), NOW + 30 * SECOND),
        (decided(IMPATIENT, STARTING, after=30 * SECOND), "rolled back"),
        (decided(EDITED, stuck(), after=59 * SECOND), NOW + MINUTE),
        (decided(EDITED, stuck(), after=MINUTE), "rolled back"),
        (decided(EDITED, stuck(NO_NODE), after=MINUTE), NOW + 15 * MINUTE),
        (decided(EDITED, stuck(NO_NODE)), "rolled back"),
        (decided(EDITED, stuck(ATTACHED), after=MINUTE), NOW + 15 * MINUTE),
        (decided(EDITED, STARTING, executor(1, epoch=2, problem=NO_IMAGE), after=MINUTE), "rolled back"),
        (decided(EDITED, STARTING, executor(1, epoch=1, problem=NO_IMAGE), after=MINUTE), NOW + 15 * MINUTE),
        (decided(EDITED, dead(), after=2 * SECOND), NOW + 15 * MINUTE),
        (decided(EDITED, dead(), after=2 * SECOND, given=upgraded(attempt=2)), "rolled back"),
        (decided(USED_UP, dead(), after=2 * SECOND), "rolled back"),
        (decided(EDITED, after=MINUTE, memory=REFUSED), NOW + 15 * MINUTE),
        (decided(PATIENT, STARTING), None),
        (decided(HARMLESS, STARTING), None),
        (decided(EDITED, driver(2, deleting_at=NOW + 16 * MINUTE)), None),
        (decided(SHOP, STARTING, given=record(launch=launch(2))), None),
        (decided(EDITED, STARTING, given=upgraded().model_copy(update={"ready": None})), None),
        (decided(EDITED, STARTING, locality=locality(unbound_model())), "rolled back"),
    ],
    ids=[
        "starting",
        "at the deadline",
        "with too few executors at the deadline",
        "all executors run: tasks may restore their state",
        "starting, with a deadline of its own",
        "at its own deadline",
        "stuck",
        "stuck for a minute",
        "without a node",
        "without a node at the deadline",
        "another node has its volume",
        "an executor is stuck",
        "one of the previous driver is stuck",
        "died",
        "died three times in a row",
        "restarts used up",
        "a pod was made since it was refused",
        "not wanted",
        "an edit without effect on drivers",
        "on its way out",
        "the spec that ran",
        "nothing ran before",
        "the image that ran has opened state",
    ],
)
def test_an_upgrade_that_does_not_come_to_run_is_rolled_back(decision, expected):
    assert outcome(decision) == expected


def refuse(_):
    problem = Problem(path="spec.operators[0]", code=ProblemCode.UNKNOWN_COLUMN, message="it keeps other state")
    return PlanVerdict(problems=(problem,), plan=None)


OPENED = locality(unbound_model()).model_copy(update={"epoch": 2})
NEW_RUN = upgraded(run_id="r2")
BLOCKED = "It is not rolled back, as {}. Correct the spec: the next edit is tried at once"


@pytest.mark.parametrize(
    "decision, why",
    [
        (
            decided(EDITED, STARTING, planner=refuse),
            "generation 1 does not fit the run any more (spec.operators[0]: it keeps other state)",
        ),
        (
            decided(NEW_IMAGE, STARTING, locality=OPENED),
            "tasks have opened their state with image registry.invalid/streamapp:2, and registry.invalid/streamapp:1 "
            "may not read it",
        ),
        (decided(EDITED, STARTING, given=NEW_RUN), "run r2 has begun and run r1 is over"),
    ],
    ids=["the planner refuses the way back", "another image has opened state", "a new run"],
)
def test_what_cannot_be_undone_is_not_rolled_back(decision, why):
    assert decision.blocked.endswith(BLOCKED.format(why))
    assert decision.active.accepted.generation == 2


def test_a_spec_that_runs_is_noted_once():
    running = decided(EDITED, driver(2, ready=True))
    assert running.active.record.ready == running.active.record.accepted
    assert outcome(running) is None
    again = decided(EDITED, driver(2, ready=True), given=running.active.record)
    assert again.active.record is running.active.record


def test_the_way_back_takes_the_newest_partition_counts():
    grown = upgraded(counts={"orders": 8, "new": 1})
    accepted = grown.accepted.model_copy(update={"counts": {"orders": 8, "new": 1}})
    decision = decided(EDITED, STARTING, given=grown.model_copy(update={"accepted": accepted}))
    assert decision.active.accepted.counts == {"orders": 8, "totals": 4}
    assert decision.active.accepted.generation == 1
