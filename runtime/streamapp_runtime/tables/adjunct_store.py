"""The store of a table that side inputs fill, with the offsets up to which it has them (docs/adjunct-stores.md)."""

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from streamapp_core.adjunct.recovery import NoStoreRecord, Recovery, StoreAction, StoreRecord
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.state.checkpoint import InputPosition
from streamapp_runtime.state.unlogged_state import UnloggedStore
from streamapp_runtime.tables.lookup_table import LookupTable


class ReadTo(msgspec.Struct, frozen=True, kw_only=True):
    """The position of one partition of a side input in the store."""

    system: str
    stream: str
    partition: int
    position: InputPosition


class SavedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record that a store keeps beside its rows; `not_used` and `bad_rows` are the rows it left out.

    `incomplete` says why it does not hold all rows of its side inputs, if so.
    """

    run_id: str
    written_at: int
    read_to: tuple[ReadTo, ...] = ()
    not_used: dict[str, int] = {}
    bad_rows: tuple[str, ...] = ()
    incomplete: str = ""

    def positions(self) -> dict[Ssp, InputPosition]:
        """Return the position of each partition in the store."""
        return {Ssp(held.system, held.stream, held.partition): held.position for held in self.read_to}


_decode = msgspec.json.Decoder(SavedRecord).decode


def read_record(data: bytes | None) -> SavedRecord | NoStoreRecord:
    """Decode the record of a store."""
    if data is None:
        return NoStoreRecord.NO_STORE
    try:
        return _decode(data)
    except msgspec.DecodeError:
        return NoStoreRecord.UNREADABLE


def found_store(saved: SavedRecord | NoStoreRecord) -> StoreRecord | NoStoreRecord:
    """Return a store's record in the form that a recovery is decided by."""
    if isinstance(saved, NoStoreRecord):
        return saved
    held = saved.positions()
    return StoreRecord(
        run_id=saved.run_id,
        written_at=saved.written_at,
        next={ssp: position.offset for ssp, position in held.items()},
        versions={ssp: position.version for ssp, position in held.items()},
    )


class AdjunctStore:
    """A table and the positions of its side inputs in it: both commit together."""

    def __init__(
        self,
        name: str,
        table: LookupTable,
        unlogged: UnloggedStore,
        *,
        run_id: str,
        recovery: Recovery,
        saved: SavedRecord,
        bad_rows: BadRows,
        now: int,
        versions: Mapping[Ssp, str] = MappingProxyType({}),
        incomplete: str = "",
    ) -> None:
        """Continue from `saved`, or from nothing, as `recovery` decides; `bad_rows` are shared with an extractor.

        `now` is the time of day in milliseconds, when the side inputs had the ends that the recovery goes by.
        `versions` are those of the streams, where there are any. `incomplete` says why the store begins without rows
        that its side inputs hold, if so.
        """
        self.name = name
        self.table = table
        self._unlogged = unlogged
        self._run_id = run_id
        held = saved.positions() if recovery.action is StoreAction.REUSE else {}
        self.positions = {
            ssp: _position_at(held.get(ssp), start, versions.get(ssp, "")) for ssp, start in recovery.start.items()
        }
        """The position of each partition."""
        self.ended: set[Ssp] = set()
        """The bounded partitions that have been read to their ends."""
        self._wait_for = dict(recovery.wait_for)
        self._behind = dict(recovery.behind)
        self._up_to_date = saved.written_at if recovery.action is StoreAction.REUSE else now
        """The time as of which the store misses no deletion that its side inputs may have forgotten since."""
        self._bad_rows = bad_rows
        self.not_used: Counter[str] = Counter()
        """Counts of rows that the table left out, by reason."""
        if recovery.action is StoreAction.REUSE:
            self.not_used += Counter(saved.not_used)
            bad_rows.remember(*saved.bad_rows)
        else:
            unlogged.clear()
        self.incomplete = saved.incomplete if recovery.action is StoreAction.REUSE else incomplete
        """Why the store does not hold all rows of its side inputs; empty if it does."""

    @property
    def bad_rows(self) -> tuple[str, ...]:
        """The first rows that could not be used, each with its place and what was wrong."""
        return self._bad_rows.descriptions

    def bootstrap_lag(self) -> dict[Ssp, int]:
        """Return how many offsets of which partitions are still to be read before any other input."""
        return {ssp: end - self.positions[ssp].offset for ssp, end in self._wait_for.items()}

    def take(self, decoded: DecodedBatch) -> None:
        """Apply a batch of one partition.

        What the table has already, because another one had to be read from further back, is left out. A batch that is
        new in part is applied whole: for each key its last row counts, as if the old part had not been there.
        """
        ssp, before = decoded.ssp, self.positions[decoded.ssp]
        if decoded.next_offset > before.offset:
            self._bad_rows.place = f"{ssp}, offsets {before.offset} to {decoded.next_offset - 1}"
            self._fill(decoded)
            rows = 0 if decoded.rows is None else len(decoded.rows)
            self.positions[ssp] = msgspec.structs.replace(
                before,
                offset=decoded.next_offset,
                rows=before.rows + rows,
                ungated=before.ungated or decoded.ungated,
            )
        if decoded.ended:
            self.ended.add(ssp)
        if decoded.ended or self.positions[ssp].offset >= self._behind.get(ssp, 0):
            self._wait_for.pop(ssp, None)
            self._behind.pop(ssp, None)

    def write_record(self, now: int) -> None:
        """Write the record with the positions of the side inputs, to be committed with the rows.

        The store is as young as that (`now`, in milliseconds) once it has all that its side inputs had at the start:
        from there on it follows them.
        """
        if not self._behind:
            self._up_to_date = now
        read_to = (
            ReadTo(system=ssp.system, stream=ssp.stream, partition=ssp.partition, position=position)
            for ssp, position in self.positions.items()
        )
        record = SavedRecord(
            run_id=self._run_id,
            written_at=self._up_to_date,
            read_to=tuple(read_to),
            not_used=dict(self.not_used),
            bad_rows=self.bad_rows,
            incomplete=self.incomplete,
        )
        self._unlogged.write_record(msgspec.json.encode(record))

    def _fill(self, decoded: DecodedBatch) -> None:
        self._bad_rows.remember(*decoded.bad_rows)
        self.not_used += Counter(decoded.not_used)
        if decoded.rows is not None:
            self.not_used += Counter(self.table.fill(decoded.rows))


def _position_at(position: InputPosition | None, offset: int, version: str) -> InputPosition:
    if position is None:
        return InputPosition(offset=offset, rows=0, version=version)
    return msgspec.structs.replace(position, offset=offset)
