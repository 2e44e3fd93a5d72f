"""The end of an app that is deleted with `deletionPolicy: Delete`: its streams and its state go too.

Only such an app is kept by our finalizer. Everything is done again until the resource is let go, which comes last.
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
from streamapp_operator.decide.manifests.cleanup_pod import cleanup_manifests
from streamapp_operator.decide.manifests.executor_template import nodes_with_state
from streamapp_operator.decide.placement import apply_locality
from streamapp_operator.observe.app_text import read_app
from streamapp_operator.observe.observed_state import Observed
from streamapp_operator.observe.resource_views import AppResource, PodPhase
from streamapp_systems.kubernetes.kubernetes_api import Kind

FINALIZER = "streamapp.dev/cleanup"
_CLEANUP_TIME = timedelta(minutes=2)
"""A node that has not removed state in this time is gone or does not answer; the app is not kept because of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What is to be done now, and when to look again."""

    actions: tuple[Action, ...]
    wake_at: datetime | None = None


def finalizer_actions(app: AppResource) -> Iterator[Action]:
    """Hold the resource exactly while its policy is Delete."""
    wanted = app.spec.get("deletionPolicy") == DeletionPolicy.DELETE
    if wanted != (FINALIZER in app.finalizers):
        yield SetFinalizer(present=wanted)


def delete(observed: Observed) -> Deletion:
    """Clean up after an app that is being deleted; nothing, if it does not wait for us."""
    if FINALIZER not in observed.app.finalizers:
        return Deletion(actions=())
    app = _app(observed)
    if app is None or observed.app.spec.get("deletionPolicy") != DeletionPolicy.DELETE:
        return Deletion(actions=(SetFinalizer(present=False),))
    working = [pod for pod in observed.pods if pod.role in (Role.DRIVER, Role.PROCESSOR)]
    if working:
        stops = [DeletePod(name=pod.name, uid=pod.uid) for pod in working if pod.deleting_at is None]
        return Deletion(actions=tuple(stops))
    missing, waiting = _state(observed, app)
    if missing or waiting is not None:
        return Deletion(actions=tuple(missing), wake_at=waiting)
    streams = DeleteStreams(prefix=stream_prefix(observed.app.key), systems=app.spec.systems)
    claims = [DeleteClaims()] if app.spec.processors.state.volume_claim is not None else []
    return Deletion(actions=(streams, *claims, SetFinalizer(present=False)))


def _state(observed: Observed, app: StreamApp) -> tuple[Sequence[Action], datetime | None]:
    """Remove the state from the nodes: the pods that are still to be made, and until when to wait for the others."""
    model = None if observed.model is None else apply_locality(observed.model.model, observed.locality)
    wanted = cleanup_manifests(observed.app, app.spec, sorted(nodes_with_state(model)))
    found = {pod.name: pod for pod in observed.pods_of(Role.CLEANUP)}
    missing = [
        CreateObject(kind=Kind.POD, body=body, action_kind=ActionKind.CREATE_CLEANUP_POD)
        for name, body in wanted.items()
        if name not in found
    ]
    ends = [found[name].created_at + _CLEANUP_TIME for name in wanted if name in found if not _done(found[name].phase)]
    return missing, max((end for end in ends if end > observed.now), default=None)


def _done(phase: PodPhase) -> bool:
    return phase is PodPhase.SUCCEEDED


def _app(observed: Observed) -> StreamApp | None:
    record = observed.record
    text = observed.app.text if record is None else record.text(record.accepted)
    return read_app(text).app
