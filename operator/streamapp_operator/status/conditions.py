"""The conditions of an app: what is true of it, and why (docs/operator.md)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamapp_core.crd.status_model import ConditionStatus
from streamapp_core.deployment.driver_reports import DriverPhase, NoticeReason
from streamapp_core.problems import Problem
from streamapp_core.time_formats import format_time
from streamapp_operator.decide.acceptance import Acceptance, AcceptanceState
from streamapp_operator.decide.driver_decision import DriverState
from streamapp_operator.decide.restarts import CRASH_LOOP, DriverDeath
from streamapp_operator.observe.pod_problems import PodProblem
from streamapp_operator.status.status_inputs import StatusInputs

_PENDING = (AcceptanceState.COUNTS_PENDING, AcceptanceState.SYSTEM_UNAVAILABLE)
_OF_THE_ACTIVE_SPEC = frozenset({"Planned", "DriverReady", "ProcessorsReady", "LocalityReady", "Ready", "Completed"})
_NEEDED = ("DriverReady", "ProcessorsReady")
_OUTDATED = "RefusedByRelease"
_SHOWN_PROBLEMS = 3
_DOUBTS = (
    NoticeReason.TABLE_INCOMPLETE,
    NoticeReason.SOURCE_NOT_READ,
    NoticeReason.OUTPUT_NOT_WRITTEN,
    NoticeReason.SIDE_INPUT_OUTDATED,
)
"""Notices that a person should look at."""
_STOPPED = {
    DriverState.DRAINING: "it makes a final commit and stops",
    DriverState.SUSPENDED: "spec.suspend is true",
    DriverState.COMPLETED: "all bounded streams have been read to their ends",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionValue:
    """Whether a condition holds, the reason as a word for programs, and a sentence for people."""

    status: ConditionStatus
    reason: str
    message: str = ""


def find_conditions(inputs: StatusInputs) -> dict[str, ConditionValue]:
    """Return the values of all conditions, in the order in which they are shown."""
    values = {
        "Accepted": _accepted(inputs),
        "Planned": _planned(inputs),
        "DriverReady": _driver_ready(inputs),
        "ProcessorsReady": _processors_ready(inputs),
        "LocalityReady": _locality_ready(inputs),
    }
    values["Reconciling"] = _reconciling(inputs, values)
    values["Stalled"] = _stalled(inputs, values)
    values["Ready"] = _ready(inputs, values)
    values["Degraded"] = _degraded(inputs, values)
    values["Completed"] = _completed(inputs)
    return values


def observed_generation(condition: str, inputs: StatusInputs) -> int:
    """Return the generation of the spec that a condition is about.

    What runs is that of the active spec. While a newer one waits or is refused, that is an older generation: who waits
    for `Ready` after an edit is not told that it has come to run.
    """
    acceptance, newest = inputs.acceptance, inputs.observed.app.generation
    waits = acceptance.state in (AcceptanceState.SPEC_REFUSED, AcceptanceState.UPGRADE_ROLLED_BACK, *_PENDING)
    if condition not in _OF_THE_ACTIVE_SPEC or acceptance.active is None or not waits:
        return newest
    return acceptance.active.accepted.generation


def _true(reason: str, message: str = "") -> ConditionValue:
    return ConditionValue(status=ConditionStatus.TRUE, reason=reason, message=message)


def _false(reason: str, message: str = "") -> ConditionValue:
    return ConditionValue(status=ConditionStatus.FALSE, reason=reason, message=message)


def _unknown(reason: str, message: str = "") -> ConditionValue:
    return ConditionValue(status=ConditionStatus.UNKNOWN, reason=reason, message=message)


def _accepted(inputs: StatusInputs) -> ConditionValue:
    acceptance = inputs.acceptance
    match acceptance.state:
        case AcceptanceState.SPEC_REFUSED:
            return _false(_code(acceptance.problems), _problem_text(acceptance.problems))
        case AcceptanceState.COUNTS_PENDING:
            return _unknown(AcceptanceState.COUNTS_PENDING, "the systems are asked for the partitions of the streams")
        case AcceptanceState.SYSTEM_UNAVAILABLE:
            return _unknown(AcceptanceState.SYSTEM_UNAVAILABLE, acceptance.counts_error or "")
        case AcceptanceState.JOB_MODEL_LOST:
            return _unknown(AcceptanceState.JOB_MODEL_LOST, acceptance.unrecoverable or "")
        case AcceptanceState.UPGRADE_ROLLED_BACK:
            return _false(AcceptanceState.UPGRADE_ROLLED_BACK, _rolled_back_text(acceptance))
        case AcceptanceState.ACCEPTED | AcceptanceState.STREAMS_REFUSED:
            return _true("Accepted", "the spec is active")


def _rolled_back_text(acceptance: Acceptance) -> str:
    if acceptance.active is None or (failed := acceptance.active.record.failed_upgrade) is None:
        return ""
    before = acceptance.active.accepted.generation
    return f"{failed.reason}. Generation {before} runs again. Correct the spec: the next edit is tried at once"


def _planned(inputs: StatusInputs) -> ConditionValue:
    acceptance, model = inputs.acceptance, inputs.model
    if acceptance.state is AcceptanceState.JOB_MODEL_LOST:
        return _false(AcceptanceState.JOB_MODEL_LOST, acceptance.unrecoverable or "")
    if acceptance.state is AcceptanceState.STREAMS_REFUSED:
        text = f"the app keeps running with its previous plan: {_problem_text(acceptance.problems)}"
        return _false(_code(acceptance.problems), text)
    if acceptance.active is None:
        return _false("NotPlanned", "no spec has been accepted yet")
    if inputs.outdated:
        return _false(_OUTDATED, _outdated_text(inputs))
    if model is None:
        return _false("NotLaunched", "no driver has been launched yet")
    generation = acceptance.active.accepted.generation
    return _true("Planned", f"{len(model.tasks)} tasks, from generation {generation} of the spec")


def _outdated_text(inputs: StatusInputs) -> str:
    return (
        "an earlier release of the operator accepted the active spec, and this one refuses it: "
        f"{_problem_text(inputs.outdated)}. The app is kept as it is, and its driver restarted when it dies. Correct "
        "the spec, or go back to the earlier release"
    )


def _driver_ready(inputs: StatusInputs) -> ConditionValue:
    decision = inputs.driver_decision
    if decision is None:
        return _false("NotPlanned", "there is nothing to run yet")
    if decision.state is DriverState.RUNNING:
        return _true("Running", "" if decision.pod is None else f"pod {decision.pod.name}")
    if decision.state in (DriverState.STARTING, DriverState.LAUNCHING):
        if inputs.refusal is not None:
            return _false("Refused", inputs.refusal)
        problem = None if decision.pod is None else decision.pod.problem
        return _false("Starting", "its pod is starting") if problem is None else _false(*_text(problem))
    if decision.death is not None:
        return _died(decision.death)
    return _false(decision.state, _STOPPED[decision.state])


def _died(death: DriverDeath) -> ConditionValue:
    if death.restart_at is None:
        return _false("RestartsUsedUp", f"{death.message}; spec.restartPolicy.maxRestarts is reached")
    reason = "CrashLoop" if death.attempt >= CRASH_LOOP else "DriverDied"
    return _false(reason, f"{death.message}; it will be restarted at {format_time(death.restart_at)}")


def _processors_ready(inputs: StatusInputs) -> ConditionValue:
    if inputs.state is DriverState.COMPLETED:
        return _false("Completed", "all bounded streams have been read to their ends")
    if inputs.state not in (DriverState.RUNNING, DriverState.STARTING, DriverState.LAUNCHING):
        return _false("NoDriver", "no driver runs")
    running = len(inputs.running)
    text = f"{running} of {inputs.wanted} processors run"
    if running >= inputs.wanted:
        return _true("Running", text)
    problem = inputs.executor_problem
    if problem is not None:
        return _false(problem.reason, f"{text}; {problem.message}")
    if inputs.refusal is not None:
        return _false("Refused", f"{text}; {inputs.refusal}")
    return _false("Starting", text)


def _locality_ready(inputs: StatusInputs) -> ConditionValue:
    model, report = inputs.model, inputs.observed.locality
    if inputs.observed.locality_unreadable is not None:
        return _false("LocalityLost", inputs.observed.locality_unreadable)
    if model is None:
        return _unknown("NotPlanned")
    reported: set[int] = set()
    if report is not None and report.run_id == model.run_id:
        reported = {number for numbers in report.locations.values() for number in numbers}
    opened = sum(task.changelog_partition in reported or task.location is not None for task in model.tasks.values())
    text = f"{opened} of {len(model.tasks)} tasks have reported where their state is"
    return _true("Reported", text) if opened == len(model.tasks) else _false("NotReported", text)


def _reconciling(inputs: StatusInputs, values: Mapping[str, ConditionValue]) -> ConditionValue:
    if inputs.acceptance.state in _PENDING:
        return _true(values["Accepted"].reason, values["Accepted"].message)
    if inputs.state in (DriverState.LAUNCHING, DriverState.STARTING):
        return _true("Starting", "the driver is starting")
    if inputs.state is DriverState.DRAINING:
        return _true("Draining", "the driver makes a final commit and stops")
    if inputs.state is DriverState.BACKING_OFF:
        return _true("Restarting", "the driver will be restarted after a backoff")
    if inputs.state is DriverState.RUNNING and values["ProcessorsReady"].status is not ConditionStatus.TRUE:
        return _true("Placing", "processors are starting")
    return _false("Stable", "")


def _stalled(inputs: StatusInputs, values: Mapping[str, ConditionValue]) -> ConditionValue:
    """Return what nothing but a person can mend."""
    return next(_stalls(inputs, values), _false("AsExpected"))


def _stalls(inputs: StatusInputs, values: Mapping[str, ConditionValue]) -> Iterator[ConditionValue]:
    acceptance = inputs.acceptance
    if acceptance.state in (AcceptanceState.SPEC_REFUSED, AcceptanceState.UPGRADE_ROLLED_BACK):
        yield _true(values["Accepted"].reason, values["Accepted"].message)
    if acceptance.state is AcceptanceState.STREAMS_REFUSED and inputs.state is not DriverState.COMPLETED:
        yield _true(values["Planned"].reason, values["Planned"].message)
    if inputs.outdated:
        yield _true(_OUTDATED, _outdated_text(inputs))
    if acceptance.unrecoverable is not None:
        yield _true(AcceptanceState.JOB_MODEL_LOST, acceptance.unrecoverable)
    if inputs.refusal is not None:
        yield _true("Refused", inputs.refusal)
    if inputs.upgrade_blocked is not None:
        yield _true("UpgradeNotRolledBack", inputs.upgrade_blocked)
    if inputs.state is DriverState.FAILED:
        yield _true(values["DriverReady"].reason, values["DriverReady"].message)


def _ready(inputs: StatusInputs, values: Mapping[str, ConditionValue]) -> ConditionValue:
    if inputs.state is DriverState.COMPLETED:
        return _true("Completed", "all results are written")
    missing = [values[name] for name in _NEEDED if values[name].status is not ConditionStatus.TRUE]
    if missing:
        value = min(missing, key=lambda value: value.reason == "Starting")  # a driver waits for its processors
        return _false(value.reason, value.message)
    if inputs.outdated:
        return _false(_OUTDATED, values["Planned"].message)
    return _true("Running", values["ProcessorsReady"].message)


def _degraded(inputs: StatusInputs, values: Mapping[str, ConditionValue]) -> ConditionValue:
    """Return what people should look at: of several problems the gravest."""
    return next(_degradations(inputs, values), _false("AsExpected"))


def _degradations(inputs: StatusInputs, values: Mapping[str, ConditionValue]) -> Iterator[ConditionValue]:
    acceptance = inputs.acceptance
    if inputs.state is DriverState.COMPLETED:
        yield from _doubts(inputs)
        return
    yield from _stalls(inputs, values)
    if acceptance.state is AcceptanceState.SYSTEM_UNAVAILABLE:
        yield _true(AcceptanceState.SYSTEM_UNAVAILABLE, acceptance.counts_error or "")
    if inputs.state is DriverState.BACKING_OFF:
        yield _true(values["DriverReady"].reason, values["DriverReady"].message)
    stuck = _stuck(inputs)
    if stuck is not None:
        yield _true(*_text(stuck))
    yield from _doubts(inputs)
    if acceptance.counts_error is not None:
        yield _true(AcceptanceState.SYSTEM_UNAVAILABLE, acceptance.counts_error)
    for stall in () if inputs.report is None else inputs.report.stalled:
        yield _true("StreamStalled", f"stream {stall.stream} since {format_time(stall.since)}: {stall.reason}")


def _doubts(inputs: StatusInputs) -> Iterator[ConditionValue]:
    """Return why results may not be what people expect: broken claims, then tables without rows, or with old ones."""
    report = inputs.report
    if report is None:
        return
    if report.broken_claims:
        streams = ", ".join(claim.stream for claim in report.broken_claims)
        examples = " ".join(claim.example for claim in report.broken_claims)
        repair = "Correct the producers or put a partitionBy behind the stream, then begin a new run (spec.runId)"
        yield _true(
            "ClaimBroken",
            f"results of run {report.run_id} that rely on the key of {streams} are wrong: {examples} {repair}",
        )
    for reason in _DOUBTS:
        messages = [notice.message for notice in report.notices if notice.reason is reason]
        if messages:
            yield _true(reason, "; ".join(messages))


def _stuck(inputs: StatusInputs) -> PodProblem | None:
    driver = None if inputs.driver_decision is None else inputs.driver_decision.pod
    if driver is not None and driver.active and driver.problem is not None:
        return driver.problem
    return inputs.executor_problem if inputs.state in (DriverState.RUNNING, DriverState.STARTING) else None


def _completed(inputs: StatusInputs) -> ConditionValue:
    if inputs.state is DriverState.COMPLETED:
        return _true("Completed", "all bounded streams have been read to their ends")
    report = inputs.report
    draining = report is not None and report.phase is DriverPhase.DRAINING
    return _false("Draining" if draining else "NotCompleted")


def _text(problem: PodProblem) -> tuple[str, str]:
    return problem.reason, problem.message


def _code(problems: tuple[Problem, ...]) -> str:
    codes = {problem.code.value for problem in problems}
    return codes.pop() if len(codes) == 1 else "SeveralProblems"


def _problem_text(problems: tuple[Problem, ...]) -> str:
    shown = "; ".join(f"{problem.path}: {problem.message}" for problem in problems[:_SHOWN_PROBLEMS])
    more = len(problems) - _SHOWN_PROBLEMS
    return shown if more <= 0 else f"{shown}; and {more} more"
