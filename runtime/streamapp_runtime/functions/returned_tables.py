"""Checks of what users' functions return: tables with the declared columns, of types that fit."""

from collections.abc import Callable, Collection, Sequence

import pyarrow as pa

from streamapp_runtime.functions.user_errors import USER_EXCEPTIONS, UserFunctionFailed, describe_error
from streamapp_systems.map_keys import check_map_keys, holds_maps


def call_function(name: str, function: Callable[[pa.Table], object], rows: pa.Table) -> object:
    """Call a user's function with a batch of rows.

    Raises:
        UserFunctionFailed: it raised something.
    """
    try:
        return function(rows)
    except USER_EXCEPTIONS as error:
        raise UserFunctionFailed(f"{name}: {describe_error(error, called_from=1)}") from error


def check_table(result: object, names: Sequence[str], hidden: Collection[str], *, whose: str) -> pa.Table | None:
    """Return a result as a table with columns of these names, and perhaps hidden ones; None without rows.

    Raises:
        UserFunctionFailed: it is something else; `whose` names the expected columns in the message.
    """
    if result is None:
        return None
    if isinstance(result, pa.RecordBatch):
        result = pa.Table.from_batches([result])
    if not isinstance(result, pa.Table):
        raise UserFunctionFailed(f"returns a {type(result).__name__}, not a pyarrow Table or RecordBatch, or None")
    found = [name for name in result.column_names if name not in hidden]
    if sorted(found) != sorted(names):
        raise UserFunctionFailed(f"returns the columns ({', '.join(found)}), {whose} ({', '.join(names)})")
    return result if len(result) else None


def cast_column(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """Cast a column to its declared type, where nothing is lost.

    Raises:
        UserFunctionFailed: something would be.
    """
    return cast_result(column, field.type, f"column {field.name}", "its `schema`")


def cast_result(values: pa.ChunkedArray, declared: pa.DataType, what: str, whose: str) -> pa.ChunkedArray:
    """Cast values to a declared type, where nothing is lost; `what` they are and `whose` the type is are for messages.

    Raises:
        UserFunctionFailed: something would be.
    """
    if holds_maps(declared):
        _check_maps(values, what)
    if values.type == declared:
        return values
    if not _fits(values.type, declared):
        raise UserFunctionFailed(f"returns {what} as {values.type}, {whose} says {declared}")
    try:
        return values.cast(declared)
    except pa.ArrowException as error:
        raise UserFunctionFailed(f"returns {what} as {values.type}: {error}") from None


def _check_maps(values: pa.ChunkedArray, what: str) -> None:
    try:
        for chunk in values.chunks:
            check_map_keys(chunk)
    except ValueError as error:
        raise UserFunctionFailed(f"returns {what}: {error}") from None


def _fits(found: pa.DataType, declared: pa.DataType) -> bool:
    if not pa.types.is_nested(declared):
        return _family(found) in (_family(declared), "null")
    if found.num_fields != declared.num_fields or type(found) is not type(declared):
        return bool(pa.types.is_null(found))
    if pa.types.is_struct(declared):
        names = [field.name for field in declared.fields]
        alike = sorted(names) == sorted(field.name for field in found.fields)
        return alike and all(_fits(found.field(name).type, declared.field(name).type) for name in names)
    parts = ((found.field(number), declared.field(number)) for number in range(declared.num_fields))
    return all(_fits(one.type, other.type) for one, other in parts)


def _family(kind: pa.DataType) -> str:
    """Return the family of a type, within which casts are safe: whole numbers, say, are no moments without a unit."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return next((name for name, members in _FAMILIES.items() if any(is_(kind) for is_ in members)), str(kind))


_FAMILIES: dict[str, tuple[Callable[[pa.DataType], bool], ...]] = {
    "number": (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    "text": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "bytes": (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary),
    "date": (pa.types.is_date,),
    "timestamp": (pa.types.is_timestamp,),
}
