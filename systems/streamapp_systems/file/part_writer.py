"""The writing of one part file: rows appended in its format."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file.csv_format import csv_header, csv_lines
from streamapp_systems.file.json_writing import json_lines
from streamapp_systems.protocols import StreamDescriptor

_ROW_GROUP = 65_536
"""Rows: small writes are buffered, since readers of Parquet are slow on small row groups."""


class PartWriter:
    """A part file while it is written. All rows have one schema."""

    def __init__(self, path: Path, schema: pa.Schema, stream: StreamDescriptor) -> None:
        self.schema = schema
        self._path = path
        self._file = path.open("xb")
        self._rows = _row_writer(self._file, schema, stream)

    @property
    def size(self) -> int:
        """The bytes written so far; some rows may still be pending."""
        return self._file.tell()

    def append(self, rows: pa.Table) -> None:
        """Add rows.

        Raises:
            OSError, pa.ArrowException: they can't be written.
        """
        self._rows.write(rows)

    def finish(self) -> None:
        """Write all that is pending, durably, and close the file.

        Raises:
            OSError, pa.ArrowException: it can't be written.
        """
        self._rows.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def drop(self) -> None:
        """Close and remove the file, whatever state it is in."""
        with suppress(OSError, ValueError, pa.ArrowException):
            self._rows.close()
        with suppress(OSError):
            self._file.close()
        self._path.unlink(missing_ok=True)


class _RowWriter(Protocol):
    def write(self, rows: pa.Table) -> None: ...

    def close(self) -> None: ...


class _TextRows:
    def __init__(self, file: BinaryIO, lines: Callable[[pa.Table], Iterator[str]], header: str | None = None) -> None:
        self._file = file
        self._lines = lines
        if header is not None:
            file.write(f"{header}\n".encode())

    def write(self, rows: pa.Table) -> None:
        self._file.write("".join(f"{line}\n" for line in self._lines(rows)).encode())

    def close(self) -> None:
        """Nothing is pending."""


class _ParquetRows:
    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._writer = pq.ParquetWriter(file, schema)
        self._pending: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        self._pending.append(rows)
        if sum(table.num_rows for table in self._pending) >= _ROW_GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._pending:
            self._writer.write_table(pa.concat_tables(self._pending))
            self._pending = []


class _ArrowRows:
    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._writer = pa.ipc.new_stream(file, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)

    def close(self) -> None:
        self._writer.close()


def _row_writer(file: BinaryIO, schema: pa.Schema, stream: StreamDescriptor) -> _RowWriter:
    match stream.format:
        case StreamFormat.CSV:
            header = csv_header(schema.names, stream.csv) if stream.csv.header else None
            return _TextRows(file, partial(csv_lines, options=stream.csv), header)
        case StreamFormat.JSON:
            return _TextRows(file, partial(json_lines, options=stream.json))
        case StreamFormat.ARROW:
            return _ArrowRows(file, schema)
        case _:
            return _ParquetRows(file, schema)
