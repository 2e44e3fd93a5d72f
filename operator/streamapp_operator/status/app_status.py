"""The status as it should be: conditions with stable times, what was refused and why, what runs (design 10)."""

from collections.abc import Mapping

from pydantic import JsonValue

from streamapp_core.crd.status_model import (
    MAXIMUM_MESSAGE,
    MAXIMUM_PATH,
    MAXIMUM_PROBLEMS,
    Condition,
    ConditionStatus,
    PlanSummary,
    ProcessorsStatus,
    StatusProblem,
    StreamAppStatus,
)
from streamapp_core.deployment.kubernetes_names import APP_LABEL, ROLE_LABEL, Role
from streamapp_core.plan.plan import Plan
from streamapp_operator.decide.acceptance import AcceptanceState
from streamapp_operator.decide.driver_decision import DriverState
from streamapp_operator.status.conditions import find_conditions
from streamapp_operator.status.status_inputs import ConditionValue, StatusInputs

_PHASES = {
    DriverState.LAUNCHING: "Starting",
    DriverState.STARTING: "Starting",
    DriverState.RUNNING: "Running",
    DriverState.DRAINING: "Draining",
    DriverState.BACKING_OFF: "Restarting",
    DriverState.GIVEN_UP: "Failed",
    DriverState.SUSPENDED: "Suspended",
    DriverState.COMPLETED: "Completed",
}


_EVIDENCE = ("runId", "plan", "driver")
"""What shows that a run has begun, and so must stay when its documents are gone."""


def build_status(facts: StatusInputs, plan: Plan | None) -> dict[str, JsonValue]:
    """Give the whole status; what has not changed is as it was, to the byte."""
    observed, acceptance = facts.observed, facts.acceptance
    found = find_conditions(facts)
    name = observed.app.key.name
    in_force = acceptance.in_force
    launch = None if in_force is None else in_force.record.launch
    status = StreamAppStatus(
        observed_generation=observed.app.generation,
        phase=_phase(facts, found),
        conditions=_conditions(facts, found),
        problems=tuple(
            StatusProblem(
                path=_cut(problem.path, MAXIMUM_PATH),
                code=problem.code.value,
                message=_cut(problem.message, MAXIMUM_MESSAGE),
            )
            for problem in acceptance.problems[:MAXIMUM_PROBLEMS]
        ),
        plan=_plan_summary(facts, plan),
        processors=ProcessorsStatus(ready=len(facts.running)),
        selector=f"{APP_LABEL}={name},{ROLE_LABEL}={Role.PROCESSOR.value}",
        run_id=None if in_force is None else in_force.accepted.run_id,
    )
    more: dict[str, JsonValue] = {}
    if in_force is None:
        more |= {name: value for name, value in observed.app.status.items() if name in _EVIDENCE}
    if launch is not None:
        more["driver"] = {"epoch": launch.epoch, "cause": launch.cause.value, "deaths": launch.attempt}
    if facts.report is not None:
        told = facts.report.model_dump(mode="json", by_alias=True, exclude_none=True, include={"phase", "streams"})
        more["progress"] = told
    return {**status.model_dump(mode="json", by_alias=True, exclude_none=True), **more}


def changes(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Give the JSON merge patch that makes one status of another; empty if they are equal."""
    patch: dict[str, JsonValue] = {name: None for name in before if name not in after}
    for name, value in after.items():
        known = before.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            inner = changes(known, value)
            if inner:
                patch[name] = inner
        elif value != known:
            patch[name] = value
    return patch


def _conditions(facts: StatusInputs, found: Mapping[str, ConditionValue]) -> tuple[Condition, ...]:
    known = {entry["type"]: entry for entry in facts.observed.app.status.get("conditions", ())}
    time = facts.observed.now.isoformat(timespec="seconds").replace("+00:00", "Z")
    conditions = []
    for name, finding in found.items():
        before = known.get(name, {})
        changed = before.get("status") != finding.status
        conditions.append(
            Condition(
                type=name,
                status=finding.status,
                reason=finding.reason,
                message=_cut(finding.message, MAXIMUM_MESSAGE),
                last_transition_time=time if changed else before.get("lastTransitionTime", time),
                observed_generation=facts.observed.app.generation,
            )
        )
    return tuple(conditions)


def _phase(facts: StatusInputs, found: Mapping[str, ConditionValue]) -> str:
    if facts.observed.app.deleting:
        return "Deleting"
    if facts.state is None:
        refused = facts.acceptance.standing in (AcceptanceState.SPEC_REFUSED, AcceptanceState.LOST)
        return "Refused" if refused else "Pending"
    if facts.state is DriverState.RUNNING:
        if found["Ready"].status is not ConditionStatus.TRUE:
            return "Starting"
        return "Degraded" if found["Degraded"].status is ConditionStatus.TRUE else "Running"
    return _PHASES[facts.state]


def _plan_summary(facts: StatusInputs, plan: Plan | None) -> PlanSummary | None:
    model = facts.model
    if plan is None or model is None:
        return None
    return PlanSummary(
        mode=plan.mode,
        tasks=len(model.tasks),
        jobModelVersion=model.version,
        topology=plan.topology_hash,
        streams={name: stream.partitions for name, stream in sorted(model.streams.items())},
    )


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
