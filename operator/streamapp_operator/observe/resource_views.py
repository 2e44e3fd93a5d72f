"""Typed views of the cluster's objects: only the fields that decisions depend on."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from streamapp_core.deployment.kubernetes_names import (
    DRIVER_CONTAINER,
    EPOCH_LABEL,
    EXECUTOR_ID_LABEL,
    PROCESSOR_CONTAINER,
    ROLE_LABEL,
    STATE_VOLUME,
    Role,
)
from streamapp_core.spec.app import API_VERSION, KIND
from streamapp_operator.observe.pod_problems import PodProblem, find_pod_problem
from streamapp_systems.kubernetes.kubernetes_api import Kind, Object

EVENTS_INTERVAL = timedelta(seconds=5)
"""The interval at which the events of a pod are read whose containers are not created."""
_MAIN_CONTAINERS = {
    role.value: name for role, name in ((Role.DRIVER, DRIVER_CONTAINER), (Role.PROCESSOR, PROCESSOR_CONTAINER))
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AppKey:
    """The namespace and name of an app."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppResource:
    """A StreamApp as the user wrote it, and its status as we last wrote it.

    `text` is the resource as planner and driver read it, with `defaults` of an administrator below its spec, of which
    `taken_defaults` are those that it leaves open; equal resources have equal texts.
    """

    key: AppKey
    uid: str
    version: str
    generation: int
    spec: Mapping[str, Any]
    status: Mapping[str, Any]
    text: str
    deleting: bool
    finalizers: tuple[str, ...]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    taken_defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name, unique in its namespace."""
        return self.key.name

    @property
    def owner(self) -> Object:
        """The owner reference by which an object is deleted with this app."""
        return {
            "apiVersion": Kind.APP.api_version,
            "kind": Kind.APP.kind,
            "name": self.key.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }


class PodPhase(StrEnum):
    """The phase of a pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod of an app. `finished_at`, `exit_code` and `message` are those of its main container.

    `deleting_at` is the end of the grace period, if it is being deleted. If it was `disrupted`, Kubernetes ended it:
    its node was drained or lost, or lacked memory, or another pod took its place. It is `waiting` if its node has not
    created its containers, and its status does not say why: its events may.
    """

    name: str
    uid: str
    role: str
    epoch: int
    phase: PodPhase
    ready: bool = False
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int | None = None
    message: str | None = None
    deleting_at: datetime | None = None
    disrupted: bool = False
    problem: PodProblem | None = None
    waiting: bool = False
    node: str | None = None
    executor: str | None = None
    claim: str | None = None
    container_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether its containers have ended."""
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)

    @property
    def active(self) -> bool:
        """Whether it runs or will run: it has not ended, and is not being deleted."""
        return not self.finished and self.deleting_at is None


def write_text(key: AppKey, uid: str, spec: Mapping[str, Any]) -> str:
    """Write a resource as planner and driver read it."""
    named = {"name": key.name, "namespace": key.namespace, "uid": uid}
    document = {"apiVersion": API_VERSION, "kind": KIND, "metadata": named, "spec": spec}
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def parse_app_resource(item: Object) -> AppResource:
    """Parse a StreamApp."""
    metadata = item["metadata"]
    spec = item.get("spec", {})
    key = AppKey(namespace=metadata["namespace"], name=metadata["name"])
    return AppResource(
        key=key,
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        generation=metadata.get("generation", 0),
        spec=spec,
        status=item.get("status", {}),
        text=write_text(key, metadata["uid"], spec),
        deleting="deletionTimestamp" in metadata,
        finalizers=tuple(metadata.get("finalizers", ())),
    )


def parse_pod(item: Object) -> Pod:
    """Parse a pod of an app."""
    metadata, spec, status = item["metadata"], item["spec"], item.get("status", {})
    labels = metadata.get("labels", {})
    role = labels.get(ROLE_LABEL, "")
    container = _main_container(status, _MAIN_CONTAINERS.get(role))
    state = container.get("state", {})
    ended = state.get("terminated") or {}
    started = (state.get("running") or ended).get("startedAt")
    phase, problem = _phase(spec, status, ended), find_pod_problem(item)
    return Pod(
        name=metadata["name"],
        uid=metadata["uid"],
        role=role,
        epoch=int(epoch) if (epoch := labels.get(EPOCH_LABEL, "")).isdecimal() else 0,
        phase=phase,
        ready=_has_condition(status, "Ready"),
        created_at=_time(metadata["creationTimestamp"]),
        started_at=None if started is None else _time(started),
        finished_at=None if ended.get("finishedAt") is None else _time(ended["finishedAt"]),
        exit_code=ended.get("exitCode"),
        message=(ended.get("message") or status.get("message") or ended.get("reason") or "").strip() or None,
        deleting_at=_time(metadata["deletionTimestamp"]) if "deletionTimestamp" in metadata else None,
        disrupted=_has_condition(status, "DisruptionTarget"),
        problem=problem,
        waiting=phase is PodPhase.PENDING and "nodeName" in spec and problem is None,
        node=spec.get("nodeName"),
        executor=labels.get(EXECUTOR_ID_LABEL),
        claim=_state_claim(spec),
        container_id=container.get("containerID"),
        labels=labels,
    )


def _phase(spec: Object, status: Object, ended: Mapping[str, Any]) -> PodPhase:
    """Return the phase of a pod: a main container that has ended for good ends it.

    The kubelet says so a second later, once all containers have ended, and never where a sidecar goes on.
    """
    if spec.get("restartPolicy") == "Never" and "exitCode" in ended:
        return PodPhase.SUCCEEDED if ended["exitCode"] == 0 else PodPhase.FAILED
    return PodPhase(status.get("phase", PodPhase.PENDING))


def _has_condition(status: Object, kind: str) -> bool:
    return any(c["type"] == kind and c["status"] == "True" for c in status.get("conditions", ()))


def _main_container(status: Object, name: str | None) -> Mapping[str, Any]:
    """Return the status of the main container: the one with our name, else the first."""
    found = status.get("containerStatuses", ())
    return next((c for c in found if c.get("name") == name), next(iter(found), {}))


def _state_claim(spec: Object) -> str | None:
    for volume in spec.get("volumes", ()):
        if volume["name"] == STATE_VOLUME and "persistentVolumeClaim" in volume:
            return str(volume["persistentVolumeClaim"]["claimName"])
    return None


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
