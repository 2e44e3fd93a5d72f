"""The rows of the files of a table of Iceberg, whose columns are found by their ids."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_systems.file.file_chunks import Chunk
from streamapp_systems.file.parquet_format import ParquetFormat, opened_parquet
from streamapp_systems.folder.filled_columns import read_filled
from streamapp_systems.iceberg.iceberg_types import FIELD_ID
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError

_DAYS, _MICROSECONDS = pa.int32(), pa.int64()


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergRows:
    """The reader of one file of a table.

    `columns` are the table's as its files have them; `names` are those that a column has, by its id, in files without
    ids. `values` are those of the file's partition by the ids of their columns, as JSON has them.
    """

    columns: pa.Schema
    names: Mapping[int, tuple[str, ...]]
    values: Mapping[str, Any]

    def count(self, path: Place) -> int:
        """See `FileFormat.count`."""
        return ParquetFormat().count(path)

    def read(self, path: Place, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """See `FileFormat.read`. A column that the file lacks has the value of its partition, or is null."""
        written = pq.read_schema(opened_parquet(path))
        by_id = {number: field for field in written if (number := _id(field)) is not None}
        stored, constants = {}, {}
        for column in schema:
            found = self.columns.field(column.name)
            number = _id(found)
            assert number is not None
            names = [name for name in self.names.get(number, (column.name,)) if name in written.names]
            field = by_id.get(number) if by_id else next(map(written.field, names), None)
            if field is None:
                constants[column.name] = _constant(self.values.get(str(number)), found.type, column.type)
                continue
            _check_parts(path, column.name, dict(_parts(found)), dict(_parts(field)))
            stored[column.name] = field.name
        return read_filled(path, schema, start, stored, constants)


def _id(field: pa.Field) -> int | None:
    number = (field.metadata or {}).get(FIELD_ID)
    return None if number is None else int(number)


def _parts(field: pa.Field, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the ids of the fields inside a column, by their paths."""
    for name, part in _children(field.type):
        number = _id(part)
        if number is not None:
            yield (*path, name), number
        yield from _parts(part, (*path, name))


def _children(kind: pa.DataType) -> list[tuple[str, pa.Field]]:
    if pa.types.is_map(kind):
        return [("key", kind.key_field), ("value", kind.item_field)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [("element", kind.value_field)]
    return [(part.name, part) for part in kind.fields] if pa.types.is_struct(kind) else []


def _check_parts(
    path: Place, column: str, table: Mapping[tuple[str, ...], int], file: Mapping[tuple[str, ...], int]
) -> None:
    """Check that the fields inside a column have the names that they had when the file was written.

    Raises:
        StreamSystemError: one was renamed, or replaced by another one of its name: it would be null, or its values.
    """
    places = {number: place for place, number in table.items()}
    for place, number in file.items():
        if places.get(number, place) != place or table.get(place, number) != number:
            raise StreamSystemError(
                f"{path}: `{'.'.join((column, *place))}` of the table is another field there, which was renamed or "
                "replaced since: rewrite the file's rows, or leave the column out"
            )


def _constant(value: Any, kind: pa.DataType, wanted: pa.DataType) -> pa.Scalar:  # noqa: ANN401 - as JSON has it
    """Return a value of a partition, which Iceberg keeps as days or microseconds where it is a time."""
    if value is None:
        return pa.scalar(None, wanted)
    if pa.types.is_date32(kind):
        found = pa.scalar(value, _DAYS).cast(kind)
    elif pa.types.is_binary(kind):
        found = pa.scalar(base64.b64decode(value), kind)
    elif pa.types.is_timestamp(kind):
        found = pa.scalar(value, _MICROSECONDS).cast(kind)
    else:
        found = pa.scalar(Decimal(value) if pa.types.is_decimal(kind) else value, kind)
    return found.cast(wanted)
