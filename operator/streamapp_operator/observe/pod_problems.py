"""Why a pod does not start: the cases that a person has to repair, by reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streamapp_systems.kubernetes.kubernetes_api import Object

_REASONS = {
    "ErrImagePull": "ImagePullFailed",
    "ImagePullBackOff": "ImagePullFailed",
    "InvalidImageName": "ImagePullFailed",
    "ErrImageNeverPull": "ImagePullFailed",
    "ImageInspectError": "ImagePullFailed",
    "RegistryUnavailable": "ImagePullFailed",
    "CreateContainerConfigError": "ConfigError",
    "CreateContainerError": "ConfigError",
    "RunContainerError": "ConfigError",
    "PreCreateHookError": "ConfigError",
    "PostStartHookError": "ConfigError",
    "CrashLoopBackOff": "CrashLoop",
}
"""Our reason for each reason of the kubelet that does not pass by itself."""
UNSCHEDULABLE = "Unschedulable"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodProblem:
    """The problem that keeps a pod from running: a reason for programs, a message for people."""

    reason: str
    message: str


def find_pod_problem(item: Object) -> PodProblem | None:
    """Return what keeps a pod from running; None if nothing is known to."""
    status = item.get("status", {})
    name = item["metadata"]["name"]
    if status.get("phase") in ("Succeeded", "Failed"):
        return None
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == UNSCHEDULABLE:
            return PodProblem(reason=UNSCHEDULABLE, message=f"pod {name}: {condition.get('message', 'no node fits')}")
    for container in _containers(status):
        waiting = container.get("state", {}).get("waiting") or {}
        reason = _REASONS.get(waiting.get("reason", ""))
        if reason is not None:
            details = waiting.get("message") or waiting["reason"]
            return PodProblem(reason=reason, message=f"pod {name}, container {container['name']}: {details}")
    return None


def _containers(status: Object) -> Iterator[dict[str, Any]]:
    yield from status.get("initContainerStatuses", ())
    yield from status.get("containerStatuses", ())
