"""The observed state of one app: everything that a decision about it depends on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from streamapp_core.deployment.app_record import AppRecord
from streamapp_core.deployment.driver_reports import LocalityReport, ProgressReport
from streamapp_core.deployment.kubernetes_names import Role
from streamapp_core.job_model.job_model import JobModel, ProcessorModel
from streamapp_core.job_model.stored_job_model import StoredJobModel
from streamapp_core.metadata_store import ABSENT
from streamapp_core.plan.plan import Plan
from streamapp_operator.observe.resource_views import AppResource, Pod
from streamapp_systems.kubernetes.kubernetes_api import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCounts:
    """The partition counts of external streams by name, or the error of the request; neither: it is under way."""

    known: Mapping[str, int] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRole:
    """The role that drivers get; the chart creates it, not the Kubernetes operator."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverBinding:
    """The subject and the role of the RoleBinding of an app's drivers."""

    account: str
    role: DriverRole


@dataclass(frozen=True, slots=True, kw_only=True)
class AppNetwork:
    """Who may reach the pods of an app: with `isolated`, only each other, and for the driver's pages `pages_from`.

    These are peers of a NetworkPolicy; none: everybody.
    """

    isolated: bool
    pages_from: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementInputs:
    """Everything that the last placement depended on. It stands here, as the memory that has it is observed, too."""

    plan: Plan
    model: JobModel
    locality: LocalityReport | None
    bindings: Mapping[str, ProcessorModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppMemory:
    """The state of an app that only this process holds; after a restart it is observed again."""

    driver_missing_since: datetime | None = None
    executors_missing_since: datetime | None = None
    refused_epoch: int | None = None
    """The API server refused the driver's pod of this epoch, so no driver has ever run in it."""
    refusal: str | None = None
    """Why it did."""
    disrupted_epoch: int | None = None
    """Kubernetes ended the driver's pod of this epoch."""
    placement_inputs: PlacementInputs | None = None
    """The inputs of the last placement; while they are equal, the job model stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The state of one app at a moment, `now`.

    Versions are for compare-and-set. `unrecoverable` says which documents are gone that the app can't run without,
    `recovered_model` is the job model that replaces a lost one. `new_run_id` is one that was
    never used: for an app that has no run yet. `network_policy` is the digest of the app's NetworkPolicy.
    """

    app: AppResource
    now: datetime
    new_run_id: str
    counts: StreamCounts
    record: AppRecord | None = None
    record_version: int = ABSENT
    model: StoredJobModel | None = None
    unrecoverable: str | None = None
    recovered_model: StoredJobModel | None = None
    locality: LocalityReport | None = None
    locality_unreadable: str | None = None
    progress: ProgressReport | None = None
    pods: tuple[Pod, ...] = ()
    present: frozenset[tuple[Kind, str]] = frozenset()
    driver_binding: DriverBinding | None = None
    network_policy: str | None = None
    memory: AppMemory = field(default_factory=AppMemory)

    @property
    def pointer_version(self) -> int:
        """The version of the job model's pointer."""
        return ABSENT if self.model is None else self.model.pointer_version

    def pods_of(self, role: Role, epoch: int | None = None) -> tuple[Pod, ...]:
        """Return the pods of a role, of one epoch or of all."""
        return tuple(pod for pod in self.pods if pod.role == role and epoch in (None, pod.epoch))
