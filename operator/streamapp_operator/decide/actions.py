"""The steps that the Kubernetes operator takes: every kind of change that it makes, by name.

A death after any of them must lead to the same end. Tests take the steps from here: in memory by an exception, of the
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
    """The kinds of changes."""

    KEEP_FOR_CLEANUP = "keep-for-cleanup"
    WRITE_RECORD = "write-record"
    WRITE_JOB_MODEL = "write-job-model"
    MAKE_ACCOUNT = "make-account"
    MAKE_BINDING = "make-binding"
    MAKE_SERVICE = "make-service"
    MAKE_DRIVER = "make-driver"
    DELETE_POD = "delete-pod"
    MAKE_CLEANUP = "make-cleanup"
    DELETE_STREAMS = "delete-streams"
    DELETE_CLAIMS = "delete-claims"
    LET_GO = "let-go"
    WRITE_STATUS = "write-status"
    EMIT_EVENT = "emit-event"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFinalizer:
    """Keep the resource until we have cleaned up after it, or let it go."""

    present: bool

    @property
    def step(self) -> ActionKind:
        """What this is."""
        return ActionKind.KEEP_FOR_CLEANUP if self.present else ActionKind.LET_GO


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRecord:
    """Write the record by compare-and-set; whoever decided from another one is refused."""

    record: AppRecord
    expected: int
    step = ActionKind.WRITE_RECORD


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJobModel:
    """Put a job model in force, for the driver of an epoch, by compare-and-set."""

    model: JobModel
    epoch: int
    expected: int
    step = ActionKind.WRITE_JOB_MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeObject:
    """Make an object that is not there."""

    kind: Kind
    body: Object
    step: ActionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Delete this very pod, gracefully."""

    name: str
    uid: str
    step = ActionKind.DELETE_POD


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteStreams:
    """Delete the streams that runs of the app have made in these systems: all whose addresses begin with `prefix`."""

    prefix: str
    systems: Mapping[str, SystemSpec]
    step = ActionKind.DELETE_STREAMS


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteClaims:
    """Delete the claims of the volumes that hold state."""

    step = ActionKind.DELETE_CLAIMS


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteStatus:
    """Write what differs between the status that is there and this one."""

    status: Mapping[str, JsonValue]
    step = ActionKind.WRITE_STATUS


@dataclass(frozen=True, slots=True, kw_only=True)
class EmitEvent:
    """Tell people that something happened; `name` makes sure that it is told once."""

    name: str
    warning: bool
    reason: str
    message: str
    step = ActionKind.EMIT_EVENT


Action = (
    SetFinalizer
    | WriteRecord
    | WriteJobModel
    | MakeObject
    | DeletePod
    | DeleteStreams
    | DeleteClaims
    | WriteStatus
    | EmitEvent
)
