"""What a run leaves behind for the next start: who it is, how far it came, and what it found."""

import msgspec

from streamapp_core.metadata.store import MetadataStore
from streamapp_runtime.errors import RuntimeFailure

_KEY = "run"


class StreamSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of one stream, and of how many rows (None: nobody knows the total)."""

    name: str
    role: str
    partitions: int
    ended: int
    read: int
    total: int | None
    watermark: int | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What an app has done: per stream what was read, per output what was written, per operator what was not used.

    `bad_rows` tell of the first rows that could not be used. `seconds` is how long this start of the run has taken.
    """

    streams: tuple[StreamSummary, ...]
    written: dict[str, int]
    not_used: dict[str, dict[str, int]]
    bad_rows: tuple[str, ...]
    seconds: float


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run: its id, its newest epoch, its spec (as JSON), and its summary once it has completed.

    `ends` are the offsets where bounded partitions end, `files` the names of the files that are read, both taken at the
    run's first start. `made` are the addresses of
    the streams that were made for it, by system, `outdated` those of earlier runs, which go. Until it is `prepared`,
    nothing has been processed.
    """

    run_id: str
    epoch: int
    spec: str
    ends: dict[str, dict[int, int]]
    files: dict[str, list[str]]
    made: dict[str, list[str]]
    outdated: dict[str, list[str]]
    prepared: bool = False
    summary: Summary | None = None


def load_record(store: MetadataStore) -> RunRecord | None:
    """Read the record of the app's last run; None if there was none.

    Raises:
        RuntimeFailure: the record can't be read.
    """
    entry = store.get(_KEY)
    if entry is None:
        return None
    try:
        return msgspec.json.decode(entry.value, type=RunRecord)
    except msgspec.DecodeError as error:
        raise RuntimeFailure(
            f"the record of the last run can't be read ({error}); remove the app's state folder"
        ) from None


def save_record(store: MetadataStore, record: RunRecord) -> None:
    """Write the record of a run."""
    store.put(_KEY, msgspec.json.encode(record))
    store.flush()
