"""The rows of the files of a Delta table: with the columns that are in no file, and those that the table got later."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_core.schema import DataType, Schema, SchemaError, parse_type
from streamapp_systems.arrow_types import arrow_type
from streamapp_systems.file.file_chunks import Chunk, UnreadableRow, type_name
from streamapp_systems.file.parquet_format import ParquetFormat, check_type, opened_parquet
from streamapp_systems.file.text_values import parse_text
from streamapp_systems.folder.delta_log import TableMetadata
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError

_BATCH_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class DeltaRows:
    """The reader of one file of a table; `values` are the texts of its partition columns."""

    values: Mapping[str, str | None]

    def count(self, path: Place) -> int:
        """See `FileFormat.count`."""
        return ParquetFormat().count(path)

    def read(self, path: Place, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """See `FileFormat.read`. A column that the file lacks is null: the table got it later."""
        found = pq.read_schema(opened_parquet(path)).names
        _check_case(path, schema.names, (*found, *self.values))
        stored = pa.schema([column for column in schema if column.name in found and column.name not in self.values])
        constants = {
            column.name: _value(path, column, self.values.get(column.name))
            for column in schema
            if column.name not in stored.names
        }
        for chunk in self._stored(path, stored, start):
            if isinstance(chunk, UnreadableRow):
                yield chunk
                continue
            rows = chunk.num_rows
            arrays = [
                pa.repeat(constants[name], rows) if name in constants else chunk.column(name) for name in schema.names
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _stored(self, path: Place, stored: pa.Schema, start: int) -> Iterator[Chunk]:
        if stored.names:
            yield from ParquetFormat().read(path, stored, start)
            return
        count = self.count(path)
        for first in range(start, count, _BATCH_ROWS):
            rows = min(_BATCH_ROWS, count - first)
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))


def _check_case(path: Place, columns: Sequence[str], found: Collection[str]) -> None:
    """Check that no column is there in another case, as in files of others that were converted: it would be null."""
    written = {name.lower(): name for name in found}
    for column in columns:
        if column not in found and column.lower() in written:
            raise StreamSystemError(
                f"{path}: column `{column}` of the table is written `{written[column.lower()]}` there, and names are "
                "compared with their case: rewrite the file's rows"
            )


def table_columns(table: TableMetadata) -> Iterator[tuple[str, DataType | None]]:
    """Yield the columns of a table with their types; None: such columns are not read.

    Raises:
        StreamSystemError: the table's schema is not as Delta's are.
    """
    for name, found in _written_types(table).items():
        try:
            yield name, parse_type(_type_text(found))
        except (KeyError, TypeError, SchemaError):
            yield name, None


def _written_types(table: TableMetadata) -> Mapping[str, Any]:
    """Return the types of a table's columns in Delta's JSON, by name.

    Raises:
        StreamSystemError: the table's schema is not as Delta's are.
    """
    try:
        return {column["name"]: column["type"] for column in json.loads(table.schema)["fields"]}
    except (KeyError, TypeError, ValueError) as error:
        raise StreamSystemError(f"the schema of table {table.id} is not as Delta's are: {error!r}") from error


def table_mismatches(schema: Schema, table: TableMetadata) -> Iterator[str]:
    """Yield why declared columns can't be read of a table, each reason with what to do.

    Raises:
        StreamSystemError: the table's schema is not as Delta's are.
    """
    found = _written_types(table)
    for column in schema.columns:
        if column.name not in found:
            near = next((name for name in found if name.lower() == column.name.lower()), None)
            hint = f"it is written `{near}` there" if near else f"it has {', '.join(f'`{name}`' for name in found)}"
            yield f"the table has no column `{column.name}`: {hint}"
            continue
        try:
            text = _type_text(found[column.name])
            fits = text == str(column.type) or _fits(arrow_type(parse_type(text)), arrow_type(column.type))
        except (KeyError, TypeError, SchemaError):
            yield f"column `{column.name}` is {found[column.name]} in the table, which is not read: leave it out"
            continue
        if not fits:
            yield f"column `{column.name}` is {text} in the table, not {column.type}"


def _fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether values of a type are read as those of another one: numbers of other widths, and nested ones."""
    if pa.types.is_nested(wanted):
        return check_type(found, wanted)
    if pa.types.is_integer(found):
        return bool(pa.types.is_integer(wanted) or pa.types.is_decimal(wanted))
    return any(bool(same(found) and same(wanted)) for same in (pa.types.is_floating, pa.types.is_decimal))


def _type_text(found: Any) -> str:  # noqa: ANN401 - a type in Delta's JSON: a text, or an object
    """Return a type of Delta's JSON as that of a spec."""
    if isinstance(found, str):
        return _NAMES.get(found, found)
    match found["type"]:
        case "array":
            return f"array<{_type_text(found['elementType'])}>"
        case "map":
            return f"map<{_type_text(found['keyType'])},{_type_text(found['valueType'])}>"
        case _:
            fields = (f"`{part['name']}`:{_type_text(part['type'])}" for part in found["fields"])
            return f"struct<{','.join(fields)}>"


def _value(path: Place, column: pa.Field, text: str | None) -> pa.Scalar:
    if not text:
        return pa.scalar(None, column.type)
    if pa.types.is_binary(column.type):
        raise StreamSystemError(f"{path}: its partition column {column.name} is binary, which is not read")
    if pa.types.is_timestamp(column.type) and column.type.tz is not None and not text.endswith("Z"):
        raise StreamSystemError(
            f"{path}: `{text}` of its partition column {column.name} has no time zone, so it is in that of who wrote "
            "it: declare it as timestamp_ntz"
        )
    try:
        return parse_text(pa.array([text], pa.string()), column.type)[0]
    except ValueError as error:
        raise StreamSystemError(
            f"{path}: `{text}` of its partition column {column.name} is no {type_name(column.type)}"
        ) from error


_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
