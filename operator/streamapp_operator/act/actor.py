"""The actor: it carries out actions, and is the only writer to the API server and to brokers."""

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
from streamapp_operator.status.app_status import diff_status
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

_NO_DRY_RUNS = "does not support dry run"
"""The API server says so of a webhook with side effects, which nobody can ask."""

AfterAction = Callable[[ActionKind], object]
"""Called after every action; tests let the process die there."""


class NameTakenError(Exception):
    """An object that is not the app's has the name of one of its objects: delete it, or rename the app."""


class DeleteAppStreams(Protocol):
    """A function that deletes the streams of an app."""

    def __call__(self, namespace: str, prefix: str, systems: Mapping[str, SystemSpec]) -> None:
        """Delete all streams on brokers whose addresses begin with a prefix; streams in other systems stay."""
        ...


class Actor:
    """Carries out the actions of all apps. May be used by several threads, of which each has another app."""

    def __init__(
        self, api: KubernetesApi, delete_streams: DeleteAppStreams, clock: Callable[[], datetime], after: AfterAction
    ) -> None:
        self._api = api
        self._delete_streams = delete_streams
        self._clock = clock
        self._after = after

    def act(self, app: AppResource, action: Action) -> None:
        """Carry out one action.

        Raises:
            KubernetesError: it was refused, or its outcome is unknown; decide again.
            VersionConflict, JobModelOutdatedError: another writer was faster; decide again.
            NameTakenError: an object of this name is not the app's.
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
                create = self._check_executor if action.dry_run else self._create
                create(app, action.kind, action.body)
            case DeletePod():
                self._delete_pod(app, action)
            case DeleteStreams():
                self._delete_streams(app.key.namespace, action.prefix, action.systems)
            case DeleteClaims():
                self._delete_claims(app)
            case WriteStatus():
                self._write_status(app, action.status)
            case EmitEvent():
                self._emit_event(app, action)
        self._after(action.action_kind)

    def _store(self, app: AppResource) -> ConfigMapMetadataStore:
        return ConfigMapMetadataStore(self._api, app.key.namespace, app.key.name, owners=[app.owner])

    def _set_finalizer(self, app: AppResource, *, present: bool) -> None:
        others = [name for name in app.finalizers if name != FINALIZER]
        finalizers = [*others, FINALIZER] if present else others
        patch = {"metadata": {"finalizers": finalizers, "resourceVersion": app.version}}
        with suppress(ObjectNotFoundError):
            self._api.patch(Kind.APP, app.key.namespace, app.key.name, patch)

    def _create(self, app: AppResource, kind: Kind, body: Object) -> None:
        try:
            self._api.create(kind, body)
        except ObjectExistsError:
            name = body["metadata"]["name"]
            found = self._api.get(kind, app.key.namespace, name)
            owners = [] if found is None else found["metadata"].get("ownerReferences", [])
            if found is not None and not any(owner.get("uid") == app.uid for owner in owners):
                raise NameTakenError(
                    f"{kind.kind} {name} exists and does not belong to this app, which needs one of this name: "
                    "delete it, or give the app another name"
                ) from None
            if found is not None and kind is Kind.ROLE_BINDING:
                self._replace_binding(found, body)
            if found is not None and kind is Kind.NETWORK_POLICY:
                self._api.replace(kind, body)

    def _check_executor(self, _app: AppResource, kind: Kind, body: Object) -> None:
        """Create an executor in a dry run, in which quotas, limits, Pod Security and webhooks have their say."""
        try:
            self._api.create(kind, body, dry_run=True)
        except RequestRefusedError as error:
            if _NO_DRY_RUNS not in str(error):
                raise RequestRefusedError(f"executors are refused: {error}") from None

    def _replace_binding(self, found: Object, body: Object) -> None:
        """Replace a RoleBinding. The role of an existing one can't be changed, so it is deleted and recreated."""
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
        patch = {"status": diff_status(app.status, status)}
        with suppress(ObjectNotFoundError):
            self._api.patch(Kind.APP, app.key.namespace, app.key.name, patch, status=True)

    def _emit_event(self, app: AppResource, action: EmitEvent) -> None:
        """Write an event, if that is possible: nothing depends on events."""
        with suppress(ObjectExistsError, ObjectNotFoundError, RequestRefusedError):
            self._api.create(Kind.EVENT, _build_event(app, action, self._clock()))


def _build_event(app: AppResource, action: EmitEvent, now: datetime) -> dict[str, Any]:
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
