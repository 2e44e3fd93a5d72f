"""The record of a run, which its next start reads, and its summary."""

from contextlib import suppress

import msgspec

from streamapp_core.metadata_store import ABSENT, MetadataStore, VersionConflict, Versioned
from streamapp_runtime.errors import RuntimeFailure, Superseded
from streamapp_runtime.processor.processor_report import BrokenClaimReport, RunNotice, WatermarkHolderReport
from streamapp_runtime.side_input_versions import SideInputVersion
from streamapp_runtime.state.store_size import StoreSize
from streamapp_systems.coordinator_stream import DriverRecord
from streamapp_systems.file import FileStat

_KEY = "run"


class StreamSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The rows read of one stream, and their total (None: nobody knows it).

    Other inputs wait for `awaited` more offsets of a side input; `version` is what is read of one that is a bounded
    table or folder. `held_back` says what holds the watermark back; None: nothing, all has ended or is idle.
    """

    name: str
    role: str
    partitions: int
    ended: int
    read: int
    total: int | None
    watermark: int | None
    awaited: int = 0
    version: str = ""
    held_back: WatermarkHolderReport | None = None


class StateSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The restored state of this start: how many tasks have `kept` the stores they found, and how many `rebuilt` them.

    Together they have read so many `records` of the changelog; about as many as `left` are still to be read. Tasks
    that begin with nothing are neither.
    """

    kept: int = 0
    rebuilt: int = 0
    records: int = 0
    left: int = 0


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of an app: rows read by stream, written by output, and not used by operator and reason.

    `bad_rows` describe the first rows that could not be used. `seconds` is how long this start of the run has taken,
    `incidents` are the newest of `incident_count` failures of processors that did not end it, `refused` says why the
    run does not follow a change of its streams, if there is one. `held_back_by` names, by operator, the stream whose
    watermark is the lowest of those that reach it, `broken_claims` the streams with rows that are not where their key
    belongs, as far as rows were checked since the processors started. `notices` say what a person should know of the
    tables: which files were taken again, which rows are missing. `state_sizes` are those of the stores of all tasks at
    their last commit, by operator or table.
    """

    streams: tuple[StreamSummary, ...]
    written: dict[str, int]
    not_used: dict[str, dict[str, int]]
    bad_rows: tuple[str, ...]
    seconds: float
    incidents: tuple[str, ...] = ()
    incident_count: int = 0
    refused: tuple[str, ...] = ()
    state: StateSummary = StateSummary()
    held_back_by: dict[str, str] = {}
    broken_claims: dict[str, BrokenClaimReport] = {}
    notices: tuple[RunNotice, ...] = ()
    state_sizes: dict[str, StoreSize] = {}


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run: its id, its newest epoch, its spec (as JSON), and its summary once it has completed.

    `ends` are the offsets where bounded partitions end, `starts` those where inputs are read first (0 where nothing is
    said), `files` the names of the files that are read, all taken at the run's first start; `file_stats` are those of
    inputs at the last start, with their sizes and times, `code` the SHA-256 of the files of its functions then.
    `side_inputs` are the versions of side inputs from files, which with their ends are taken again at a start that
    finds others; `notices` say so.
    `made` are the addresses of the streams that were made for it, by system, `outdated` those of earlier runs,
    to be deleted, and `outdated_ids` the transactional ids that they used. The records of outputs at the addresses in
    `emptied` are deleted before it begins. `identities` are those of the streams that it reads and of its changelog:
    others at their addresses have other ones. `broken_claim` says which claim of its inputs does not hold, if
    that has ended it. Until it is `prepared`, nothing has been processed.
    """

    run_id: str
    epoch: int
    spec: str
    ends: dict[str, dict[int, int]]
    starts: dict[str, dict[int, int]] = {}
    files: dict[str, list[str]]
    file_stats: dict[str, tuple[FileStat, ...]] = {}
    code: dict[str, str] = {}
    side_inputs: dict[str, SideInputVersion] = {}
    notices: tuple[RunNotice, ...] = ()
    made: dict[str, list[str]]
    outdated: dict[str, list[str]]
    outdated_ids: tuple[str, ...] = ()
    emptied: dict[str, list[str]] = {}
    identities: dict[str, str] = {}
    broken_claim: str = ""
    prepared: bool = False
    summary: Summary | None = None


_decode = msgspec.json.Decoder(RunRecord).decode


def load_record(store: MetadataStore) -> RunRecord | None:
    """Read the record of the app's last run; None if there was none.

    Raises:
        RuntimeFailure: the record can't be read.
    """
    return _read(store.get(_KEY))


def _read(entry: Versioned | None) -> RunRecord | None:
    try:
        return None if entry is None else _decode(entry.value)
    except msgspec.DecodeError as error:
        raise RuntimeFailure(
            f"the record of the last run can't be read ({error}); remove the app's state folder"
        ) from None


def save_record(store: MetadataStore, record: RunRecord) -> None:
    """Write the record of a run, unless a later driver has written its own.

    Raises:
        Superseded: a later driver has; what it knows of the run's streams stays.
        RuntimeFailure: the record there is can't be read.
    """
    while True:
        entry = store.get(_KEY)
        found = _read(entry)
        if found is not None and found.epoch > record.epoch:
            raise Superseded(
                f"epoch {found.epoch} (run {found.run_id}) was started elsewhere: the driver of epoch {record.epoch} "
                "ends here"
            )
        with suppress(VersionConflict):
            store.put(_KEY, msgspec.json.encode(record), ABSENT if entry is None else entry.version)
            break
    store.flush()


def driver_record(record: RunRecord) -> DriverRecord:
    """Return what the coordinator stream has of a run."""
    return DriverRecord(
        epoch=record.epoch, run_id=record.run_id, made=record.made, completed=record.summary is not None
    )
