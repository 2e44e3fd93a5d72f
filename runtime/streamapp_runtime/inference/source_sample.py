"""A sample of a source, read as a stream of an app would read it."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from streamapp_core.data_types import Column, DataType, SchemaError, all_types
from streamapp_core.schema import MAX_COLUMNS, MAX_SCHEMA_LENGTH, Schema, parse_schema
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import SystemSpec
from streamapp_runtime.errors import RuntimeFailure
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.file.file_chunks import Chunk, UnreadableRow

SAMPLED_FILES = 8
"""The files of a source that are read, where it has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSample:
    """Rows of a source, and the stream that reads them.

    `rows` are those of each sampled partition, in their order, `keys` those of their records (topics only); the source
    has so many `partitions`. `unreadable` are the reasons why records can't be read, `left_out` the columns that no
    row could be read with. `remarks` say of fields of the stream what they were guessed from.
    """

    label: str
    system: SystemSpec
    stream: StreamSpec
    schema: Schema
    rows: tuple[pa.Table, ...]
    partitions: int
    unreadable: tuple[str, ...]
    left_out: tuple[str, ...]
    bounded: bool
    keys: tuple[Sequence[bytes | None], ...] = ()
    remarks: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRows:
    """The rows of each partition that could be read, and why others could not."""

    rows: tuple[pa.Table, ...]
    unreadable: tuple[str, ...]


Read = Callable[[Schema], ReadRows]
"""Reads a sample with these columns, by what reads the stream in an app."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedColumns:
    """The columns that a sample can be read with, the rows, and the names of the columns that none could be."""

    schema: Schema
    found: ReadRows
    left_out: tuple[str, ...]


def fit_columns(
    guessed: Sequence[Column], read: Read, wider: Callable[[DataType], Sequence[DataType]]
) -> FittedColumns:
    """Return columns that all rows can be read with that any columns can read: guessed ones, or wider ones.

    Raises:
        RuntimeFailure: there is no column.
    """
    columns, left_out = _within_limits(guessed)
    found = None if not columns else read(Schema(tuple(columns)))
    if found is not None and found.unreadable:
        fitted = {column.name: _narrowest(column, read, wider) for column in columns}
        least = min(unreadable for _, unreadable in fitted.values())
        left_out += [name for name, (_, unreadable) in fitted.items() if unreadable > least]
        columns = [column for column, unreadable in fitted.values() if unreadable == least]
        found = read(Schema(tuple(columns)))
    if found is None:
        raise RuntimeFailure("the sample has no columns: there are no rows, or none of their fields can be a column")
    return FittedColumns(schema=Schema(tuple(columns)), found=found, left_out=tuple(left_out))


def read_chunks(files: Iterable[Iterable[Chunk]], schema: Schema, most: int) -> ReadRows:
    """Return the first rows of files that are read with these columns, so many of each at the most."""
    partitions, reasons = [], []
    for chunks in files:
        rows: list[pa.RecordBatch] = []
        missing = most
        for chunk in chunks:
            if isinstance(chunk, UnreadableRow):
                reasons.append(chunk.reason)
                missing -= 1
            else:
                rows.append(chunk.slice(0, missing))
                missing -= len(rows[-1])
            if missing <= 0:
                break
        partitions.append(pa.Table.from_batches(rows, arrow_schema(schema)))
    return ReadRows(rows=tuple(partitions), unreadable=tuple(reasons))


def folder_in_spec(folder: Path, source: str, app_folder: Path) -> str:
    """Return a folder as the spec has it: from the folder of the app, unless the user named the source in full."""
    return str(folder.absolute()) if Path(source).is_absolute() else os.path.relpath(folder, app_folder)


def _narrowest(column: Column, read: Read, wider: Callable[[DataType], Sequence[DataType]]) -> tuple[Column, int]:
    """Return the column with the first of its types that reads most rows, and how many it does not."""
    tried = [Column(column.name, kind) for kind in dict.fromkeys((column.type, *wider(column.type)))]
    unreadable = [len(read(Schema((each,))).unreadable) for each in tried]
    at = unreadable.index(min(unreadable))
    return tried[at], unreadable[at]


def _within_limits(guessed: Sequence[Column]) -> tuple[list[Column], list[str]]:
    """Return the columns that a schema may have, and the names of the others."""
    columns: list[Column] = []
    left_out: list[str] = []
    types = length = 0
    for column in guessed:
        types += sum(1 for _ in all_types(column.type))
        length += len(str(column)) + len(", ")
        if types <= MAX_COLUMNS and length <= MAX_SCHEMA_LENGTH and _is_column(column):
            columns.append(column)
        else:
            left_out.append(column.name)
    return columns, left_out


def _is_column(column: Column) -> bool:
    try:
        return parse_schema(str(column)) == Schema((column,))
    except SchemaError:
        return False
