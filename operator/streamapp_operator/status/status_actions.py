"""The status changes and events that follow a decision, or the refusal of one of its actions."""

from collections.abc import Iterator
from dataclasses import replace

from streamapp_operator.decide.acceptance import ActiveSpec
from streamapp_operator.decide.actions import EmitEvent, WriteStatus
from streamapp_operator.decide.reconciliation import Decision, Outcome
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.status.app_status import build_status, changes
from streamapp_operator.status.events import transition_events
from streamapp_operator.status.status_inputs import StatusInputs


def status_actions(
    observed: Observed, decision: Decision, refusal: str | None = None
) -> Iterator[WriteStatus | EmitEvent]:
    """Write the status if it differs, and emit an event for each transition.

    Args:
        observed: the state that was decided from.
        decision: the decision.
        refusal: why the API server refused one of its actions; the status then shows the state before them.
    """
    if decision.outcome is None:
        return
    inputs = status_inputs(observed, decision.outcome, refusal)
    status = build_status(inputs, decision.outcome.plan)
    if not changes(observed.app.status, status):
        return
    yield WriteStatus(status=status)
    active = inputs.acceptance.in_force
    launch = None if active is None else active.record.launch
    yield from transition_events(observed.app, status, 0 if launch is None else launch.epoch)


def status_inputs(observed: Observed, outcome: Outcome, refusal: str | None) -> StatusInputs:
    """Return what the status is made from: the state after all actions, or, if one was refused, before them."""
    active = outcome.acceptance.in_force
    known, model = active, outcome.model
    if refusal is not None and active is not None:
        known = _before(active, observed)
        model = None if observed.model is None else observed.model.model
    return StatusInputs(
        observed=observed,
        acceptance=replace(outcome.acceptance, in_force=known),
        driving=outcome.driver,
        model=model,
        wanted=0 if active is None else active.app.spec.processors.count,
        refusal=refusal,
    )


def _before(active: ActiveSpec, observed: Observed) -> ActiveSpec | None:
    return None if observed.record is None else replace(active, record=observed.record)
