"""The columns of rows, compared with those of the table that they are written to."""

from collections.abc import Iterator, Mapping

from streamapp_core.data_types import DataType, TypeKind
from streamapp_core.schema import Schema
from streamapp_systems.protocols import StreamSystemError

Found = Mapping[str, tuple[DataType | None, str]]
"""The columns of a table: their types, None of those that Spark's types of ours have not, and how Spark writes them."""

_DIGITS = {TypeKind.TINYINT: 3, TypeKind.SMALLINT: 5, TypeKind.INT: 10, TypeKind.BIGINT: 19}
_MOMENTS = frozenset({TypeKind.TIMESTAMP, TypeKind.TIMESTAMP_NTZ})


def refuse_mismatches(schema: Schema, found: Found, address: str) -> None:
    """Check that rows fit a table.

    Raises:
        StreamSystemError: they don't; the message has all reasons, with what to do.
    """
    reasons = list(find_mismatches(schema, found))
    if reasons:
        raise StreamSystemError(f"rows can't be written to table {address}: {'; '.join(reasons)}")


def find_mismatches(schema: Schema, found: Found) -> Iterator[str]:
    """Yield why rows don't fit a table, each reason with what to do."""
    for column in schema.columns:
        name = found_name(column.name, found)
        if name is None:
            yield f"it has no column `{column.name}`: add it to the table, or leave it out in a `map`"
            continue
        kind, text = found[name]
        if kind is None or not _fits(column.type, kind):
            yield f"its column `{name}` is {text}, and rows have {column.type}: `cast` it in a `map`"


def found_name(name: str, found: Found) -> str | None:
    """Return how a table writes the name of a column, perhaps in another case; None: it has none, or several."""
    if name in found:
        return name
    near = [other for other in found if other.lower() == name.lower()]
    return near[0] if len(near) == 1 else None


def _fits(written: DataType, column: DataType) -> bool:
    """Return whether a column takes all values of a type as they are."""
    if written == column:
        return True
    if written.kind in _DIGITS and column.kind in _DIGITS:
        return _DIGITS[written.kind] <= _DIGITS[column.kind]
    if column.kind is TypeKind.DECIMAL and written.kind in (*_DIGITS, TypeKind.DECIMAL):
        whole = _DIGITS.get(written.kind, written.precision - written.scale)
        return written.scale <= column.scale and whole <= column.precision - column.scale
    if written.kind is TypeKind.FLOAT and column.kind is TypeKind.DOUBLE:
        return True
    return {written.kind, column.kind} == _MOMENTS
