"""The chunks a file is read in, in order: each a batch of rows or one row that can't be read.

The rows of a block are converted together. Only when that fails is the block divided, down to the rows at fault.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

import pyarrow as pa

from streamapp_systems.file.text_values import shorten
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.variants.variant_columns import is_variant

BLOCK_SIZE = 1 << 20
"""Bytes of a file that are read and converted at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableRow:
    """One row that can't be read, and why."""

    reason: str


Chunk: TypeAlias = pa.RecordBatch | UnreadableRow


class FileFormat(Protocol):
    """Reads the files of one stream in their format. A record has one offset, whether it can be read or not."""

    def count(self, path: Place) -> int:
        """Count the records of a file.

        Raises:
            StreamSystemError, OSError, ValueError, pa.ArrowException: the file can't be read.
        """
        ...

    def read(self, path: Place, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """Read a file from a record on, with exactly these columns; memory is bounded by a few blocks.

        Raises:
            StreamSystemError, OSError, ValueError, pa.ArrowException: the file can't be read.
        """
        ...


Block = TypeVar("Block", pa.RecordBatch, list[bytes])
ColumnConversion: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]


def divide(
    block: Block, convert: Callable[[Block], pa.RecordBatch], explain: Callable[[Block, str], UnreadableRow]
) -> Iterator[Chunk]:
    """Convert a block of rows; a row for which that fails alone becomes an unreadable one in its place.

    `convert` raises ValueError or `pa.ArrowException`; `explain` gets a block of one row and what was raised.
    """
    try:
        yield convert(block)
    except (ValueError, pa.ArrowException) as error:
        if len(block) == 1:
            yield explain(block, str(error))
            return
        middle = len(block) // 2
        yield from divide(block[:middle], convert, explain)
        yield from divide(block[middle:], convert, explain)


def convert_columns(raw: pa.RecordBatch, schema: pa.Schema, convert: ColumnConversion) -> Iterator[Chunk]:
    """Convert columns, by position, to a schema's types; `convert` raises as in `divide`."""

    def convert_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
        columns = [convert(column, field.type) for column, field in zip(rows.columns, schema, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def explain(row: pa.RecordBatch, error: str) -> UnreadableRow:
        for column, field in zip(row.columns, schema, strict=True):
            try:
                convert(column, field.type)
            except (ValueError, pa.ArrowException):
                row = unreadable_value(field, column[0].as_py())
                return UnreadableRow(reason=row.reason + _text_hint(field, column[0].as_py()))
        return UnreadableRow(reason=error)

    return divide(raw, convert_rows, explain)


def _text_hint(field: pa.Field, value: object) -> str:
    """Return what a text may be that is no value of its column; empty if nobody knows."""
    if pa.types.is_timestamp(field.type) and isinstance(value, bytes) and value.strip().isdigit():
        return (
            ": if it counts milliseconds from 1970, declare the column as bigint, which may be the event time as it "
            f"is, and `timestamp_millis({field.name})` makes a timestamp of it"
        )
    return ": convert the file to UTF-8, as `iconv -f LATIN1 -t UTF-8` does" if pa.types.is_string(field.type) else ""


def unreadable_value(field: pa.Field, value: object) -> UnreadableRow:
    """Return the row whose value is none of the column's type."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return UnreadableRow(reason=f"column {field.name}: {shorten(text)} is no {type_name(field.type)}")


def type_name(data_type: pa.DataType) -> str:
    """Name an Arrow type as the spec's schemas do."""
    if pa.types.is_decimal(data_type):
        return f"decimal({data_type.precision},{data_type.scale})"
    if pa.types.is_timestamp(data_type):
        return "timestamp" if data_type.tz else "timestamp_ntz"
    if pa.types.is_nested(data_type):
        return _nested_name(data_type)
    return _NAMES.get(data_type, str(data_type))


def _nested_name(data_type: pa.DataType) -> str:
    if is_variant(data_type):
        return "variant"
    if pa.types.is_struct(data_type):
        return f"struct<{','.join(f'{field.name}:{type_name(field.type)}' for field in data_type.fields)}>"
    if pa.types.is_map(data_type):
        return f"map<{type_name(data_type.key_type)},{type_name(data_type.item_type)}>"
    return f"array<{type_name(data_type.value_type)}>" if pa.types.is_list(data_type) else str(data_type)


def check_columns(path: Place, found: Sequence[str], schema: pa.Schema, hint: str = "") -> None:
    """Refuse a file that lacks columns of the schema; `hint` says what may be meant.

    Raises:
        StreamSystemError: names the file and the columns.
    """
    missing = [name for name in schema.names if name not in found]
    if missing:
        raise StreamSystemError(
            f"{path} has no column {', '.join(missing)}: it has {', '.join(found) or 'none'}. "
            + (hint or "Mend the file or the stream's schema (upper and lower case matter)")
        )


_NAMES = {
    pa.string(): "UTF-8 text",
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
}
