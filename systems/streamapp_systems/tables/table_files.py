"""The files of rows that are added to a table: small parts joined, each partition in files of its own."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file.column_folders import NULL_FOLDER, split_by_folders
from streamapp_systems.file.output_folder import sync_folder
from streamapp_systems.file.part_writer import PartWriter
from streamapp_systems.objects import FilesMade, ObjectPath, Place
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError
from streamapp_systems.tables.output_table import AppendedVersion, TableFile

LARGEST_FILE = 256 << 20
"""Bytes after which rows go to another file."""
MAXIMUM_OPEN_FILES = 64
"""Files that are written side by side; where rows go to more partitions, the oldest file ends for another."""
MOST_MADE = 512 << 20
"""Bytes of files for a store that are on this machine at once: a pod has a gigabyte for them. The largest one ends."""
_PLAIN = re.compile(r"[^A-Za-z0-9.=-]")
_LONGEST = 100


@dataclass(slots=True)
class _OpenFile:
    path: str
    values: Mapping[str, str | None]
    writer: PartWriter


class TableFilesWriter:
    """Writes rows into files for a table; nobody reads them before a version of the table has them.

    `names` yields names that no file in the folder has, without their ending.
    """

    def __init__(self, table: AppendedVersion, names: Iterator[str]) -> None:
        """Write nothing yet."""
        self._table = table
        self._folder = table.folder
        self._made = FilesMade(table.folder)
        self._names = names
        self._stream = StreamDescriptor(name="", system="", address="", format=StreamFormat.PARQUET)
        self._open: dict[str, _OpenFile] = {}
        self._written: list[TableFile] = []

    def write(self, batches: Iterable[pa.RecordBatch]) -> tuple[TableFile, ...]:
        """Write all these rows, durably, in their order within a partition, and return their files.

        Raises:
            OSError, pa.ArrowException, StreamSystemError: they can't be written. No file is left.
        """
        return self._write(lambda: self._add_all(batches))

    def write_partitions(
        self, partitions: Iterable[tuple[Mapping[str, str | None], Iterable[pa.Table]]]
    ) -> tuple[TableFile, ...]:
        """Write rows as files have them, with the texts of their partition columns, one partition after the other.

        See `write`.
        """

        def add() -> None:
            for values, tables in partitions:
                for rows in tables:
                    self._append("", values, rows)
                for folder in list(self._open):
                    self._finish(folder)

        return self._write(add)

    def _write(self, add: Callable[[], None]) -> tuple[TableFile, ...]:
        try:
            add()
            for folder in list(self._open):
                self._finish(folder)
            self._sync_folders()
        except BaseException:
            for file in self._open.values():
                file.writer.drop()
            remove_files(self._folder, self._written)
            raise
        finally:
            self._made.close()
        return tuple(self._written)

    def _add_all(self, batches: Iterable[pa.RecordBatch]) -> None:
        columns, keep = self._table.partition_columns, self._table.keeps_partition_columns
        for batch in batches:
            rows = self._table.stored(pa.Table.from_batches([batch]))
            for folder, some in split_by_folders(rows, columns, keep=keep) if columns else [("", rows)]:
                self._append(folder, _values(folder), some)

    def _append(self, folder: str, values: Mapping[str, str | None], rows: pa.Table) -> None:
        file = self._file(folder, values, rows.schema)
        file.writer.append(rows)
        if file.writer.size >= LARGEST_FILE:
            self._finish(folder)
        sizes = {folder: file.writer.size for folder, file in self._open.items()}
        if isinstance(self._folder, ObjectPath) and sum(sizes.values()) > MOST_MADE:
            self._finish(max(sizes, key=sizes.__getitem__))

    def _file(self, folder: str, values: Mapping[str, str | None], schema: pa.Schema) -> _OpenFile:
        if folder not in self._open:
            if len(self._open) == MAXIMUM_OPEN_FILES:
                self._finish(next(iter(self._open)))
            path = "/".join([*_plain_folders(values), f"{next(self._names)}.parquet"])
            place = self._made.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            self._open[folder] = _OpenFile(path, values, PartWriter(place, schema, self._stream))
        return self._open[folder]

    def _finish(self, folder: str) -> None:
        file = self._open[folder]
        file.writer.finish()
        del self._open[folder]
        made = self._made.folder / file.path
        found, footer = made.stat(), pq.read_metadata(made)
        self._made.deliver(file.path)
        self._written.append(
            TableFile(
                path=file.path,
                partition_values=file.values,
                footer=footer,
                size=found.st_size,
                modified=found.st_mtime_ns // 1_000_000,
            )
        )

    def _sync_folders(self) -> None:
        if isinstance(self._folder, ObjectPath):
            return
        places = [self._folder / file.path for file in self._written]
        for folder in {f for place in places for f in place.parents if f.is_relative_to(self._folder)}:
            sync_folder(folder)


def remove_files(folder: Place, files: Iterable[TableFile]) -> None:
    """Remove files that no version of the table has got; one that can't be removed is left to those who clean it."""
    for file in files:
        with suppress(OSError, StreamSystemError):
            (folder / file.path).unlink()


def _values(folder: str) -> dict[str, str | None]:
    """Return the values of columns, as texts, by the folder that files would have."""
    pairs = (part.partition("=") for part in folder.split("/") if part)
    return {unquote(name): None if value == NULL_FOLDER else unquote(value) for name, _, value in pairs}


def _plain_folders(values: Mapping[str, str | None]) -> list[str]:
    """Return folders like Hive's for files, which mean nothing to tables: of letters that no reader has to decode."""
    named = (f"{name}={NULL_FOLDER if value is None else value}" for name, value in values.items())
    return [_PLAIN.sub("-", text)[:_LONGEST].lstrip(".") for text in named]
