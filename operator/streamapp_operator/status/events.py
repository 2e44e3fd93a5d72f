"""Kubernetes events: one for each transition of a condition that people should notice, emitted once."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from streamapp_core.crd.status_model import ConditionStatus
from streamapp_core.deployment.driver_reports import NoticeReason
from streamapp_operator.decide.actions import EmitEvent
from streamapp_operator.observe.resource_views import AppResource

_REPORTED = ("Accepted", "Planned", "DriverReady", "Ready", "Degraded", "Completed")
_BAD_WHEN_TRUE = ("Degraded",)
_ROUTINE = frozenset({"Starting", "NotPlanned", "NotLaunched", "PartitionCountsPending", "AsExpected", "NotCompleted"})
_EXPECTED = frozenset({"Suspended", "Completed", "Draining"})
_EVENTS = (NoticeReason.SIDE_INPUT_REFRESHED, NoticeReason.NEW_RUN)
_LONGEST_MESSAGE = 1_000


def emit_transitions(app: AppResource, after: Mapping[str, JsonValue], epoch: int) -> Iterator[EmitEvent]:
    """Return the events of the transitions between the resource's status and the next one.

    An event's name is the same if this is decided again, so it is emitted once; after a restart the epoch makes it
    another one.
    """
    before = {entry["type"]: entry for entry in app.status.get("conditions", ())}
    emitted: set[tuple[str, str]] = set()
    conditions: Any = after.get("conditions", ())
    for condition in conditions:
        known = before.get(condition["type"], {})
        same = (known.get("status"), known.get("reason")) == (condition["status"], condition["reason"])
        if same or condition["type"] not in _REPORTED or _is_routine(condition, known):
            continue
        bad = (condition["status"] == ConditionStatus.TRUE) == (condition["type"] in _BAD_WHEN_TRUE)
        content = (condition["reason"], condition["message"])
        if content not in emitted:
            emitted.add(content)
            yield _event(app, epoch, condition, warning=bad and condition["reason"] not in _EXPECTED)


def emit_notices(app: AppResource, after: Mapping[str, JsonValue], epoch: int) -> Iterator[EmitEvent]:
    """Return an event for each notice of the driver that the status does not have yet and no condition shows."""
    before = [notice["message"] for notice in _notices(app.status)]
    for notice in _notices(after):
        if notice["reason"] in _EVENTS and notice["message"] not in before:
            condition = {"type": "Notice", "status": ConditionStatus.TRUE, **notice}
            yield _event(app, epoch, condition, warning=False)


def _notices(status: Mapping[str, Any]) -> Iterable[Mapping[str, str]]:
    found: Iterable[Mapping[str, str]] = status.get("progress", {}).get("notices", ())
    return found


def _is_routine(condition: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Return whether a transition is expected; that a spec is accepted is, unless it was refused before."""
    accepted = condition["type"] == "Accepted" and condition["status"] == ConditionStatus.TRUE
    return condition["reason"] in _ROUTINE or (accepted and before.get("status") != ConditionStatus.FALSE)


def _event(app: AppResource, epoch: int, condition: Mapping[str, Any], *, warning: bool) -> EmitEvent:
    parts = (app.uid, condition["type"], condition["reason"], condition["message"], str(app.generation), str(epoch))
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    message = condition["message"] or f"{condition['type']} is {condition['status']}"
    return EmitEvent(
        name=f"{app.key.name}.{name}",
        warning=warning,
        reason=condition["reason"],
        message=message[:_LONGEST_MESSAGE],
    )
