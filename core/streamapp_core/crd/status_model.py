"""The status of a StreamApp, as the Kubernetes operator writes it and people read it.

Kubernetes refuses a status that breaks its schema, so the writer cuts lists and texts to the bounds given here.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from streamapp_core.plan.plan import Mode

MAXIMUM_CONDITIONS = 32
MAXIMUM_PROBLEMS = 100
MAXIMUM_MESSAGE = 4_096
MAXIMUM_PATH = 1_024

Word = Annotated[str, Field(max_length=253)]
Message = Annotated[str, Field(max_length=MAXIMUM_MESSAGE)]
Time = Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"})]


class StatusModel(BaseModel):
    """A part of the status: immutable, camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True, validate_by_name=True)


class ConditionStatus(StrEnum):
    """Whether a condition holds."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(StatusModel):
    """One thing that is true of the app or not, since when, and why."""

    type: Word
    status: ConditionStatus
    reason: Word | None = None
    message: Message | None = None
    last_transition_time: Time | None = None
    observed_generation: int | None = None


class StatusProblem(StatusModel):
    """One reason why the spec was refused."""

    path: Annotated[str, Field(max_length=MAXIMUM_PATH, description="Where in the resource.")]
    code: Word
    message: Message


class PlanSummary(StatusModel):
    """The plan that is running: the last one that was accepted."""

    model_config = ConfigDict(extra="allow")

    mode: Mode | None = None
    tasks: int | None = None


class ProcessorsStatus(StatusModel):
    """The processors that are there."""

    model_config = ConfigDict(extra="allow")

    ready: Annotated[int | None, Field(description="Processors that run their tasks.")] = None


class StreamAppStatus(StatusModel):
    """The status of the app, as the Kubernetes operator reports it."""

    model_config = ConfigDict(extra="allow")

    observed_generation: int | None = None
    phase: Annotated[Word | None, Field(description="The conditions in one word.")] = None
    conditions: Annotated[tuple[Condition, ...], Field(max_length=MAXIMUM_CONDITIONS)] | None = None
    problems: Annotated[tuple[StatusProblem, ...], Field(max_length=MAXIMUM_PROBLEMS)] | None = None
    plan: PlanSummary | None = None
    processors: ProcessorsStatus | None = None
    selector: Annotated[str | None, Field(max_length=1_024, description="Labels of the processors' pods.")] = None
    run_id: Word | None = None
