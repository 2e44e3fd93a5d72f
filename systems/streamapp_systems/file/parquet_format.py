"""Parquet files, read."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamapp_systems.file.file_chunks import Chunk, check_columns, convert_columns, type_name
from streamapp_systems.file.text_values import parse_text
from streamapp_systems.map_keys import check_map_keys, holds_maps
from streamapp_systems.objects import ObjectPath, Place
from streamapp_systems.protocols import StreamSystemError

_BATCH_ROWS = 16_384


class ParquetFormat:
    """Reads Parquet files: columns by name, cast to the stream's types where nothing is lost."""

    def count(self, path: Place) -> int:
        """Count records, as `FileFormat` says; the file's own count is taken."""
        return int(pq.read_metadata(opened_parquet(path)).num_rows)

    def read(self, path: Place, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """Read records, as `FileFormat` says; row groups before the start are not read."""
        # Spark's timestamps have 96 bits: as nanoseconds, those beyond the years 1677 to 2262 would be others.
        stored = isinstance(path, ObjectPath)
        with pq.ParquetFile(opened_parquet(path), coerce_int96_timestamp_unit="us", pre_buffer=stored) as file:
            _check_types(path, file.schema_arrow, schema)
            groups, skipped = _groups_from(file.metadata, start)
            # A group of an object is fetched as a whole, in few requests.
            for some in ([group] for group in groups) if stored else [groups]:
                for rows in file.iter_batches(_BATCH_ROWS, row_groups=some, columns=schema.names, use_threads=False):
                    if skipped < rows.num_rows:
                        yield from convert_columns(rows.select(schema.names).slice(skipped), schema, _convert)
                    skipped = max(0, skipped - rows.num_rows)


def opened_parquet(path: Place) -> Path | BinaryIO:
    """Return a file as Arrow opens it."""
    return path if isinstance(path, Path) else path.open("rb")


def check_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether columns of a type in files may be read as one of another; single values may still not fit."""
    try:
        _convert(pa.array([], found), wanted)
    except (ValueError, pa.ArrowException):
        return False
    return True


def _check_types(path: Place, found: pa.Schema, schema: pa.Schema) -> None:
    check_columns(path, found.names, schema)
    for field in schema:
        in_file = found.field(field.name).type
        if not check_type(in_file, field.type):
            raise StreamSystemError(
                f"{path}: column {field.name} is {in_file}, which can't be read as {type_name(field.type)}. "
                "Mend the stream's schema or leave the column out"
            )


def _groups_from(metadata: pq.FileMetaData, start: int) -> tuple[list[int], int]:
    """Find the row groups that hold records from `start` on, and how many records of the first come before it."""
    skipped = start
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if skipped < rows:
            return list(range(group, metadata.num_row_groups)), skipped
        skipped -= rows
    return [], 0


def _convert(column: pa.Array, to: pa.DataType) -> pa.Array:
    if holds_maps(to):
        check_map_keys(column)
    if column.type == to:
        return column
    if pa.types.is_string(column.type):
        return parse_text(column, to)
    return pc.cast(column, options=pc.CastOptions(target_type=to, allow_time_truncate=True))
