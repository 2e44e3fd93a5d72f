"""The rows of the files of a Delta table: with the columns that are in no file, and those that the table got later."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_core.schema import DataType, Schema, SchemaError, parse_type
from streamapp_systems.file.file_chunks import Chunk, type_name
from streamapp_systems.file.parquet_format import ParquetFormat, opened_parquet
from streamapp_systems.file.text_values import parse_text
from streamapp_systems.folder.column_types import type_mismatches
from streamapp_systems.folder.delta_log import TableMetadata
from streamapp_systems.folder.filled_columns import read_filled
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError


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
        stored = [name for name in schema.names if name in found and name not in self.values]
        constants = {
            column.name: _value(path, column, self.values.get(column.name))
            for column in schema
            if column.name not in stored
        }
        return read_filled(path, schema, start, {name: name for name in stored}, constants)


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
    types = dict(table_columns(table))
    return type_mismatches(schema, {name: (types[name], str(found)) for name, found in _written_types(table).items()})


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
