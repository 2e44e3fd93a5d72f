"""Carries decisions out, one step after another. The only place that writes to the cluster and to the systems."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol

from pydantic import JsonValue

from streamapp_core.deployment.app_record import RECORD
from streamapp_core.deployment.kubernetes_names import APP_LABEL
from streamapp_core.job_model.stored_job_model import write_job_model
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.time_formats import format_time
from streamapp_operator.decide.actions import (
    Action,
    ActionKind,
    CreateObject,
    DeleteClaims,
    DeletePod,
    DeleteStreams,
    EmitEvent,
    SetFinalizer,
    WriteJobModel,
    WriteRecord,
    WriteStatus,
)
from streamapp_operator.decide.deletion import FINALIZER
from streamapp_operator.observe.resource_views import AppResource
from streamapp_operator.status.app_status import status_patch
from streamapp_systems.kubernetes.kubernetes_api import (
    Kind,
    KubernetesApi,
    Object,
    ObjectExistsError,
    ObjectNotFoundError,
    RequestRefusedError,
    VersionConflictError,
)
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore

AfterAction = Callable[[ActionKind], object]
"""Is told of every step that has been taken; tests let the process die there."""


class NameTakenError(Exception):
    """An object that somebody else made has the name of one of ours: it must go, or the app be renamed."""


class DeleteAppStreams(Protocol):
    """Deletes streams of systems."""

    def __call__(self, namespace: str, prefix: str, systems: Mapping[str, SystemSpec]) -> None:
        """Delete all streams whose addresses begin with a prefix; systems that can't be asked are left alone."""
        ...


class Actor:
    """Acts for any app, from any thread."""

    def __init__(
        self, api: KubernetesApi, delete_streams: DeleteAppStreams, clock: Callable[[], datetime], after: AfterAction
    ) -> None:
        self._api = api
        self._delete_streams = delete_streams
        self._clock = clock
        self._after = after

    def act(self, app: AppResource, action: Action) -> None:
        """Take one step.

        Raises:
            KubernetesError: it was refused, or it is not known whether it was done; decide again.
            VersionConflict, JobModelOutdatedError: another writer was faster; decide again.
            NameTakenError: an object of this name is not ours.
            StreamSystemError: streams can't be deleted.
        """
        match action:
            case SetFinalizer():
                self._set_finalizer(app, present=action.present)
            case WriteRecord():
                self._store(app).put(RECORD, action.record.to_bytes(), action.expected)
            case WriteJobModel():
                write_job_model(self._store(app), action.model, epoch=action.epoch, expected=action.expected)
            case CreateObject():
                self._make(app, action.kind, action.body)
            case DeletePod():
                self._delete_pod(app, action)
            case DeleteStreams():
                self._delete_streams(app.key.namespace, action.prefix, action.systems)
            case DeleteClaims():
                self._delete_claims(app)
            case WriteStatus():
                self._write_status(app, action.status)
            case EmitEvent():
                self._emit(app, action)
        self._after(action.action_kind)

    def _store(self, app: AppResource) -> ConfigMapMetadataStore:
        return ConfigMapMetadataStore(self._api, app.key.namespace, app.key.name, owners=[app.owner])

    def _set_finalizer(self, app: AppResource, *, present: bool) -> None:
        others = [name for name in app.finalizers if name != FINALIZER]
        finalizers = [*others, FINALIZER] if present else others
        patch = {"metadata": {"finalizers": finalizers, "resourceVersion": app.version}}
        with suppress(ObjectNotFoundError):
            self._api.patch(Kind.APP, app.key.namespace, app.key.name, patch)

    def _make(self, app: AppResource, kind: Kind, body: Object) -> None:
        try:
            self._api.create(kind, body)
        except ObjectExistsError:
            name = body["metadata"]["name"]
            found = self._api.get(kind, app.key.namespace, name)
            owners = [] if found is None else found["metadata"].get("ownerReferences", [])
            if found is not None and not any(owner.get("uid") == app.uid for owner in owners):
                raise NameTakenError(
                    f"{kind.kind} {name} is not of this app, and the app needs one of this name: delete it, or give "
                    "the app another name"
                ) from None
            if found is not None and kind is Kind.ROLE_BINDING:
                self._bind_anew(found, body)

    def _bind_anew(self, found: Object, body: Object) -> None:
        """Put a binding in the place of another one; the role of one that is there can't be changed."""
        if found["roleRef"] == body["roleRef"]:
            self._api.replace(Kind.ROLE_BINDING, body)
            return
        metadata = found["metadata"]
        self._api.delete(Kind.ROLE_BINDING, metadata["namespace"], metadata["name"], uid=metadata["uid"])
        self._api.create(Kind.ROLE_BINDING, body)

    def _delete_pod(self, app: AppResource, action: DeletePod) -> None:
        with suppress(VersionConflictError):
            self._api.delete(Kind.POD, app.key.namespace, action.name, uid=action.uid)

    def _delete_claims(self, app: AppResource) -> None:
        for claim in self._api.list(Kind.VOLUME_CLAIM, app.key.namespace, f"{APP_LABEL}={app.key.name}"):
            metadata = claim["metadata"]
            self._api.delete(Kind.VOLUME_CLAIM, app.key.namespace, metadata["name"], uid=metadata["uid"])

    def _write_status(self, app: AppResource, status: Mapping[str, JsonValue]) -> None:
        patch = {"status": status_patch(app.status, status)}
        with suppress(ObjectNotFoundError):
            self._api.patch(Kind.APP, app.key.namespace, app.key.name, patch, status=True)

    def _emit(self, app: AppResource, action: EmitEvent) -> None:
        """Tell people; an event that can't be written is not worth a failure."""
        with suppress(ObjectExistsError, ObjectNotFoundError, RequestRefusedError):
            self._api.create(Kind.EVENT, _event(app, action, self._clock()))


def _event(app: AppResource, action: EmitEvent, now: datetime) -> dict[str, Any]:
    time = format_time(now)
    return {
        "metadata": {"name": action.name, "namespace": app.key.namespace},
        "involvedObject": {
            "apiVersion": Kind.APP.api_version,
            "kind": Kind.APP.kind,
            "namespace": app.key.namespace,
            "name": app.key.name,
            "uid": app.uid,
        },
        "type": "Warning" if action.warning else "Normal",
        "reason": action.reason,
        "message": action.message,
        "source": {"component": "streamapp-operator"},
        "reportingComponent": "streamapp-operator",
        "firstTimestamp": time,
        "lastTimestamp": time,
        "count": 1,
    }
