"""Columns of rows that meet in a join or merge: their checks, and the columns of the result."""

from collections.abc import Iterable, Sequence

from streamapp_core.expressions.type_rules import INTEGRAL
from streamapp_core.near_names import did_you_mean
from streamapp_core.schema import Column, DataType, Schema

_SHOWN = 10


def missing_column(name: str, schema: Schema, where: str) -> str | None:
    """Return the message that a schema does not have a column; None if it has."""
    if schema.get(name) is not None:
        return None
    names = [f"`{column}`" for column in schema.names[:_SHOWN]]
    more = f" and {len(schema.columns) - _SHOWN} more" if len(schema.columns) > _SHOWN else ""
    return f"`{where}` has no column `{name}`{did_you_mean(name, schema.names) or ';'} it has {', '.join(names)}{more}"


def keys_match(left: DataType, right: DataType) -> bool:
    """Return whether equal values of two types are one key: as text, in the same partition."""
    return left == right or (left.kind in INTEGRAL and right.kind in INTEGRAL)


def difference(schema: Schema, expected: Schema) -> str | None:
    """Describe how two schemas differ in their columns, their types or their order; None if they don't."""
    if schema is expected:
        return None
    for column, other in zip(schema.columns, expected.columns, strict=False):
        if column.name.lower() != other.name.lower():
            return f"column `{column}` where `{other}` is expected"
        if column.type != other.type:
            return f"column `{column.name}` is {column.type} where {other.type} is expected"
    if len(schema.columns) == len(expected.columns):
        return None
    return f"{len(schema.columns)} columns where {len(expected.columns)} are expected"


def lacking(schema: Schema, needed: Schema) -> str | None:
    """Describe the column of `needed` that a schema lacks, or has with another type; None if there is none."""
    for column in needed.columns:
        found = schema.get(column.name)
        if found is None:
            return f"there is no column `{column.name}`"
        if found.type != column.type:
            return f"column `{column.name}` is {found.type}, not {column.type}"
    return None


def without(schema: Schema, names: Iterable[str]) -> Sequence[Column]:
    """Return the columns of a schema except some."""
    left_out = {name.lower() for name in names}
    return [column for column in schema.columns if column.name.lower() not in left_out]


def repeated(columns: Iterable[Column]) -> Column | None:
    """Find a column whose name stands twice, whatever its case."""
    names: set[str] = set()
    for column in columns:
        if column.name.lower() in names:
            return column
        names.add(column.name.lower())
    return None
