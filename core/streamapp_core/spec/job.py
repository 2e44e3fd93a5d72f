"""Settings of the job: partitions, tasks, commits and delivery."""

from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.time_zones import app_zone
from streamapp_core.spec.base import (
    Duration,
    PartitionCount,
    SpecModel,
    Text,
    between,
)


class Grouper(StrEnum):
    """The rule that makes tasks of partitions."""

    PARTITION = "partition"
    STREAM_PARTITION = "stream-partition"
    ALL = "all"


class Delivery(StrEnum):
    """The guarantee for results after a failure."""

    EXACTLY_ONCE = "exactlyOnce"
    AT_LEAST_ONCE = "atLeastOnce"


class OnError(StrEnum):
    """The handling of a row that can't be read or processed; only records that can't be read are dead letters."""

    FAIL = "fail"
    SKIP = "skip"
    DEAD_LETTER = "deadLetter"


class OnBrokenClaim(StrEnum):
    """The handling of rows that are not in the partitions where their declared key says they are."""

    FAIL = "fail"
    REPORT = "report"


def _time_zone(written: str) -> str:
    try:
        app_zone(written)
    except Refusal as refusal:
        raise ValueError(refusal.issue.message) from None
    return written


class PartitionMonitor(SpecModel):
    """Whether and how often the partition counts of the inputs are looked at."""

    enabled: Annotated[bool, Field(description="Whether new partitions are looked for.")] = True
    interval: Annotated[Duration, between("1s", "1d")] = "30s"  # type: ignore[assignment]


class JobSpec(SpecModel):
    """Settings of the job: partitions, tasks, commits and delivery."""

    intermediate_stream_partitions: Annotated[
        PartitionCount | None, Field(description="Partitions of intermediate streams that no join decides.")
    ] = None
    grouper: Grouper = Grouper.PARTITION
    expansion_algorithm: Annotated[
        Text, Field(description="Which partition the keys of a new one came from: `modulo`, or an entry point's name.")
    ] = "modulo"
    expansion_grace_period: Annotated[
        Duration, Field(description="How long a new partition waits for the ones its keys came from.")
    ] = "10m"  # type: ignore[assignment]
    commit_interval: Annotated[Duration, between("10ms", "5m")] = "1s"  # type: ignore[assignment]
    watermark_interval: Annotated[Duration, between("1ms", "5m")] = "200ms"  # type: ignore[assignment]
    delivery: Delivery = Delivery.EXACTLY_ONCE
    on_error: OnError = OnError.FAIL
    on_broken_claim: OnBrokenClaim = OnBrokenClaim.FAIL
    time_zone: Annotated[
        Text,
        AfterValidator(_time_zone),
        Field(
            description="The time zone in which expressions read and show timestamps: a name such as `Europe/Paris`, "
            "`UTC`, or an offset such as `+02:00`."
        ),
    ] = "UTC"
    partition_monitor: PartitionMonitor = Field(default=PartitionMonitor())
