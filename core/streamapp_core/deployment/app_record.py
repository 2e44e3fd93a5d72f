"""The record of an app: the active spec, and the launch of its newest driver. Only the Kubernetes operator writes it.

It is one small document, so that one compare-and-set accepts a spec, advances the epoch and defines what the driver of
that epoch runs. The job model is beside it (`job_model.stored_job_model`), of the same epoch or, for the moment
between the two writes, of the previous one.
"""

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, Field

from streamapp_core.deployment.app_documents import Document, OpenEnum, StoredDocument
from streamapp_core.metadata_store import MetadataStore

RECORD = "record"
"""The key of the record in the app's metadata."""


class LaunchCause(OpenEnum):
    """The reasons for starting a driver."""

    FIRST_START = "FirstStart"
    DRIVER_DIED = "DriverDied"
    EDITED = "Edited"
    EXPANDED = "Expanded"
    RESUMED = "Resumed"
    NEW_RUN = "NewRun"
    RECORD_LOST = "RecordLost"
    UNKNOWN = "Unknown"


class StopCause(OpenEnum):
    """The reasons for stopping a driver that could continue."""

    SUSPENDED = "Suspended"
    EDITED = "Edited"
    EXPANDED = "Expanded"
    UNKNOWN = "Unknown"


class AppVersion(Document):
    """A version of the app: `app` is the digest of the resource's text, `counts` the partitions of external streams."""

    app: str
    run_id: str
    counts: Mapping[str, int]


class AcceptedSpec(AppVersion):
    """The last spec that was accepted, the generation of the resource that it came in, and the defaults below it."""

    generation: int
    defaults: Mapping[str, Any] | None = None


class Launch(AppVersion):
    """The newest driver: `epoch` was advanced to this before its pod was made.

    `processors` is how many executors the driver keeps, which may change while it runs. `executor_template` is the pod
    template for all of them. `attempt` counts the deaths in a row before this launch. With `stop`, the driver's pod is
    being deleted, or has been, on purpose. `first_epoch` and `first_at` are those of the first launch of its spec in a
    row: drivers that died may have been relaunched since.
    """

    epoch: Annotated[int, Field(ge=1)]
    processors: Annotated[int, Field(ge=1)]
    executor_template: Mapping[str, Any]
    cause: LaunchCause
    attempt: Annotated[int, Field(ge=0)] = 0
    at: AwareDatetime
    stop: StopCause | None = None
    first_epoch: int | None = None
    first_at: AwareDatetime | None = None


class FailedUpgrade(Document):
    """A spec that was rolled back, as its driver did not come to run: its digest, its defaults, and the reason."""

    app: str
    defaults: Mapping[str, Any] | None = None
    reason: str


class AppRecord(StoredDocument):
    """The active spec and the newest launch, and the last spec whose driver was `ready`.

    `failed_upgrade` is the newest spec, if it was rolled back. `apps` has the texts of all of them, by digest.
    A text is the resource as JSON: apiVersion, kind, metadata (name, namespace, uid) and spec.
    """

    accepted: AcceptedSpec
    launch: Launch | None = None
    ready: AcceptedSpec | None = None
    failed_upgrade: FailedUpgrade | None = None
    apps: Mapping[str, str]

    def text(self, version: AppVersion) -> str:
        """Return the text of a resource.

        Raises:
            KeyError: it is not in this record.
        """
        return self.apps[version.app]

    def with_versions(self, *, accepted: AcceptedSpec, launch: Launch | None, texts: Mapping[str, str]) -> Self:
        """Return the record with another active spec or launch; of all `texts` it keeps those still in use."""
        others = (launch, self.ready, self.failed_upgrade)
        named = {accepted.app} | {version.app for version in others if version is not None}
        kept = {digest: text for digest, text in {**self.apps, **texts}.items() if digest in named}
        return self.model_copy(update={"accepted": accepted, "launch": launch, "apps": kept})


def digest(text: str) -> str:
    """Return the digest of the text of a resource, by which the same one is known again."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class EpochOutdatedError(Exception):
    """Another epoch is active: this driver must change nothing, and exit with `kubernetes_names.OUTDATED_EXIT_CODE`."""

    def __init__(self, epoch: int, found: int | None) -> None:
        super().__init__(f"epoch {epoch} is not active: " + ("none is" if found is None else f"epoch {found} is"))


def read_launch(store: MetadataStore, epoch: int) -> tuple[Launch, str]:
    """Return the launch of a driver's own epoch, and the text of the resource that it runs.

    Raises:
        EpochOutdatedError: another epoch is active.
        DocumentUnreadableError: the record is damaged, or of a later release.
    """
    record = AppRecord.read(store, RECORD)
    launch = None if record is None else record.launch
    if record is None or launch is None or launch.epoch != epoch:
        raise EpochOutdatedError(epoch, None if launch is None else launch.epoch)
    return launch, record.text(launch)
