"""Reports of the driver to the Kubernetes operator: the locations of the tasks' state, and the progress of the app.

Only the driver writes these documents; the Kubernetes operator reads them, and uses the locality of the active
run, as state stays where it is when another driver is launched, and the progress of the active epoch.
"""

from collections.abc import Mapping
from enum import StrEnum

from pydantic import AwareDatetime

from streamapp_core.deployment.app_documents import Document, OpenEnum, StoredDocument

LOCALITY = "locality"
PROGRESS = "progress"
"""The keys of the documents in the app's metadata."""


class LocalityReport(StoredDocument):
    """The locations where the tasks of a run last opened their state: location -> changelog partitions, ascending.

    Changelog partitions stand for tasks, as they are short and a run never gives one to another task: 100,000 fit into
    one document. The location is the one that the job model gave to the task's processor. Tasks that are in no report
    keep the location that the job model has.
    """

    run_id: str
    epoch: int
    locations: Mapping[str, tuple[int, ...]]


class DriverPhase(StrEnum):
    """The phases of a driver; the last three are final."""

    STARTING = "Starting"
    RUNNING = "Running"
    DRAINING = "Draining"
    DRAINED = "Drained"
    COMPLETED = "Completed"
    FAILED = "Failed"


class StreamProgress(Document):
    """The progress of a stream: rows read of an input, written to an output, and the watermark (milliseconds)."""

    read: int | None = None
    written: int | None = None
    watermark: int | None = None


class StateSize(Document):
    """The size of the state of an operator or table, in all tasks: its entries, and its bytes on disk."""

    entries: int
    bytes: int


class Stall(Document):
    """A partition or producer that has held a watermark back for long: the stream, since when, and why."""

    stream: str
    since: AwareDatetime
    reason: str


class BrokenClaim(Document):
    """A stream with rows that are not where their key belongs: the first of them, and where it should have been."""

    stream: str
    example: str


class NoticeReason(OpenEnum):
    """The subjects of notices: tables without rows that their side inputs hold, changed or failing inputs, new runs."""

    TABLE_INCOMPLETE = "TableIncomplete"
    SIDE_INPUT_OUTDATED = "SideInputOutdated"
    """The run keeps the previous version."""
    SIDE_INPUT_CHANGED = "SideInputChanged"
    """The run will read the new version."""
    SIDE_INPUT_REFRESHED = "SideInputRefreshed"
    """The run reads the new version."""
    INPUTS_CHANGED = "InputsChanged"
    """A run that has completed was asked for again, and its inputs hold other records than it has read."""
    SOURCE_NOT_READ = "SourceNotRead"
    """A job of Spark could not read what a source has got: it is tried again, and its rows come later."""
    TABLE_NOT_COMPACTED = "TableNotCompacted"
    TABLE_NOT_VACUUMED = "TableNotVacuumed"
    """Small files of a table that is written could not be joined: that is tried again, and its rows are there."""
    OUTPUT_NOT_WRITTEN = "OutputNotWritten"
    """A job of Spark could not write what is committed: it is tried again, and the rows stay staged."""
    NEW_RUN = "NewRun"
    """A new run has begun: what earlier ones have left and is deleted, and what stays."""
    UNKNOWN = "Unknown"


class Notice(Document):
    """A message about the run that a person should know; it has what to do, where there is something to do."""

    reason: NoticeReason
    message: str


class ProgressReport(StoredDocument):
    """The progress of the app. `version` is the newest job model that all processors in `running` use.

    `since` is when the phase began. `message` is the reason why a driver failed. Rows are those of the whole run, and
    `broken_claims` are all that were found in it.
    """

    run_id: str
    epoch: int
    phase: DriverPhase
    since: AwareDatetime
    version: int | None = None
    running: tuple[str, ...] = ()
    message: str | None = None
    streams: Mapping[str, StreamProgress] = {}
    state: Mapping[str, StateSize] = {}
    stalled: tuple[Stall, ...] = ()
    broken_claims: tuple[BrokenClaim, ...] = ()
    notices: tuple[Notice, ...] = ()
