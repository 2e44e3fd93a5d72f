"""The store of a table that side inputs fill, and how far it holds them (design 8)."""

from collections import Counter

import msgspec

from streamapp_core.adjunct.recovery import NoStoreRecord, Recovery, StoreAction, StoreRecord
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.state.checkpoint import InputPosition
from streamapp_runtime.state.unlogged_state import UnloggedStore
from streamapp_runtime.tables.lookup_table import LookupTable


class ReadTo(msgspec.Struct, frozen=True, kw_only=True):
    """How far a partition of a side input is held."""

    system: str
    stream: str
    partition: int
    position: InputPosition


class SavedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a store tells of itself, as it lies beside its rows; `not_used` and `bad_rows` are those it left out."""

    run_id: str
    written_at: int
    read_to: tuple[ReadTo, ...] = ()
    not_used: dict[str, int] = {}
    bad_rows: tuple[str, ...] = ()

    def positions(self) -> dict[Ssp, InputPosition]:
        """Tell how far each partition is held."""
        return {Ssp(held.system, held.stream, held.partition): held.position for held in self.read_to}


_decode = msgspec.json.Decoder(SavedRecord).decode


def read_record(data: bytes | None) -> SavedRecord | NoStoreRecord:
    """Read what a store tells of itself."""
    if data is None:
        return NoStoreRecord.NO_STORE
    try:
        return _decode(data)
    except msgspec.DecodeError:
        return NoStoreRecord.UNREADABLE


def found_store(saved: SavedRecord | NoStoreRecord) -> StoreRecord | NoStoreRecord:
    """Give what a recovery is decided by."""
    if isinstance(saved, NoStoreRecord):
        return saved
    held = {ssp: position.offset for ssp, position in saved.positions().items()}
    return StoreRecord(run_id=saved.run_id, written_at=saved.written_at, next=held)


class AdjunctStore:
    """A table, and how far its side inputs have gone into it: both commit together."""

    def __init__(
        self,
        name: str,
        table: LookupTable,
        kept: UnloggedStore,
        *,
        run_id: str,
        recovery: Recovery,
        saved: SavedRecord,
        bad_rows: BadRows,
    ) -> None:
        """Take what was decided, and what the store told of itself; `bad_rows` are shared with an extractor."""
        self.name = name
        self.table = table
        self._kept = kept
        self._run_id = run_id
        held = saved.positions() if recovery.action is StoreAction.REUSE else {}
        self.positions = {ssp: _moved(held.get(ssp), start) for ssp, start in recovery.start.items()}
        """How far each partition has been read."""
        self.ended: set[Ssp] = set()
        """The bounded partitions that have been read to their ends."""
        self._wait_for = dict(recovery.wait_for)
        self._bad_rows = bad_rows
        self.not_used: Counter[str] = Counter()
        """How many rows the table left out, by reason."""
        if recovery.action is StoreAction.REUSE:
            self.not_used += Counter(saved.not_used)
            bad_rows.remember(*saved.bad_rows)
        else:
            kept.clear()

    @property
    def bad_rows(self) -> tuple[str, ...]:
        """The first rows that could not be used, each with its place and what was wrong."""
        return self._bad_rows.descriptions

    def bootstrap_lag(self) -> dict[Ssp, int]:
        """Tell how many offsets of which partitions are still to be read before any other input."""
        return {ssp: end - self.positions[ssp].offset for ssp, end in self._wait_for.items()}

    def take(self, decoded: DecodedBatch) -> None:
        """Take what was read of one partition.

        What the table holds already, since another one had to be read for from further back, is left out. A batch that
        is new in part is taken whole: for each key its last row counts, as if the old part had not been there.
        """
        ssp, before = decoded.ssp, self.positions[decoded.ssp]
        if decoded.next_offset > before.offset:
            self._bad_rows.place = f"{ssp}, offsets {before.offset} to {decoded.next_offset - 1}"
            self._fill(decoded)
            rows = 0 if decoded.rows is None else len(decoded.rows)
            ungated = before.ungated or decoded.ungated
            self.positions[ssp] = InputPosition(offset=decoded.next_offset, rows=before.rows + rows, ungated=ungated)
        if decoded.ended:
            self.ended.add(ssp)
        if decoded.ended or self.positions[ssp].offset >= self._wait_for.get(ssp, 0):
            self._wait_for.pop(ssp, None)

    def write_record(self, now: int) -> None:
        """Write down how far the store holds its side inputs, to be committed with its rows."""
        read_to = (
            ReadTo(system=ssp.system, stream=ssp.stream, partition=ssp.partition, position=position)
            for ssp, position in self.positions.items()
        )
        record = SavedRecord(
            run_id=self._run_id,
            written_at=now,
            read_to=tuple(read_to),
            not_used=dict(self.not_used),
            bad_rows=self.bad_rows,
        )
        self._kept.write_record(msgspec.json.encode(record))

    def _fill(self, decoded: DecodedBatch) -> None:
        self._bad_rows.remember(*decoded.bad_rows)
        self.not_used += Counter(decoded.not_used)
        if decoded.rows is not None:
            self.not_used += Counter(self.table.fill(decoded.rows))


def _moved(position: InputPosition | None, offset: int) -> InputPosition:
    if position is None:
        return InputPosition(offset=offset, rows=0)
    return msgspec.structs.replace(position, offset=offset)
