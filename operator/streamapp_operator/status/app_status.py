"""The status of an app: conditions with stable times, problems, the plan, the driver (docs/operator.md)."""

from collections.abc import Iterator, Mapping
from typing import Any

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
from streamapp_core.time_formats import format_time
from streamapp_operator.decide.acceptance import AcceptanceState
from streamapp_operator.decide.actions import EmitEvent, WriteStatus
from streamapp_operator.decide.driver_decision import DriverState
from streamapp_operator.decide.reconciliation import Decision
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.status.conditions import ConditionValue, find_conditions, observed_generation
from streamapp_operator.status.events import emit_notices, emit_transitions
from streamapp_operator.status.status_inputs import StatusInputs

_PHASES = {
    DriverState.LAUNCHING: "Starting",
    DriverState.STARTING: "Starting",
    DriverState.DRAINING: "Draining",
    DriverState.BACKING_OFF: "Restarting",
    DriverState.FAILED: "Failed",
    DriverState.SUSPENDED: "Suspended",
    DriverState.COMPLETED: "Completed",
}
_EVIDENCE_OF_A_RUN = ("runId", "plan", "driver")
"""Fields that show that a run has begun; they stay when its documents are lost."""


def report_status(
    observed: Observed, decision: Decision, refusal: str | None = None
) -> Iterator[WriteStatus | EmitEvent]:
    """Write the status if it changes, and emit an event for each transition.

    Args:
        observed: the state that was decided from.
        decision: the decision.
        refusal: why the API server refused one of its actions; the status then shows the state before them.
    """
    if decision.outcome is None:
        return
    inputs = StatusInputs.of(observed, decision.outcome, refusal)
    status = build_status(inputs)
    if diff_status(observed.app.status, status):
        yield WriteStatus(status=status)
        epoch = 0 if inputs.launch is None else inputs.launch.epoch
        yield from emit_transitions(observed.app, status, epoch)
        yield from emit_notices(observed.app, status, epoch)


def build_status(inputs: StatusInputs) -> dict[str, JsonValue]:
    """Return the whole status; what has not changed is equal to the resource's, to the byte."""
    observed, acceptance, launch = inputs.observed, inputs.acceptance, inputs.launch
    values = find_conditions(inputs)
    status = StreamAppStatus(
        observed_generation=observed.app.generation,
        phase=_phase(inputs, values),
        conditions=_conditions(inputs, values),
        problems=tuple(
            StatusProblem(
                path=_cut(problem.path, MAXIMUM_PATH),
                code=problem.code.value,
                message=_cut(problem.message, MAXIMUM_MESSAGE),
            )
            for problem in acceptance.problems[:MAXIMUM_PROBLEMS]
        ),
        plan=_plan_summary(inputs),
        processors=ProcessorsStatus(ready=len(inputs.running)),
        selector=f"{APP_LABEL}={observed.app.key.name},{ROLE_LABEL}={Role.PROCESSOR.value}",
        run_id=None if acceptance.active is None else acceptance.active.accepted.run_id,
    )
    more: dict[str, JsonValue] = {}
    if acceptance.active is None:
        more |= {name: value for name, value in observed.app.status.items() if name in _EVIDENCE_OF_A_RUN}
    if observed.app.taken_defaults:
        more["defaults"] = dict(observed.app.taken_defaults)
    if launch is not None:
        more["driver"] = {"epoch": launch.epoch, "cause": launch.cause.value, "deaths": launch.attempt}
    if inputs.report is not None:
        shown = {"phase", "streams"} | {name for name in ("state", "notices") if getattr(inputs.report, name)}
        more["progress"] = inputs.report.model_dump(mode="json", by_alias=True, exclude_none=True, include=shown)
    return {**status.model_dump(mode="json", by_alias=True, exclude_none=True), **more}


def diff_status(before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the JSON merge patch from one status to another; empty if they are equal."""
    patch: dict[str, JsonValue] = {name: None for name in before if name not in after}
    for name, value in after.items():
        known = before.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            inner = diff_status(known, value)
            if inner:
                patch[name] = inner
        elif value != known:
            patch[name] = value
    return patch


def _conditions(inputs: StatusInputs, values: Mapping[str, ConditionValue]) -> tuple[Condition, ...]:
    known = {entry["type"]: entry for entry in inputs.observed.app.status.get("conditions", ())}
    return tuple(_condition(name, value, known.get(name, {}), inputs) for name, value in values.items())


def _condition(name: str, value: ConditionValue, before: Mapping[str, Any], inputs: StatusInputs) -> Condition:
    now = format_time(inputs.observed.now)
    changed = before.get("status") != value.status
    return Condition(
        type=name,
        status=value.status,
        reason=value.reason,
        message=_cut(value.message, MAXIMUM_MESSAGE),
        last_transition_time=now if changed else before.get("lastTransitionTime", now),
        observed_generation=observed_generation(name, inputs),
    )


def _phase(inputs: StatusInputs, values: Mapping[str, ConditionValue]) -> str:
    if inputs.state is None:
        refused = inputs.acceptance.state in (AcceptanceState.SPEC_REFUSED, AcceptanceState.JOB_MODEL_LOST)
        return "Refused" if refused else "Pending"
    if inputs.state is DriverState.RUNNING:
        if values["Ready"].status is not ConditionStatus.TRUE:
            return "Starting"
        return "Degraded" if values["Degraded"].status is ConditionStatus.TRUE else "Running"
    return _PHASES[inputs.state]


def _plan_summary(inputs: StatusInputs) -> PlanSummary | None:
    plan, model = inputs.plan, inputs.model
    if plan is None or model is None:
        return None
    shown = [_cut(str(warning), MAXIMUM_MESSAGE) for warning in plan.warnings[:MAXIMUM_PROBLEMS]]
    warnings = {"warnings": shown} if shown else {}
    return PlanSummary(
        mode=plan.mode,
        tasks=len(model.tasks),
        jobModelVersion=model.version,
        topology=plan.topology_hash,
        streams={name: stream.partitions for name, stream in sorted(model.streams.items())},
        **warnings,
    )


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
