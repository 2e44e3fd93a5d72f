"""The columns of a table that streams declare, compared with those that it has."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from streamapp_core.schema import DataType, Schema
from streamapp_systems.arrow_types import arrow_type
from streamapp_systems.file.parquet_format import check_type


def type_mismatches(schema: Schema, found: Mapping[str, tuple[DataType | None, str]]) -> Iterator[str]:
    """Yield why declared columns can't be read of a table, each reason with what to do.

    `found` are the types of the table's columns, None if such columns are not read, and how the table writes them.
    """
    for column in schema.columns:
        if column.name not in found:
            near = next((name for name in found if name.lower() == column.name.lower()), None)
            hint = f"it is written `{near}` there" if near else f"it has {', '.join(f'`{name}`' for name in found)}"
            yield f"the table has no column `{column.name}`: {hint}"
            continue
        kind, written = found[column.name]
        if kind is None:
            yield f"column `{column.name}` is {written} in the table, which is not read: leave it out"
        elif kind != column.type and not _fits(arrow_type(kind), arrow_type(column.type)):
            yield f"column `{column.name}` is {kind} in the table, not {column.type}"


def _fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether values of a type are read as those of another one: numbers of other widths, and nested ones."""
    if pa.types.is_nested(wanted):
        return check_type(found, wanted)
    if pa.types.is_integer(found):
        return bool(pa.types.is_integer(wanted) or pa.types.is_decimal(wanted))
    return any(bool(same(found) and same(wanted)) for same in (pa.types.is_floating, pa.types.is_decimal))
