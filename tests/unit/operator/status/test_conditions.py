"""The conditions of an app, from what was observed and decided."""

from dataclasses import replace

import pytest

from streamapp_core.crd.status_model import ConditionStatus
from streamapp_core.deployment.driver_reports import BrokenClaim, DriverPhase, Notice, NoticeReason, Stall
from streamapp_core.problems import Problem, ProblemCode
from streamapp_operator.decide.acceptance import Acceptance, AcceptanceState
from streamapp_operator.decide.driver_decision import DriverDecision, DriverState
from streamapp_operator.decide.restarts import DriverDeath
from streamapp_operator.observe.observed_state import StreamCounts
from streamapp_operator.observe.pod_problems import PodProblem
from streamapp_operator.status.conditions import ConditionValue, find_conditions, observed_generation
from streamapp_operator.status.status_inputs import StatusInputs
from support.observed_values import (
    NOW,
    SECOND,
    active,
    bound_model,
    driver,
    executor,
    locality,
    observe,
    observe_running,
    progress,
)

MODEL = bound_model(node0="node-a", node1="node-b")
ACCEPTED = Acceptance(state=AcceptanceState.ACCEPTED, active=active())
PROBLEM = Problem(path="spec.operators[0]", code=ProblemCode.UNKNOWN_COLUMN, message="no column amout")
OTHER = Problem(path="spec.streams", code=ProblemCode.STREAM_NOT_FOUND, message="no topic orders")
NO_IMAGE = PodProblem(reason="ImagePullFailed", message="pod p: no such image")
NO_NODE = PodProblem(reason="Unschedulable", message="pod e: 0/3 nodes")
RUNS = DriverDecision(state=DriverState.RUNNING, pod=driver(ready=True))
STARTS = DriverDecision(state=DriverState.STARTING, pod=driver())
STUCK = DriverDecision(state=DriverState.STARTING, pod=driver(problem=NO_IMAGE))
LOST = "the documents of run r1 are gone"


def in_state(state, **fields):
    return DriverDecision(state=state, **fields)


def died(attempt=1, *, used_up=False):
    restart_at = None if used_up else NOW + 5 * SECOND
    death = DriverDeath(at=NOW, message="driver shop-driver-1 ended", attempt=attempt, restart_at=restart_at)
    return in_state(DriverState.FAILED if used_up else DriverState.BACKING_OFF, attempt=attempt, death=death)


def inputs(decision=RUNS, acceptance=ACCEPTED, *, observed=None, model=MODEL, **fields):
    """Give the inputs of an app that runs as it should, but for what a test says."""
    observed = observe_running(progress=progress(), locality=locality(MODEL)) if observed is None else observed
    return StatusInputs(
        observed=observed, acceptance=acceptance, driver_decision=decision, model=model, wanted=2, **fields
    )


def of_acceptance(state, *, active=ACCEPTED.active, **reasons):
    acceptance = Acceptance(state=state, active=active, **reasons)
    return inputs(acceptance=acceptance) if active is not None else inputs(None, acceptance, model=None)


def seen(decision=RUNS, *, pods=(), refusal=None, **fields):
    """Give the inputs of an app of which something else was observed."""
    return inputs(decision, observed=observe_running(pods=pods, **fields), refusal=refusal)


def check(values, condition, expected):
    value = values[condition]
    assert (value.status.value, value.reason) == expected


SPEC_REFUSED = of_acceptance(AcceptanceState.SPEC_REFUSED, problems=(PROBLEM,))
STREAMS_REFUSED = of_acceptance(AcceptanceState.STREAMS_REFUSED, problems=(PROBLEM, OTHER))
NEVER_ACCEPTED = of_acceptance(AcceptanceState.SPEC_REFUSED, active=None, problems=(PROBLEM,))
PENDING = of_acceptance(AcceptanceState.COUNTS_PENDING, active=None)
UNAVAILABLE = of_acceptance(AcceptanceState.SYSTEM_UNAVAILABLE, active=None, counts_error="nobody answers")
SILENT = of_acceptance(AcceptanceState.ACCEPTED, counts_error="nobody answers")
ROLLED_BACK = of_acceptance(AcceptanceState.UPGRADE_ROLLED_BACK)
JOB_MODEL_LOST = of_acceptance(AcceptanceState.JOB_MODEL_LOST, active=None, unrecoverable=LOST)
COMPLETED = seen(in_state(DriverState.COMPLETED), progress=progress(DriverPhase.COMPLETED))
SUSPENDED = seen(in_state(DriverState.SUSPENDED))
DRAINING = seen(in_state(DriverState.DRAINING), progress=progress(DriverPhase.DRAINING))


def test_all_conditions_are_there_in_their_order():
    assert list(find_conditions(inputs())) == [
        "Accepted",
        "Planned",
        "DriverReady",
        "ProcessorsReady",
        "LocalityReady",
        "Reconciling",
        "Stalled",
        "Ready",
        "Degraded",
        "Completed",
    ]


@pytest.mark.parametrize(
    "given, expected",
    [
        (inputs(), ("True", "Accepted")),
        (STREAMS_REFUSED, ("True", "Accepted")),
        (SPEC_REFUSED, ("False", "UnknownColumn")),
        (of_acceptance(AcceptanceState.SPEC_REFUSED, problems=(PROBLEM, OTHER)), ("False", "SeveralProblems")),
        (PENDING, ("Unknown", "PartitionCountsPending")),
        (UNAVAILABLE, ("Unknown", "SystemUnavailable")),
        (JOB_MODEL_LOST, ("Unknown", "JobModelLost")),
        (ROLLED_BACK, ("False", "UpgradeRolledBack")),
    ],
)
def test_accepted(given, expected):
    check(find_conditions(given), "Accepted", expected)


@pytest.mark.parametrize(
    "given, expected",
    [
        (inputs(), ("True", "Planned")),
        (SPEC_REFUSED, ("True", "Planned")),
        (STREAMS_REFUSED, ("False", "SeveralProblems")),
        (NEVER_ACCEPTED, ("False", "NotPlanned")),
        (inputs(model=None), ("False", "NotLaunched")),
        (JOB_MODEL_LOST, ("False", "JobModelLost")),
    ],
)
def test_planned(given, expected):
    check(find_conditions(given), "Planned", expected)


@pytest.mark.parametrize(
    "given, expected",
    [
        (inputs(RUNS), ("True", "Running")),
        (inputs(STARTS), ("False", "Starting")),
        (inputs(in_state(DriverState.LAUNCHING)), ("False", "Starting")),
        (inputs(STUCK), ("False", "ImagePullFailed")),
        (inputs(in_state(DriverState.LAUNCHING), refusal="violates PodSecurity"), ("False", "Refused")),
        (inputs(died()), ("False", "DriverDied")),
        (inputs(died(2)), ("False", "DriverDied")),
        (inputs(died(3)), ("False", "CrashLoop")),
        (inputs(died(9, used_up=True)), ("False", "RestartsUsedUp")),
        (DRAINING, ("False", "Draining")),
        (SUSPENDED, ("False", "Suspended")),
        (COMPLETED, ("False", "Completed")),
        (NEVER_ACCEPTED, ("False", "NotPlanned")),
    ],
)
def test_driver_ready(given, expected):
    check(find_conditions(given), "DriverReady", expected)


@pytest.mark.parametrize(
    "given, expected",
    [
        (inputs(), ("True", "Running")),
        (seen(progress=progress(running=("0",))), ("False", "Starting")),
        (seen(progress=progress(running=("0", "7"))), ("False", "Starting")),
        (seen(progress=progress(epoch=2)), ("False", "Starting")),
        (seen(), ("False", "Starting")),
        (seen(pods=(executor(1, problem=NO_NODE),)), ("False", "Unschedulable")),
        (seen(pods=(executor(1, epoch=2, problem=NO_NODE),)), ("False", "Starting")),
        (seen(in_state(DriverState.LAUNCHING)), ("False", "Starting")),
        (SUSPENDED, ("False", "NoDriver")),
        (COMPLETED, ("False", "Completed")),
        (NEVER_ACCEPTED, ("False", "NoDriver")),
    ],
    ids=[
        "all",
        "one of two",
        "one that the job model doesn't have",
        "another epoch's",
        "no report",
        "an executor is stuck",
        "one of another epoch is stuck",
        "launching",
        "suspended",
        "completed",
        "never accepted",
    ],
)
def test_processors_ready(given, expected):
    check(find_conditions(given), "ProcessorsReady", expected)


@pytest.mark.parametrize(
    "given, expected",
    [
        (inputs(), ("True", "Reported")),
        (seen(), ("False", "NotReported")),
        (seen(locality=locality(MODEL, run_id="r0")), ("False", "NotReported")),
        (seen(locality_unreadable="not json"), ("False", "LocalityLost")),
        (inputs(model=None), ("Unknown", "NotPlanned")),
    ],
    ids=["all", "no report", "another run's", "damaged", "no job model"],
)
def test_locality_ready(given, expected):
    check(find_conditions(given), "LocalityReady", expected)


@pytest.mark.parametrize(
    "given, expected",
    [
        (inputs(), ("False", "Stable")),
        (inputs(STARTS), ("True", "Starting")),
        (inputs(in_state(DriverState.LAUNCHING)), ("True", "Starting")),
        (seen(), ("True", "Placing")),
        (inputs(died()), ("True", "Restarting")),
        (DRAINING, ("True", "Draining")),
        (inputs(died(used_up=True)), ("False", "Stable")),
        (SUSPENDED, ("False", "Stable")),
        (COMPLETED, ("False", "Stable")),
        (of_acceptance(AcceptanceState.COUNTS_PENDING), ("True", "PartitionCountsPending")),
        (UNAVAILABLE, ("True", "SystemUnavailable")),
        (SILENT, ("False", "Stable")),
    ],
)
def test_reconciling(given, expected):
    check(find_conditions(given), "Reconciling", expected)


@pytest.mark.parametrize(
    "given, expected",
    [
        (inputs(), ("False", "AsExpected")),
        (SPEC_REFUSED, ("True", "UnknownColumn")),
        (NEVER_ACCEPTED, ("True", "UnknownColumn")),
        (STREAMS_REFUSED, ("True", "SeveralProblems")),
        (JOB_MODEL_LOST, ("True", "JobModelLost")),
        (ROLLED_BACK, ("True", "UpgradeRolledBack")),
        (inputs(STARTS, upgrade_blocked="a new run has begun"), ("True", "UpgradeNotRolledBack")),
        (inputs(died(used_up=True)), ("True", "RestartsUsedUp")),
        (inputs(died()), ("False", "AsExpected")),
        (UNAVAILABLE, ("False", "AsExpected")),
        (replace(SPEC_REFUSED, driver_decision=in_state(DriverState.COMPLETED)), ("True", "UnknownColumn")),
        (replace(STREAMS_REFUSED, driver_decision=in_state(DriverState.COMPLETED)), ("False", "AsExpected")),
    ],
)
def test_stalled(given, expected):
    check(find_conditions(given), "Stalled", expected)


@pytest.mark.parametrize(
    "state, ready",
    [
        (AcceptanceState.ACCEPTED, 2),
        (AcceptanceState.STREAMS_REFUSED, 2),
        (AcceptanceState.SPEC_REFUSED, 1),
        (AcceptanceState.UPGRADE_ROLLED_BACK, 1),
        (AcceptanceState.COUNTS_PENDING, 1),
        (AcceptanceState.SYSTEM_UNAVAILABLE, 1),
    ],
)
def test_what_runs_is_of_the_generation_that_runs(state, ready):
    edited = of_acceptance(state)
    edited = replace(edited, observed=replace(edited.observed, app=replace(edited.observed.app, generation=2)))
    assert observed_generation("Ready", edited) == observed_generation("DriverReady", edited) == ready
    assert {observed_generation(name, edited) for name in ("Accepted", "Reconciling", "Stalled", "Degraded")} == {2}


@pytest.mark.parametrize(
    "given, expected",
    [
        (inputs(), ("True", "Running")),
        (SPEC_REFUSED, ("True", "Running")),
        (SILENT, ("True", "Running")),
        (ROLLED_BACK, ("True", "Running")),
        (seen(), ("False", "Starting")),
        (inputs(STUCK), ("False", "ImagePullFailed")),
        (seen(STARTS, pods=(executor(1, problem=NO_NODE),)), ("False", "Unschedulable")),
        (seen(refusal="exceeded quota"), ("False", "Refused")),
        (seen(pods=(executor(1, problem=NO_NODE),), refusal="exceeded quota"), ("False", "Unschedulable")),
        (inputs(died()), ("False", "DriverDied")),
        (COMPLETED, ("True", "Completed")),
        (NEVER_ACCEPTED, ("False", "NotPlanned")),
    ],
)
def test_ready(given, expected):
    check(find_conditions(given), "Ready", expected)


STALL = Stall(stream="orders", since=NOW, reason="no rows in partition 3")
MISPLACED = seen(
    progress=progress(
        broken_claims=(
            BrokenClaim(stream="orders", example="kafka.orders[0], offset 3: elsewhere."),
            BrokenClaim(stream="visits", example="kafka.visits[1], offset 0: elsewhere."),
        )
    )
)


def noticed(*reasons):
    notices = tuple(Notice(reason=reason, message=f"table {number}") for number, reason in enumerate(reasons))
    return seen(progress=progress(notices=notices))


STALLED = seen(progress=progress(stalled=(STALL,)))


@pytest.mark.parametrize(
    "given, expected",
    [
        (inputs(), ("False", "AsExpected")),
        (inputs(STARTS), ("False", "AsExpected")),
        (SUSPENDED, ("False", "AsExpected")),
        (PENDING, ("False", "AsExpected")),
        (SPEC_REFUSED, ("True", "UnknownColumn")),
        (STREAMS_REFUSED, ("True", "SeveralProblems")),
        (UNAVAILABLE, ("True", "SystemUnavailable")),
        (JOB_MODEL_LOST, ("True", "JobModelLost")),
        (inputs(refusal="violates PodSecurity"), ("True", "Refused")),
        (inputs(died()), ("True", "DriverDied")),
        (inputs(died(3)), ("True", "CrashLoop")),
        (inputs(died(used_up=True)), ("True", "RestartsUsedUp")),
        (inputs(STUCK), ("True", "ImagePullFailed")),
        (seen(pods=(executor(1, problem=NO_NODE),)), ("True", "Unschedulable")),
        (seen(STARTS, pods=(executor(1, problem=NO_NODE),)), ("True", "Unschedulable")),
        (SILENT, ("True", "SystemUnavailable")),
        (STALLED, ("True", "StreamStalled")),
        (seen(in_state(DriverState.COMPLETED), progress=STALLED.observed.progress), ("False", "AsExpected")),
        (MISPLACED, ("True", "ClaimBroken")),
        (replace(MISPLACED, driver_decision=in_state(DriverState.COMPLETED)), ("True", "ClaimBroken")),
        (noticed(NoticeReason.TABLE_INCOMPLETE), ("True", "TableIncomplete")),
        (noticed(NoticeReason.SIDE_INPUT_OUTDATED), ("True", "SideInputOutdated")),
        (noticed(NoticeReason.SIDE_INPUT_OUTDATED, NoticeReason.TABLE_INCOMPLETE), ("True", "TableIncomplete")),
        (noticed(NoticeReason.SIDE_INPUT_CHANGED, NoticeReason.SIDE_INPUT_REFRESHED), ("False", "AsExpected")),
    ],
)
def test_degraded(given, expected):
    check(find_conditions(given), "Degraded", expected)


@pytest.mark.parametrize(
    "given, reason",
    [
        (replace(SPEC_REFUSED, refusal="no", driver_decision=died()), "UnknownColumn"),
        (replace(SILENT, refusal="no", driver_decision=died()), "Refused"),
        (replace(SILENT, driver_decision=died()), "DriverDied"),
        (replace(SILENT, driver_decision=STUCK), "ImagePullFailed"),
        (replace(STALLED, acceptance=SILENT.acceptance), "SystemUnavailable"),
        (replace(MISPLACED, acceptance=SILENT.acceptance), "ClaimBroken"),
        (replace(MISPLACED, driver_decision=died()), "DriverDied"),
        (replace(UNAVAILABLE, refusal="the pod is refused"), "Refused"),
    ],
)
def test_of_several_problems_the_gravest_is_shown(given, reason):
    assert find_conditions(given)["Degraded"].reason == reason


@pytest.mark.parametrize(
    "given, expected",
    [
        (COMPLETED, ("True", "Completed")),
        (inputs(), ("False", "NotCompleted")),
        (DRAINING, ("False", "Draining")),
        (NEVER_ACCEPTED, ("False", "NotCompleted")),
    ],
)
def test_completed(given, expected):
    check(find_conditions(given), "Completed", expected)


@pytest.mark.parametrize(
    "given, condition, message",
    [
        (inputs(), "Planned", "4 tasks, from generation 1 of the spec"),
        (inputs(), "ProcessorsReady", "2 of 2 processors run"),
        (inputs(), "Ready", "2 of 2 processors run"),
        (inputs(), "LocalityReady", "4 of 4 tasks have reported where their state is"),
        (seen(pods=(executor(1, problem=NO_NODE),)), "Ready", "0 of 2 processors run; pod e: 0/3 nodes"),
        (
            inputs(died()),
            "DriverReady",
            "driver shop-driver-1 ended; it will be restarted at 2025-01-01T00:00:05Z",
        ),
        (STALLED, "Degraded", "stream orders since 2025-01-01T00:00:00Z: no rows in partition 3"),
        (
            MISPLACED,
            "Degraded",
            "results of run r1 that rely on the key of orders, visits are wrong: kafka.orders[0], offset 3: elsewhere. "
            "kafka.visits[1], offset 0: elsewhere. Correct the producers or put a partitionBy behind the stream, then "
            "begin a new run (spec.runId)",
        ),
        (noticed(NoticeReason.TABLE_INCOMPLETE, NoticeReason.TABLE_INCOMPLETE), "Degraded", "table 0; table 1"),
        (
            STREAMS_REFUSED,
            "Planned",
            "the app keeps running with its previous plan: spec.operators[0]: no column amout; "
            "spec.streams: no topic orders",
        ),
        (
            of_acceptance(AcceptanceState.SPEC_REFUSED, problems=(PROBLEM, OTHER, PROBLEM, PROBLEM, OTHER)),
            "Accepted",
            "spec.operators[0]: no column amout; spec.streams: no topic orders; spec.operators[0]: no column amout; "
            "and 2 more",
        ),
        (JOB_MODEL_LOST, "Degraded", LOST),
        (UNAVAILABLE, "Accepted", "nobody answers"),
    ],
)
def test_messages_say_what_people_need(given, condition, message):
    assert find_conditions(given)[condition].message == message


def test_a_value_has_no_message_unless_there_is_something_to_say():
    assert ConditionValue(status=ConditionStatus.TRUE, reason="Running").message == ""


def test_an_app_that_waits_for_its_systems_has_a_value_for_every_condition():
    waiting = StatusInputs(observed=observe(counts=StreamCounts()), acceptance=PENDING.acceptance)
    assert {name: value.status.value for name, value in find_conditions(waiting).items()} == {
        "Accepted": "Unknown",
        "Planned": "False",
        "DriverReady": "False",
        "ProcessorsReady": "False",
        "LocalityReady": "Unknown",
        "Reconciling": "True",
        "Stalled": "False",
        "Ready": "False",
        "Degraded": "False",
        "Completed": "False",
    }
