"""The conditions of an app: what is true of it, and why (design 10)."""

from collections.abc import Iterator

from streamapp_core.crd.status_model import ConditionStatus
from streamapp_core.deployment.driver_reports import DriverPhase
from streamapp_core.problems import Problem
from streamapp_operator.decide.acceptance import AcceptanceState
from streamapp_operator.decide.driver_decision import DriverDecision, DriverState
from streamapp_operator.decide.restarts import Death
from streamapp_operator.observe.pod_problems import PodProblem
from streamapp_operator.status.status_inputs import ConditionValue, StatusInputs

_REFUSED = (AcceptanceState.SPEC_REFUSED, AcceptanceState.STREAMS_REFUSED)
_CRASH_LOOP = 3
"""From so many deaths in a row on it is called a crash loop."""
_SHOWN_PROBLEMS = 3
_RESTING = {
    DriverState.DRAINING: "it makes a final commit and stops",
    DriverState.SUSPENDED: "spec.suspend is true",
    DriverState.COMPLETED: "all bounded streams have been read to their ends",
}


def find_conditions(facts: StatusInputs) -> dict[str, ConditionValue]:
    """Find all conditions, in the order in which they are shown."""
    found = {
        "Accepted": _accepted(facts),
        "Planned": _planned(facts),
        "DriverReady": _driver_ready(facts),
        "ProcessorsReady": _processors_ready(facts),
        "LocalityReady": _locality_ready(facts),
    }
    found["Progressing"] = _progressing(facts, found)
    found["Ready"] = _ready(facts, found)
    found["Degraded"] = _degraded(facts, found)
    found["Completed"] = _completed(facts)
    return found


def _true(reason: str, message: str = "") -> ConditionValue:
    return ConditionValue(status=ConditionStatus.TRUE, reason=reason, message=message)


def _false(reason: str, message: str = "") -> ConditionValue:
    return ConditionValue(status=ConditionStatus.FALSE, reason=reason, message=message)


def _unknown(reason: str, message: str = "") -> ConditionValue:
    return ConditionValue(status=ConditionStatus.UNKNOWN, reason=reason, message=message)


def _accepted(facts: StatusInputs) -> ConditionValue:
    acceptance = facts.acceptance
    match acceptance.standing:
        case AcceptanceState.SPEC_REFUSED:
            return _false(_code(acceptance.problems), _problem_text(acceptance.problems))
        case AcceptanceState.ASKING:
            return _unknown(AcceptanceState.ASKING, "the systems are asked for their streams")
        case AcceptanceState.UNREACHABLE:
            return _unknown(AcceptanceState.UNREACHABLE, acceptance.message or "")
        case AcceptanceState.LOST:
            return _unknown(AcceptanceState.LOST, acceptance.message or "")
        case AcceptanceState.ACCEPTED | AcceptanceState.STREAMS_REFUSED:
            return _true("Accepted", "the spec is in force")


def _planned(facts: StatusInputs) -> ConditionValue:
    acceptance, model = facts.acceptance, facts.model
    if acceptance.standing is AcceptanceState.LOST:
        return _false(AcceptanceState.LOST, acceptance.message or "")
    if acceptance.standing is AcceptanceState.STREAMS_REFUSED:
        text = f"the app goes on with the plan of before: {_problem_text(acceptance.problems)}"
        return _false(_code(acceptance.problems), text)
    if acceptance.in_force is None:
        return _false("NotPlanned", "no spec has been accepted yet")
    if model is None:
        return _false("NotLaunched", "no driver has been launched yet")
    generation = acceptance.in_force.accepted.generation
    return _true("Planned", f"{len(model.tasks)} tasks, of the spec of generation {generation}")


def _driver_ready(facts: StatusInputs) -> ConditionValue:
    driving = facts.driving
    if driving is None:
        return _false("NotPlanned", "there is nothing to run yet")
    if driving.state is DriverState.RUNNING:
        return _true("Running", "" if driving.pod is None else f"pod {driving.pod.name}")
    if driving.state in (DriverState.STARTING, DriverState.LAUNCHING):
        if facts.refusal is not None:
            return _false("Refused", facts.refusal)
        trouble = None if driving.pod is None else driving.pod.trouble
        return _false("Starting", "its pod is starting") if trouble is None else _false(*_told(trouble))
    if driving.death is not None:
        return _died(driving, driving.death)
    return _false(driving.state, _RESTING[driving.state])


def _died(driving: DriverDecision, ended: Death) -> ConditionValue:
    again = ended.again_at
    if again is None:
        return _false("RestartsUsedUp", f"{ended.message}; spec.restartPolicy.maxRestarts is reached")
    reason = "CrashLoop" if driving.attempt >= _CRASH_LOOP else "DriverDied"
    at = again.isoformat(timespec="seconds").replace("+00:00", "Z")
    return _false(reason, f"{ended.message}; it is restarted at {at}")


def _processors_ready(facts: StatusInputs) -> ConditionValue:
    if facts.state is DriverState.COMPLETED:
        return _false("Completed", "all bounded streams have been read to their ends")
    if facts.state not in (DriverState.RUNNING, DriverState.STARTING, DriverState.LAUNCHING):
        return _false("NoDriver", "no driver runs")
    running = len(facts.running)
    text = f"{running} of {facts.wanted} processors run"
    if running >= facts.wanted:
        return _true("Running", text)
    trouble = facts.executor_trouble
    if trouble is not None:
        return _false(trouble.reason, f"{text}; {trouble.message}")
    return _false("Starting", text)


def _locality_ready(facts: StatusInputs) -> ConditionValue:
    model, report = facts.model, facts.observed.locality
    if facts.observed.locality_lost is not None:
        return _false("LocalityLost", facts.observed.locality_lost)
    if model is None:
        return _unknown("NotPlanned")
    known = (
        set()
        if report is None or report.run_id != model.run_id
        else {n for ns in report.locations.values() for n in ns}
    )
    opened = sum(task.changelog_partition in known or task.location is not None for task in model.tasks.values())
    text = f"{opened} of {len(model.tasks)} tasks have reported where their state is"
    return _true("Reported", text) if opened == len(model.tasks) else _false("NotReported", text)


def _progressing(facts: StatusInputs, found: dict[str, ConditionValue]) -> ConditionValue:
    if facts.state in (DriverState.LAUNCHING, DriverState.STARTING):
        return _true("Starting", "the driver is starting")
    if facts.state is DriverState.DRAINING:
        return _true("Draining", "the driver makes a final commit and stops")
    if facts.state is DriverState.BACKING_OFF:
        return _true("Restarting", "the driver is restarted after a wait")
    if facts.state is DriverState.RUNNING and found["ProcessorsReady"].status is not ConditionStatus.TRUE:
        return _true("Placing", "processors are starting")
    return _false("Stable", "")


def _ready(facts: StatusInputs, found: dict[str, ConditionValue]) -> ConditionValue:
    if facts.state is DriverState.COMPLETED:
        return _true("Completed", "all results are written")
    for condition in ("DriverReady", "ProcessorsReady"):
        finding = found[condition]
        if finding.status is not ConditionStatus.TRUE:
            return _false(finding.reason, finding.message)
    return _true("Running", found["ProcessorsReady"].message)


def _degraded(facts: StatusInputs, found: dict[str, ConditionValue]) -> ConditionValue:
    """Tell what people should look at: of several things the gravest."""
    return next(_worries(facts, found), _false("AsExpected"))


def _worries(facts: StatusInputs, found: dict[str, ConditionValue]) -> Iterator[ConditionValue]:
    acceptance = facts.acceptance
    if facts.state is DriverState.COMPLETED:
        return
    if acceptance.standing in _REFUSED:
        refused = found["Accepted" if acceptance.standing is AcceptanceState.SPEC_REFUSED else "Planned"]
        yield _true(refused.reason, refused.message)
    if acceptance.standing in (AcceptanceState.UNREACHABLE, AcceptanceState.LOST):
        yield _true(acceptance.standing, acceptance.message or "")
    if facts.refusal is not None:
        yield _true("Refused", facts.refusal)
    if facts.state in (DriverState.BACKING_OFF, DriverState.GIVEN_UP):
        yield _true(found["DriverReady"].reason, found["DriverReady"].message)
    stuck = _stuck(facts)
    if stuck is not None:
        yield _true(*_told(stuck))
    if acceptance.message is not None:
        yield _true(AcceptanceState.UNREACHABLE, acceptance.message)
    for stall in () if facts.report is None else facts.report.stalled:
        since = stall.since.isoformat(timespec="seconds").replace("+00:00", "Z")
        yield _true("StreamStalled", f"stream {stall.stream} since {since}: {stall.reason}")


def _stuck(facts: StatusInputs) -> PodProblem | None:
    driver = None if facts.driving is None or facts.driving.pod is None else facts.driving.pod
    if driver is not None and driver.live and driver.trouble is not None:
        return driver.trouble
    return facts.executor_trouble if facts.state is DriverState.RUNNING else None


def _completed(facts: StatusInputs) -> ConditionValue:
    if facts.state is DriverState.COMPLETED:
        return _true("Completed", "all bounded streams have been read to their ends")
    report = facts.report
    draining = report is not None and report.phase is DriverPhase.DRAINING
    return _false("Draining" if draining else "NotCompleted")


def _told(trouble: PodProblem) -> tuple[str, str]:
    return trouble.reason, trouble.message


def _code(problems: tuple[Problem, ...]) -> str:
    codes = {problem.code.value for problem in problems}
    return codes.pop() if len(codes) == 1 else "SeveralProblems"


def _problem_text(problems: tuple[Problem, ...]) -> str:
    shown = "; ".join(f"{problem.path}: {problem.message}" for problem in problems[:_SHOWN_PROBLEMS])
    more = len(problems) - _SHOWN_PROBLEMS
    return shown if more <= 0 else f"{shown}; and {more} more"
