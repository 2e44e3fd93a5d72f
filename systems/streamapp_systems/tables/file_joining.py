"""The upkeep of a table: small files are joined, beside all who read it and write it.

New files are written, and then a commit puts them in the place of the old ones, if the table still has all of these as
they are. Otherwise somebody has changed or joined them, and they are left as they are.
"""

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_systems.file.parquet_format import opened_parquet
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.tables.output_table import LiveFile, OutputTable, TableFile, TableVersion
from streamapp_systems.tables.small_files import choose_small_files
from streamapp_systems.tables.table_files import LARGEST_FILE, TableFilesWriter, remove_files

_BATCH_ROWS = 65_536
_TRIES = 20
_FROM_WRITER = frozenset({"is_from_converted_type", "force_set_converted_type"})


@dataclass(frozen=True, kw_only=True)
class JoinedFiles:
    """Files of a version of a table, and files with their rows, which no version has yet."""

    version: TableVersion
    old: Sequence[LiveFile]
    new: Sequence[TableFile]

    def is_in(self, files: Iterable[LiveFile]) -> bool:
        """Return whether files of the table are among the new ones: it has them, as when an answer was lost."""
        places = {str(self.version.folder / file.path) for file in self.new}
        return any(str(file.place) in places for file in files)

    def drop(self) -> None:
        """Remove the new files: no version will have them."""
        remove_files(self.version.folder, self.new)


class FileJoiner:
    """Joins small files of one table, no more than `largest` bytes at a time. Used by one thread.

    `names` yields names that no file of the table has. Files that have not the table's columns as they are now, as
    before one was added, are left.
    """

    def __init__(self, table: OutputTable, names: Iterator[str], largest: int = LARGEST_FILE) -> None:
        """Look at nothing yet; `largest` is how many bytes joined files have at most, about."""
        self._table = table
        self._names = names
        self._largest = largest
        self._left: set[str] = set()

    def write(self) -> JoinedFiles | None:
        """Write the rows of small files into fewer ones, in their order; None: there is nothing that is worth it.

        Raises:
            StreamSystemError: the table can't be read, or files can't be written. No file is left.
        """
        version = self._table.load()
        if version is None:
            return None
        columns = version.stored_columns
        wanted = _layout(_empty_file(columns))
        files = {file.path: file for file in version.live_files() if file.path not in self._left}
        while groups := choose_small_files(files.values(), self._largest):
            unfit = [file.path for group in groups for file in group if not _fits(file.place, wanted)]
            if not unfit:
                return self._join(version, columns, groups)
            self._left.update(unfit)
            for path in unfit:
                del files[path]
        return None

    def commit(self, joined: JoinedFiles) -> bool:
        """Put new files in the place of old ones; return whether the table has them: others may have been faster.

        Raises:
            StreamSystemError: the table can't be written.
        """
        version: TableVersion | None = joined.version
        for _ in range(_TRIES):
            files = () if version is None else version.live_files()
            if joined.is_in(files):
                return True
            if version is None or version.layout != joined.version.layout:
                break
            live = {file.path: file for file in files}
            old = [live[file.path] for file in joined.old if file.path in live]
            if len(old) < len(joined.old):
                break
            if version.replace(old, joined.new):
                return True
            version = self._table.load()
        joined.drop()
        return False

    def _join(
        self, version: TableVersion, columns: pa.Schema, groups: Sequence[Sequence[LiveFile]]
    ) -> JoinedFiles | None:
        """Write the rows of each group's files into others; None: that makes no fewer, or some are gone."""
        try:
            new = TableFilesWriter(version, self._names).write_partitions(
                (dict(group[0].partition), _rows(group, columns)) for group in groups
            )
        except FileNotFoundError:
            return None
        except (OSError, pa.ArrowException) as error:
            raise StreamSystemError(f"files of {version.folder} can't be joined: {error}") from error
        joined = JoinedFiles(version=version, old=[file for group in groups for file in group], new=new)
        if len(new) < len(joined.old):
            return joined
        joined.drop()
        self._left.update(file.path for file in joined.old)
        return None


def _rows(files: Sequence[LiveFile], columns: pa.Schema) -> Iterator[pa.Table]:
    for file in files:
        with pq.ParquetFile(opened_parquet(file.place)) as parquet:
            for batch in parquet.iter_batches(_BATCH_ROWS, use_threads=False):
                yield pa.Table.from_batches([batch]).select(columns.names).cast(columns)


def _empty_file(columns: pa.Schema) -> pq.ParquetFile:
    made = io.BytesIO()
    pq.write_table(columns.empty_table(), made)
    return pq.ParquetFile(made)


def _fits(place: Place, wanted: Sequence[Any]) -> bool:
    """Return whether a file has the table's columns as they are written, with their ids; not if it is gone.

    Raises:
        StreamSystemError: it can't be read.
    """
    try:
        with pq.ParquetFile(opened_parquet(place)) as file:
            return _layout(file) == wanted
    except FileNotFoundError:
        return False
    except (OSError, pa.ArrowException) as error:
        raise StreamSystemError(f"{place} can't be read: {error}") from error


def _layout(file: pq.ParquetFile) -> Sequence[Any]:
    """Return what is written of each value of a file's columns, whatever their order, and the ids of columns."""
    values = []
    for number in range(len(file.schema)):
        column = file.schema.column(number)
        logical = json.loads(column.logical_type.to_json())
        kind = {name: value for name, value in logical.items() if name not in _FROM_WRITER}
        values.append(
            (
                column.path,
                column.physical_type,
                sorted(kind.items()),
                column.length,
                column.max_definition_level,
                column.max_repetition_level,
            )
        )
    ids = [each for column in sorted(file.schema_arrow, key=lambda column: column.name) for each in _ids(column)]
    return [sorted(values, key=lambda value: value[0]), ids]


def _ids(column: pa.Field) -> Iterator[bytes | None]:
    yield (column.metadata or {}).get(b"PARQUET:field_id")
    for number in range(column.type.num_fields):
        yield from _ids(column.type.field(number))
