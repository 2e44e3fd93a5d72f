"""Settings of processors and driver: size, location, state, restarts and deletion."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from streamapp_core.spec.base import Duration, Name, PodTemplate, Quantity, SpecModel, Text


class LocationBy(StrEnum):
    """The way to recognize that two processors share a disk."""

    NODE = "node"
    VOLUME = "volume"
    POD = "pod"
    CONTAINER = "container"
    LABEL = "label"


class Location(SpecModel):
    """The source of location ids; `label` names the pod label for `by: label`."""

    by: LocationBy
    label: Annotated[Text | None, Field(description="The name of the pod label.")] = None

    @model_validator(mode="after")
    def _label_where_needed(self) -> Self:
        if (self.by is LocationBy.LABEL) != (self.label is not None):
            raise ValueError("`label` names the pod label for `by: label`, and belongs to it only")
        return self


class EmptyDir(SpecModel):
    """State that lives as long as its pod."""

    size_limit: Quantity | None = None


class VolumeClaim(SpecModel):
    """State on a volume of its own per processor."""

    storage_class_name: Annotated[
        Text | None, Field(description="The storage class of the claims; Kubernetes needs it.")
    ] = None
    size: Quantity


class StateStorage(SpecModel):
    """The storage of state: exactly one of a pod's own disk, a folder of the node, a volume."""

    empty_dir: EmptyDir | None = None
    host_path: Annotated[Text | None, Field(description="A folder of the node; state outlives the pod.")] = None
    volume_claim: VolumeClaim | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(part is not None for part in (self.empty_dir, self.host_path, self.volume_claim)) != 1:
            raise ValueError("state is exactly one of emptyDir, hostPath and volumeClaim")
        return self


class ProcessorsSpec(SpecModel):
    """The processors: number, size, and storage of state."""

    count: Annotated[
        int, Field(ge=1, le=1_000, description="How many processors there are: each an executor with tasks of its own.")
    ] = 1
    cores: Annotated[int, Field(ge=1, le=256, description="CPUs of each processor.")] = 1
    memory: Quantity = "1Gi"
    location: Location | None = None
    state: StateStorage = StateStorage(emptyDir=EmptyDir())
    template: PodTemplate = {}


class DriverSpec(SpecModel):
    """The driver's size."""

    cores: Annotated[int, Field(ge=1, le=256, description="CPUs of the driver.")] = 1
    memory: Quantity = "1Gi"
    template: PodTemplate = {}


class RestartPolicy(SpecModel):
    """The backoff before a driver that dies again is restarted: each `factor` times longer, from `backoff` to `max`."""

    backoff: Duration = "1s"  # type: ignore[assignment]
    factor: Annotated[
        int, Field(ge=1, le=10, description="How many times longer each backoff is than the one before.")
    ] = 2
    max: Duration = "5m"  # type: ignore[assignment]
    reset_after: Annotated[Duration, Field(description="The healthy time after which waits are short again.")] = "10m"  # type: ignore[assignment]
    max_restarts: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Field(description="The number of restarts after which no more is tried; null: no limit."),
    ] = None


class UpgradeSpec(SpecModel):
    """The return to the last spec that ran, when the driver of a new one does not come to run."""

    deadline: Annotated[
        Duration, Field(description="The time in which the driver of a new spec has to be ready, with its processors.")
    ] = "15m"  # type: ignore[assignment]
    roll_back: Annotated[bool, Field(description="Whether the spec before is restored if it is not.")] = True


class DeletionPolicy(StrEnum):
    """The handling of topics and state when the app is deleted."""

    RETAIN = "Retain"
    DELETE = "Delete"


class ImagePullPolicy(StrEnum):
    """The policy for pulling the image, as in a pod."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class LocalSecret(SpecModel):
    """A secret of the app's namespace."""

    name: Annotated[Name, Field(description="The name of a Secret in the app's namespace.")]
