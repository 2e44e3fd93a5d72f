"""The changes that the versions of a table make: the rows of a change data feed, or else of whole files.

Of a version, the rows that it deletes come first, without those whose key it inserts as well: these are replaced. So
no key is missing in between, and the newest row of a key is the last one. A record is a row of a file, whether it is a
change or not: offsets follow from the log and from the numbers of rows in files.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.spec.streams import CHANGE_COLUMN
from streamapp_systems.file.file_chunks import Chunk, FileFormat, UnreadableRow
from streamapp_systems.folder.file_journal import FileJournal, SeenFile
from streamapp_systems.objects import Place

CHANGE_FIELD = pa.field(CHANGE_COLUMN, pa.string())
"""What a record does: `u` (its row is the newest of its key), `d` (it deletes the key) or null (nothing)."""
_CHANGE_TYPE = pa.field("_change_type", pa.string())
_INSERTS = pa.array(["insert", "update_postimage"])
_DELETES = pa.array(["delete", "update_preimage"])
_ROW = "__row"
_BATCH_ROWS = 16_384


class ChangedRows(StrEnum):
    """The rows of a file that are changes: all that a version adds or removes, or some of its change data file."""

    ADDED = "added"
    REMOVED = "removed"
    INSERTED = "inserted"
    DELETED = "deleted"

    @property
    def deletes(self) -> bool:
        """Whether they delete their keys."""
        return self in (ChangedRows.REMOVED, ChangedRows.DELETED)

    @property
    def in_feed(self) -> bool:
        """Whether the file says of each row what happened to it."""
        return self in (ChangedRows.INSERTED, ChangedRows.DELETED)


@dataclass(frozen=True, slots=True)
class ChangeFile:
    """Rows of a file that are changes of a version. A file may be that of several changes."""

    version: int
    rows: ChangedRows
    path: str

    @property
    def name(self) -> str:
        """The name in a journal, from which `parse_change_file` makes it again."""
        return f"{_prefix(self.version, self.rows)}{self.path}"


def parse_change_file(name: str) -> ChangeFile:
    """Return what a name in a journal means."""
    version, rows, path = name.split("/", 2)
    return ChangeFile(int(version), ChangedRows(rows), path)


def _prefix(version: int, rows: ChangedRows) -> str:
    """Return what the names of the files begin with that have such changes of a version."""
    return f"{version}/{rows}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChanges:
    """The reader of the changes in one file, as rows with `CHANGE_FIELD`. `key` are the columns that rows have keys in.

    `inserted_keys` returns these columns of the rows that the same version inserts.
    """

    file: FileFormat
    rows: ChangedRows
    key: tuple[str, ...]
    inserted_keys: Callable[[pa.Schema], pa.Table]

    def count(self, path: Place) -> int:
        """See `FileFormat.count`."""
        return self.file.count(path)

    def read(self, path: Place, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """See `FileFormat.read`; a row that deletes has only its key."""
        columns = schema.remove(schema.get_field_index(CHANGE_COLUMN))
        if self.rows.deletes:
            yield from self._deletions(path, columns, start)
            return
        for chunk in self.file.read(path, self._stored(columns), start):
            if isinstance(chunk, UnreadableRow):
                yield chunk
            else:
                yield from self._insertions(chunk)

    def keys(self, path: Place, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the keys of the rows that are inserted; `schema` is that of the key."""
        for chunk in self.file.read(path, self._stored(schema), 0):
            if not isinstance(chunk, UnreadableRow):
                yield chunk.filter(pa.array(self._changes(chunk, _INSERTS))).select(schema.names)

    def _stored(self, columns: pa.Schema) -> pa.Schema:
        return columns.append(_CHANGE_TYPE) if self.rows.in_feed else columns

    def _changes(self, rows: pa.RecordBatch, types: pa.Array) -> npt.NDArray[np.bool_]:
        """Return which rows of a file are changes of these types."""
        if not self.rows.in_feed:
            return np.ones(len(rows), np.bool_)
        found: npt.NDArray[np.bool_] = pc.is_in(rows.column(_CHANGE_TYPE.name), types).to_numpy(zero_copy_only=False)
        return found

    def _insertions(self, stored: pa.RecordBatch) -> Iterator[Chunk]:
        inserted = self._changes(stored, _INSERTS)
        rows = stored.drop_columns([_CHANGE_TYPE.name]) if self.rows.in_feed else stored
        marked = rows.append_column(CHANGE_FIELD, _marks(inserted, "u"))
        start = 0
        for row in np.flatnonzero(inserted & ~self._with_key(rows)).tolist():
            if row > start:
                yield marked.slice(start, row - start)
            yield UnreadableRow(reason="its key is null, so nobody knows which row it replaces")
            start = row + 1
        if start < len(marked):
            yield marked.slice(start)

    def _deletions(self, path: Place, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows whose keys are gone after the version. A row that can't be read was never there."""
        key = pa.schema([schema.field(column) for column in self.key])
        stored = self._stored(key)
        nothing = pa.RecordBatch.from_arrays([pa.nulls(1, field.type) for field in stored], schema=stored)
        chunks = [
            nothing if isinstance(chunk, UnreadableRow) else chunk for chunk in self.file.read(path, stored, start)
        ]
        deleted = [self._changes(chunk, _DELETES) & self._with_key(chunk) for chunk in chunks]
        keys = pa.Table.from_batches(chunks, stored).select(key.names)
        gone = self._gone(keys, np.concatenate([np.zeros(0, np.bool_), *deleted]))
        marked = keys.append_column(CHANGE_FIELD, _marks(gone, "d")).combine_chunks()
        for rows in marked.to_batches(_BATCH_ROWS):
            missing = {
                column.name: pa.nulls(len(rows), column.type) for column in schema if column.name not in self.key
            }
            columns = [missing[name] if name in missing else rows.column(name) for name in schema.names]
            yield pa.RecordBatch.from_arrays([*columns, rows.column(CHANGE_COLUMN)], schema=schema.append(CHANGE_FIELD))

    def _gone(self, keys: pa.Table, deleted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which of the rows that are deleted have keys that the version does not insert again."""
        numbered = keys.append_column(_ROW, pa.array(np.arange(len(keys)))).filter(pa.array(deleted))
        inserted = self.inserted_keys(keys.schema)
        left = numbered.join(inserted, keys.column_names, join_type="left anti")
        gone = np.zeros(len(keys), np.bool_)
        gone[left.column(_ROW).to_numpy()] = True
        return gone

    def _with_key(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Return which rows have no column of the key that is null."""
        valid = np.ones(len(rows), np.bool_)
        for column in self.key:
            valid &= rows.column(column).is_valid().to_numpy(zero_copy_only=False)
        return valid


def _marks(changed: npt.NDArray[np.bool_], what: str) -> pa.Array:
    """Return what happens to each row; null if nothing does."""
    return pc.if_else(pa.array(changed), pa.scalar(what), pa.scalar(None, pa.string()))


class ChangedFiles:
    """The files with the changes of one table, by their names in its journal. Used by one thread."""

    def __init__(
        self, key: tuple[str, ...], rows: Callable[[SeenFile], FileFormat], path: Callable[[str], Place]
    ) -> None:
        """Take the columns of the key, and what opens the table's files as they are."""
        self._key = key
        self._rows = rows
        self._path = path
        self._inserted: tuple[int, pa.Table] | None = None
        """The keys that a version inserts, while its deletions are read."""

    def format(self, journal: FileJournal, seen: SeenFile) -> TableChanges:
        """Return the reader of a file of the journal."""
        change = parse_change_file(seen.name)
        return TableChanges(
            file=self._rows(seen),
            rows=change.rows,
            key=self._key,
            inserted_keys=lambda key: self._inserted_keys(journal, change.version, key),
        )

    def _inserted_keys(self, journal: FileJournal, version: int, key: pa.Schema) -> pa.Table:
        """Return the keys of the rows that a version inserts."""
        if self._inserted is None or self._inserted[0] != version:
            batches: list[pa.RecordBatch] = []
            for rows in (ChangedRows.ADDED, ChangedRows.INSERTED):
                for seen in journal.named(_prefix(version, rows)):
                    path = self._path(parse_change_file(seen.name).path)
                    batches += self.format(journal, seen).keys(path, key)
            self._inserted = version, pa.Table.from_batches(batches, key)
        return self._inserted[1]
