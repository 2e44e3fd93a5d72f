"""Why a pod does not start: the cases that a person has to repair, by reason, each with what to do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamapp_core.deployment.kubernetes_names import ROLE_LABEL, Role
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
UNSCHEDULABLE, FAILED_ATTACH, FAILED_SANDBOX = "Unschedulable", "FailedAttachVolume", "FailedCreatePodSandBox"
PASSING = frozenset({UNSCHEDULABLE, FAILED_ATTACH, FAILED_SANDBOX})
"""The reasons that may pass by themselves: a node comes, another one lets a volume go."""
_EVENT_REASONS = {
    "FailedMount": "FailedMount",
    "FailedMapVolume": "FailedMount",
    FAILED_ATTACH: FAILED_ATTACH,
    FAILED_SANDBOX: FAILED_SANDBOX,
}
"""Our reason for each event of a pod that says why its containers are not created; no status does."""
_ADVICE = {
    "ImagePullFailed": "Make the image available, or correct spec.image or spec.imagePullSecrets",
    "ConfigError": "Create what is missing, or correct {part}.template",
    "CrashLoop": "Its log says why: kubectl logs {pod} -c {container} --previous",
    UNSCHEDULABLE: "Add nodes or room, or correct {part}.cores, {part}.memory or {part}.template",
    "FailedMount": (
        "Create what is missing, or correct the volume: a secret of spec.systems, a ConfigMap of spec.pyFiles, a "
        "volume of {part}.template, or spec.processors.state"
    ),
    FAILED_ATTACH: "Look after the node that has the volume, if it does not let it go",
    FAILED_SANDBOX: "Look after the network and the container runtime of its node",
}
_PARTS = {Role.DRIVER.value: "spec.driver", Role.PROCESSOR.value: "spec.processors"}
QUOTA_EXCEEDED = "exceeded quota"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodProblem:
    """The problem that keeps a pod from running: a reason for programs, a message for people."""

    reason: str
    message: str


def find_pod_problem(item: Object) -> PodProblem | None:
    """Return what keeps a pod from running, by its status; None if nothing is known to."""
    status = item.get("status", {})
    if status.get("phase") in ("Succeeded", "Failed"):
        return None
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition.get("reason") == UNSCHEDULABLE:
            return _problem(item, UNSCHEDULABLE, condition.get("message", "no node fits"))
    for container in _containers(status):
        waiting = container.get("state", {}).get("waiting") or {}
        reason = _REASONS.get(waiting.get("reason", ""))
        if reason is not None:
            return _problem(item, reason, waiting.get("message") or waiting["reason"], container["name"])
    return None


def find_event_problem(item: Object, events: Sequence[Object]) -> PodProblem | None:
    """Return why the containers of a pod are not created, if that is the newest of its events."""
    newest = max(events, key=_event_order, default=None)
    if newest is None or newest.get("type") != "Warning":
        return None
    reason = _EVENT_REASONS.get(newest.get("reason", ""))
    return None if reason is None else _problem(item, reason, newest.get("message") or newest["reason"])


def explain_refusal(refusal: str) -> str:
    """Return why the API server refuses a pod, and what to do."""
    if QUOTA_EXCEEDED in refusal:
        advice = "Raise the ResourceQuota, or lower cores and memory of spec.driver and spec.processors"
    else:
        advice = "Correct what it names in the spec, or the rule that refuses it (LimitRange, Pod Security, webhook)"
    return f"{_sentence(refusal)} {advice}. The operator tries again by itself"


def _problem(item: Object, reason: str, details: str, container: str = "") -> PodProblem:
    metadata = item["metadata"]
    pod, part = metadata["name"], _PARTS.get(metadata.get("labels", {}).get(ROLE_LABEL, ""), "spec.processors")
    where = f"pod {pod}, container {container}" if container else f"pod {pod}"
    advice = _ADVICE[reason].format(part=part, pod=pod, container=container)
    return PodProblem(reason=reason, message=f"{where}: {_sentence(details)} {advice}")


def _sentence(text: str) -> str:
    stripped = text.strip()
    return stripped if stripped.endswith((".", "!", "?")) else f"{stripped}."


def _event_order(event: Object) -> tuple[str, int]:
    metadata = event["metadata"]
    at = event.get("lastTimestamp") or event.get("eventTime") or metadata.get("creationTimestamp") or ""
    return at[:19], int(metadata["resourceVersion"])  # some have fractions of seconds


def _containers(status: Object) -> Iterator[dict[str, Any]]:
    yield from status.get("initContainerStatuses", ())
    yield from status.get("containerStatuses", ())
