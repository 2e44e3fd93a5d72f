"""Reasons why rows that are appended to a table of Iceberg would be wrong or unreadable."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform, VoidTransform
from pyiceberg.types import IcebergType, ListType, MapType, StructType

from streamapp_systems.iceberg.iceberg_types import arrow_columns, column_type
from streamapp_systems.tables.column_mismatches import column_mismatches

LATEST_FORMAT = 2


def partition_names(table: TableMetadata) -> tuple[str, ...]:
    """Return the columns that the table is partitioned by, whatever is made of their values."""
    return tuple(table.schema().find_column_name(field.source_id) or "" for field in table.spec().fields)


def layout_mismatches(
    table: TableMetadata, rows: pa.Schema, folder_columns: Sequence[str], *, staged: bool = False
) -> Iterator[str]:
    """Yield why rows can't be appended to a table, each reason with what to do.

    `folder_columns` are the columns that the app wants to be folders. Rows that are `staged` may lack columns that the
    table has got since.
    """
    if table.format_version > LATEST_FORMAT:
        yield f"it has version {table.format_version} of Iceberg's format, and {LATEST_FORMAT} is written: make a copy"
    transforms = [field for field in table.spec().fields if not isinstance(field.transform, IdentityTransform)]
    for field in transforms:
        if isinstance(field.transform, VoidTransform):
            yield (
                f"its partition field `{field.name}` was dropped, which format version 1 keeps: make a copy of it in "
                "version 2"
            )
            continue
        source = table.schema().find_column_name(field.source_id)
        yield (
            f"it is partitioned by {field.transform} of `{source}`, and rows are written to partitions of columns as "
            f"they are: ALTER TABLE ... DROP PARTITION FIELD {field.name}"
        )
    partitioned = () if transforms else partition_names(table)
    columns = arrow_columns(table.schema())
    if staged:
        columns = pa.schema([c for c in columns if c.name in (*rows.names, *partitioned) or not c.nullable])
    foreign = [column for column in table.schema().fields if column_type(column.field_type) is None]
    for column in foreign:
        yield f"its column `{column.name}` is {column.field_type}, which rows can't be: write to a table without it"
    known = pa.schema([column for column in rows if column.name not in {found.name for found in foreign}])
    yield from column_mismatches(columns, partitioned, known, () if transforms else folder_columns)
    for column in table.schema().fields:
        if column.name in known.names and _requires(column.field_type):
            yield f"values in its column `{column.name}` must not be null, which nobody checks: let them be null"


def _requires(found: IcebergType) -> bool:
    match found:
        case ListType():
            return found.element_required or _requires(found.element_type)
        case MapType():
            return found.value_required or _requires(found.value_type)
        case StructType():
            return any(part.required or _requires(part.field_type) for part in found.fields)
        case _:
            return False
