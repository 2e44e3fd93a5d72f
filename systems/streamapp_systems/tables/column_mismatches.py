"""Reasons why rows don't fit the columns of a table that they are to be appended to."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from streamapp_systems.file.file_chunks import type_name


def column_mismatches(
    columns: pa.Schema, partition_columns: Sequence[str], rows: pa.Schema, folder_columns: Sequence[str]
) -> Iterator[str]:
    """Yield why rows don't fit the columns of a table, each reason with what to do.

    `folder_columns` are the columns that the app wants to be folders.
    """
    for column in rows:
        index = columns.get_field_index(column.name)
        if index < 0:
            yield (
                f"it has no column `{column.name}` {type_name(column.type)}: add it to the table (ALTER TABLE ... ADD "
                "COLUMNS), or leave it out in a `map` before"
            )
        elif columns.field(index).type != column.type:
            found = type_name(columns.field(index).type)
            yield f"its column `{column.name}` is {found}, and rows have {type_name(column.type)}: `cast` it in a `map`"
    yield from _unwritten_columns(columns, rows)
    if [*map(str.lower, folder_columns)] != [*map(str.lower, partition_columns)]:
        wanted = f"[{', '.join(partition_columns)}]"
        yield f"its partition columns are {wanted}: set `folderColumns` to {wanted}"


def _unwritten_columns(columns: pa.Schema, rows: pa.Schema) -> Iterator[str]:
    for column in columns:
        if column.name not in rows.names:
            yield (
                f"its column `{column.name}` {type_name(column.type)} is in no row: add it in a `map`, as in "
                f"`cast(null as {type_name(column.type)}) as {column.name}`"
            )
        elif not column.nullable:
            yield (
                f"its column `{column.name}` must not be null, which nobody checks in rows that are appended: let it "
                "be null (ALTER TABLE ... ALTER COLUMN ... DROP NOT NULL)"
            )
