"""What the driver leaves for the Kubernetes operator: where tasks have their state, and how far the app is.

Only the driver writes these documents; the Kubernetes operator reads them, and believes the ones of the epoch in force.
"""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import AwareDatetime

from streamapp_core.deployment.app_documents import Document, StoredDocument

LOCALITY = "locality"
PROGRESS = "progress"
"""The keys of the documents in the app's metadata."""


class LocalityReport(StoredDocument):
    """Where the tasks of a run last opened their state: location -> changelog partitions of tasks, ascending.

    Changelog partitions stand for tasks, as they are short and a run never gives one to another task: 100,000 fit into
    one document. The location is the one that the job model gave to the task's processor. Tasks that are in no report
    keep the location that the job model has.
    """

    run_id: str
    epoch: int
    locations: Mapping[str, tuple[int, ...]]


class DriverPhase(StrEnum):
    """What the driver does; the last three are final."""

    STARTING = "Starting"
    RUNNING = "Running"
    DRAINING = "Draining"
    DRAINED = "Drained"
    COMPLETED = "Completed"
    FAILED = "Failed"


class StreamProgress(Document):
    """How far a stream is: rows read of an input, written to an output, and the watermark (milliseconds)."""

    read: int | None = None
    written: int | None = None
    watermark: int | None = None


class Stall(Document):
    """Something that has held a watermark back for long: where, since when, and why."""

    stream: str
    since: AwareDatetime
    reason: str


class ProgressReport(StoredDocument):
    """How far the app is. `version` is the newest job model that all processors in `running` go by.

    `since` is when the phase began. `message` says why a driver failed. Rows are those of the whole run.
    """

    run_id: str
    epoch: int
    phase: DriverPhase
    since: AwareDatetime
    version: int | None = None
    running: tuple[str, ...] = ()
    message: str | None = None
    streams: Mapping[str, StreamProgress] = {}
    stalled: tuple[Stall, ...] = ()
