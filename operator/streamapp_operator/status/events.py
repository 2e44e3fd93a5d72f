"""Kubernetes events: one for each transition of a condition that people should hear of, told once."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from streamapp_core.crd.status_model import ConditionStatus
from streamapp_operator.decide.actions import EmitEvent
from streamapp_operator.observe.resource_views import AppResource

_TOLD = ("Accepted", "Planned", "DriverReady", "Ready", "Degraded", "Completed")
_BAD_WHEN_TRUE = ("Degraded",)
_NO_NEWS = frozenset({"Starting", "NotPlanned", "NotLaunched", "AskingForStreams", "AsExpected", "NotCompleted"})
_EXPECTED = frozenset({"Suspended", "Completed", "Draining"})
_LONGEST_MESSAGE = 1_000


def transition_events(app: AppResource, after: Mapping[str, JsonValue], epoch: int) -> Iterator[EmitEvent]:
    """Give the events of what changes between the status that is there and the one that will be.

    Its name makes an event the same one if this is decided again; the epoch makes it another one after a restart.
    """
    before = {entry["type"]: entry for entry in app.status.get("conditions", ())}
    told: set[tuple[str, str]] = set()
    conditions: Any = after.get("conditions", ())
    for condition in conditions:
        known = before.get(condition["type"], {})
        same = (known.get("status"), known.get("reason")) == (condition["status"], condition["reason"])
        if same or condition["type"] not in _TOLD or _is_no_news(condition, known):
            continue
        bad = (condition["status"] == ConditionStatus.TRUE) == (condition["type"] in _BAD_WHEN_TRUE)
        what = (condition["reason"], condition["message"])
        if what not in told:
            told.add(what)
            yield _event(app, epoch, condition, warning=bad and condition["reason"] not in _EXPECTED)


def _is_no_news(condition: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """That a spec is accepted goes without saying, unless it was refused before."""
    accepted = condition["type"] == "Accepted" and condition["status"] == ConditionStatus.TRUE
    return condition["reason"] in _NO_NEWS or (accepted and before.get("status") != ConditionStatus.FALSE)


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
