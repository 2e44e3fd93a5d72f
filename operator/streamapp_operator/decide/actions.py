"""The actions of the Kubernetes operator: every kind of change that it makes, by name.

A crash after any of them must lead to the same end. Tests crash it after each kind: in memory by an exception, the
real process by the setting `exit_after`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from streamapp_core.deployment.app_record import AppRecord
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.spec.systems import SystemSpec
from streamapp_systems.kubernetes.kubernetes_api import Kind, Object


class ActionKind(StrEnum):
    """The kinds of changes that the Kubernetes operator makes."""

    ADD_FINALIZER = "add-finalizer"
    WRITE_RECORD = "write-record"
    WRITE_JOB_MODEL = "write-job-model"
    CREATE_SERVICE_ACCOUNT = "create-service-account"
    CREATE_ROLE_BINDING = "create-role-binding"
    CREATE_SERVICE = "create-service"
    CREATE_NETWORK_POLICY = "create-network-policy"
    CREATE_DRIVER = "create-driver"
    CHECK_EXECUTOR = "check-executor"
    DELETE_POD = "delete-pod"
    CREATE_CLEANUP_POD = "create-cleanup-pod"
    DELETE_STREAMS = "delete-streams"
    DELETE_CLAIMS = "delete-claims"
    REMOVE_FINALIZER = "remove-finalizer"
    WRITE_STATUS = "write-status"
    EMIT_EVENT = "emit-event"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFinalizer:
    """Add our finalizer to the resource, which keeps it until we have cleaned up after it, or remove it."""

    present: bool

    @property
    def action_kind(self) -> ActionKind:
        """The kind of this change."""
        return ActionKind.ADD_FINALIZER if self.present else ActionKind.REMOVE_FINALIZER


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """Write the record by compare-and-set; a decision from an older one is refused."""

    record: AppRecord
    expected: int
    action_kind = ActionKind.WRITE_RECORD


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJobModel:
    """Make a job model the active one, for the driver of an epoch, by compare-and-set."""

    model: JobModel
    epoch: int
    expected: int
    action_kind = ActionKind.WRITE_JOB_MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateObject:
    """Create an object that does not exist; in a dry run only ask whether the API server would admit it."""

    kind: Kind
    body: Object
    action_kind: ActionKind
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Delete this very pod, gracefully."""

    name: str
    uid: str
    action_kind = ActionKind.DELETE_POD


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteStreams:
    """Delete the streams of these systems whose addresses begin with `prefix`: those that runs of the app created."""

    prefix: str
    systems: Mapping[str, SystemSpec]
    action_kind = ActionKind.DELETE_STREAMS


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteClaims:
    """Delete the claims of the app's volumes of state."""

    action_kind = ActionKind.DELETE_CLAIMS


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStatus:
    """Write what differs between the resource's status and this one."""

    status: Mapping[str, JsonValue]
    action_kind = ActionKind.WRITE_STATUS


@dataclass(frozen=True, slots=True, kw_only=True)
class EmitEvent:
    """Emit a Kubernetes event; `name` makes sure that it is emitted once."""

    name: str
    warning: bool
    reason: str
    message: str
    action_kind = ActionKind.EMIT_EVENT


Action = (
    SetFinalizer
    | WriteRecord
    | WriteJobModel
    | CreateObject
    | DeletePod
    | DeleteStreams
    | DeleteClaims
    | WriteStatus
    | EmitEvent
)
