"""The types of columns of PostgreSQL: those that tables get, and those that take the values of rows as they are."""

import re

import pyarrow as pa

_MADE: dict[pa.DataType, str] = {
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp with time zone",
    pa.timestamp("us"): "timestamp without time zone",
    pa.binary(): "bytea",
}
_INTEGERS = ("smallint", "integer", "bigint")
_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}
_TEXTS = re.compile(r"text|character varying(?:\((\d+)\))?")
_READ_TEXTS = re.compile(r"uuid|jsonb?")
_NUMERIC = re.compile(r"numeric(?:\((\d+),(-?\d+)\))?")


def made_type(column: pa.DataType) -> str:
    """Return the type of PostgreSQL that a column gets in a table that is made for it."""
    if pa.types.is_decimal(column):
        return f"numeric({column.precision},{column.scale})"
    return _MADE[column]


def longest_text(found: str) -> int | None:
    """Return how many characters a type, as PostgreSQL writes it, takes at most; None: it is no text, or takes any."""
    text = _TEXTS.fullmatch(found)
    return None if text is None or text[1] is None else int(text[1])


def takes(found: str, column: pa.DataType, *, key: bool) -> bool:
    """Return whether a type, as PostgreSQL writes it, takes all values of a column, or refuses them while it is staged.

    None is rounded or cut off. Of a `key`, values that differ stay different.
    """
    if found == (column in _MADE and _MADE[column]):
        return True
    if pa.types.is_string(column):
        return bool(_TEXTS.fullmatch(found)) or (not key and bool(_READ_TEXTS.fullmatch(found)))
    if column in _DIGITS and found in _INTEGERS:
        return _INTEGERS.index(found) > _INTEGERS.index(_MADE[column])
    digits, scale = _DIGITS.get(column), 0
    if pa.types.is_decimal(column):
        digits, scale = column.precision, column.scale
    numeric = _NUMERIC.fullmatch(found)
    if digits is None or numeric is None:
        return False
    if numeric[1] is None:
        return True
    room, places = int(numeric[1]), int(numeric[2])
    return places >= scale and room - places >= digits - scale
