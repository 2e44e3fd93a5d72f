"""The kernels of `from_csv` and `to_csv`. They go row by row."""

import json
from collections.abc import Callable, Mapping

import pyarrow as pa

from streamapp_core.data_types import DataType, TypeKind
from streamapp_core.expressions.conversions import WHOLE_BITS
from streamapp_runtime.kernels.csv_tokens import ESCAPE, QUOTE, csv_tokens
from streamapp_runtime.kernels.java_numbers import floating, whole
from streamapp_runtime.kernels.java_units import JAVA_SPACES
from streamapp_runtime.kernels.json_readers import UnfitError, decimal_text
from streamapp_runtime.kernels.row_functions import each_row, literal_type

_INFINITIES = {"Inf": "Infinity", "-Inf": "-Infinity"}


def from_csv(texts: pa.Array, types: pa.Array, separators: pa.Array) -> pa.Array:
    """Return the values of lines of CSV by the types of structs, as JSON whose values are texts."""
    return pa.array(each_row(_read, texts, types, separators), pa.string())


def _read(text: str, written: str, separator: str) -> str:
    row = {}
    pairs = zip(csv_tokens(text, separator) or (), literal_type(written).fields, strict=False)
    for place, (token, field) in enumerate(pairs):
        value = _value(token, field.type) if token else None
        if value is not None:
            row[f"f{place}"] = value
    return json.dumps(row, ensure_ascii=False)


def _value(token: str, data_type: DataType) -> str | None:
    try:
        if data_type.kind is TypeKind.DECIMAL:
            return decimal_text(token.replace(",", ""), data_type)
        reader = _READERS.get(data_type.kind)
        return reader(token) if reader else _whole(token, WHOLE_BITS[data_type.kind])
    except UnfitError:
        return None


def _whole(token: str, bits: int) -> str | None:
    number = whole(token, bits) if token.isascii() else None
    return None if number is None else str(number)


def _floating(token: str) -> str | None:
    return _INFINITIES.get(token) or floating(token)


def _boolean(token: str) -> str | None:
    return token.lower() if token.lower() in ("true", "false") else None


def _moment(token: str) -> str | None:
    return None if token.startswith("@") else token


def to_csv(rows: pa.Array, separators: pa.Array) -> pa.Array:
    """Write the texts of values as a line of CSV, in quotes where they need them."""
    return pa.array(each_row(_line, rows, separators), pa.string())


def _line(row: list[str | None], separator: str) -> str | None:
    return separator.join("" if value is None else _written(value, separator) for value in row) or None


def _written(value: str, separator: str) -> str:
    value = value.lstrip(JAVA_SPACES)
    plain = value and not any(sign in value for sign in (separator, QUOTE, "\n", "\r"))
    value = value.rstrip(JAVA_SPACES)
    return value if plain else QUOTE + value.replace(ESCAPE, ESCAPE * 2).replace(QUOTE, ESCAPE + QUOTE) + QUOTE


_READERS: Mapping[TypeKind, Callable[[str], str | None]] = {
    TypeKind.STRING: lambda token: token,
    TypeKind.BOOLEAN: _boolean,
    TypeKind.FLOAT: _floating,
    TypeKind.DOUBLE: _floating,
    TypeKind.DATE: _moment,
    TypeKind.TIMESTAMP: _moment,
}
