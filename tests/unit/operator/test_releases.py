"""A later release of the operator refuses a spec that an earlier one has accepted."""

import pytest

from streamapp_core.deployment.app_record import RECORD
from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.problems import Problem, ProblemCode
from streamapp_operator.decide.validation import PlanVerdict
from support.operated import PLANNER

PROBLEM = Problem(path="spec.job", code=ProblemCode.NOT_SUPPORTED, message="`job` can't be this")


def refuse_images_of_the_first_release(request):
    """Judge as a release does that has learned what can't be right."""
    if "streamapp:1" in request.text:
        return PlanVerdict(problems=(PROBLEM,), plan=None)
    return PLANNER(request)


@pytest.fixture
def outdated(running):
    running.planner = refuse_images_of_the_first_release
    running.start()
    running.reconcile_all()
    return running


def tasks_of(operated):
    """Return who runs which partitions."""
    return {name: (task.ssps, task.processor) for name, task in operated.model().model.tasks.items()}


def test_it_is_told_and_the_app_keeps_running(outdated):
    said = next(c for c in outdated.status()["conditions"] if c["type"] == "Ready")
    assert "an earlier release of the operator accepted the active spec" in said["message"]
    assert "spec.job: `job` can't be this" in said["message"]
    for condition, status in {"Ready": "False", "Planned": "False", "Degraded": "True"}.items():
        assert outdated.condition(condition) == (status, "RefusedByRelease")
    assert outdated.condition("DriverReady") == ("True", "Running")
    assert outdated.pods() == ["shop-driver-1"]


def test_a_driver_that_dies_is_restarted_with_its_tasks(outdated):
    before = tasks_of(outdated)
    outdated.pod_is("shop-driver-1", "Failed", exit_code=1)
    outdated.reconcile_all()
    outdated.later(minutes=2)
    outdated.runs()
    assert "shop-driver-2" in outdated.pods()
    assert outdated.condition("DriverReady") == ("True", "Running")
    assert tasks_of(outdated) == before
    assert outdated.condition("Ready") == ("False", "RefusedByRelease")


def test_an_app_that_has_completed_is_left_alone(outdated):
    outdated.reports(phase=DriverPhase.COMPLETED)
    outdated.reconcile_all()
    assert outdated.condition("Ready") == ("True", "Completed")
    for condition in ("Stalled", "Degraded"):
        assert outdated.condition(condition)[0] == "False"


def test_it_is_over_when_the_spec_is_corrected(outdated):
    outdated.apply(image="registry.invalid/streamapp:2")
    outdated.reconcile_all()
    outdated.later(minutes=2)
    outdated.runs()
    assert outdated.condition("Planned") == ("True", "Planned")
    assert outdated.condition("Degraded") == ("False", "AsExpected")


def test_fields_that_the_release_does_not_know_are_told_by_their_place(running):
    record = running.record()
    ((name, text),) = record.apps.items()
    with_another = record.model_copy(update={"apps": {name: text.replace('"spec":{', '"spec":{"gone":1,')}})
    running.store().put(RECORD, with_another.to_bytes())
    running.reconcile_all()
    said = next(c for c in running.status()["conditions"] if c["type"] == "Planned")
    assert (said["status"], said["reason"]) == ("False", "RefusedByRelease")
    assert "spec.gone: `gone` is no field here" in said["message"]
    assert running.condition("DriverReady") == ("True", "Running")
