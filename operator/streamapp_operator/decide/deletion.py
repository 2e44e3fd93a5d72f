"""The deletion of an app with `deletionPolicy: Delete`: its streams and its state are deleted too.

Only such an app has our finalizer. Every action is repeated until the finalizer is removed, which comes last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.naming import stream_prefix
from streamapp_core.spec.app import StreamApp
from streamapp_core.spec.processors import DeletionPolicy
from streamapp_operator.decide.actions import (
    Action,
    ActionKind,
    CreateObject,
    DeleteClaims,
    DeletePod,
    DeleteStreams,
    SetFinalizer,
)
from streamapp_operator.decide.manifests.cleanup_pod import build_cleanup_pods
from streamapp_operator.decide.manifests.executor_template import count_tasks_by_node
from streamapp_operator.decide.task_assignment import apply_locality
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.resource_views import AppResource, PodPhase
from streamapp_systems.kubernetes.kubernetes_api import Kind

FINALIZER = "streamapp.dev/cleanup"
_CLEANUP_TIMEOUT = timedelta(minutes=2)
"""A node that has not removed its state in this time does not answer; the app does not wait for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """The actions to take now, and when to decide again."""

    actions: tuple[Action, ...]
    wake_at: datetime | None = None


def ensure_finalizer(app: AppResource) -> Iterator[Action]:
    """Keep our finalizer on the resource exactly while its policy is Delete."""
    wanted = app.spec.get("deletionPolicy") == DeletionPolicy.DELETE
    if wanted != (FINALIZER in app.finalizers):
        yield SetFinalizer(present=wanted)


def decide_deletion(observed: Observed) -> Deletion:
    """Clean up after an app that is being deleted; do nothing if it does not have our finalizer."""
    if FINALIZER not in observed.app.finalizers:
        return Deletion(actions=())
    app = _newest_app(observed)
    if app is None or observed.app.spec.get("deletionPolicy") != DeletionPolicy.DELETE:
        return Deletion(actions=(SetFinalizer(present=False),))
    working = [pod for pod in observed.pods if pod.role in (Role.DRIVER, Role.PROCESSOR)]
    if working:
        stops = [DeletePod(name=pod.name, uid=pod.uid) for pod in working if pod.deleting_at is None]
        return Deletion(actions=tuple(stops))
    missing, wake_at = _remove_state(observed, app)
    if missing or wake_at is not None:
        return Deletion(actions=tuple(missing), wake_at=wake_at)
    streams = DeleteStreams(prefix=stream_prefix(app.name_prefix), systems=app.spec.systems)
    claims = [DeleteClaims()] if app.spec.processors.state.volume_claim is not None else []
    return Deletion(actions=(streams, *claims, SetFinalizer(present=False)))


def _remove_state(observed: Observed, app: StreamApp) -> tuple[Sequence[Action], datetime | None]:
    """Remove the state from the nodes: return the pods to create, and until when to wait for the others."""
    model = None if observed.model is None else apply_locality(observed.model.model, observed.locality)
    wanted = build_cleanup_pods(observed.app, app.spec, sorted(count_tasks_by_node(model)))
    found = {pod.name: pod for pod in observed.pods_of(Role.CLEANUP)}
    missing = [
        CreateObject(kind=Kind.POD, body=body, action_kind=ActionKind.CREATE_CLEANUP_POD)
        for name, body in wanted.items()
        if name not in found
    ]
    unfinished = [found[name] for name in wanted if name in found and found[name].phase is not PodPhase.SUCCEEDED]
    deadlines = [pod.created_at + _CLEANUP_TIMEOUT for pod in unfinished]
    return missing, max((deadline for deadline in deadlines if deadline > observed.now), default=None)


def _newest_app(observed: Observed) -> StreamApp | None:
    """Return the app as it was last accepted, else as it is written."""
    record = observed.record
    text = observed.app.text if record is None else record.text(record.accepted)
    return read_app(text).app
