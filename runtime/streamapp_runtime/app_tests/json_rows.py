"""Rows of tests as JSON, read with the columns of a stream."""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from streamapp_core.app_tests.app_test import Row
from streamapp_core.app_tests.compare_rows import ComparedRow
from streamapp_runtime.rows.json_messages import encode_json
from streamapp_systems.file.file_chunks import UnreadableRow
from streamapp_systems.file.json_format import parse_lines

_DIGITS = 9
"""Significant digits of floating numbers that are compared: the last ones depend on the order of additions."""


def json_line(row: Row) -> bytes:
    """Return a row as a line of a file."""
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def read_rows(lines: Sequence[bytes], schema: pa.Schema) -> Iterator[pa.Table | UnreadableRow]:
    """Read each line as a table of one row, or as one that can't be read."""
    for line in lines:
        (chunk,) = parse_lines([line], schema)
        yield chunk if isinstance(chunk, UnreadableRow) else pa.Table.from_batches([chunk])


def compared_row(row: pa.Table) -> ComparedRow:
    """Return a row in the form in which it is compared and shown."""
    (text,), (values,) = encode_json(row), row.to_pylist()
    return ComparedRow(text=text.decode(), values={name: _comparable(value) for name, value in values.items()})


def _comparable(value: Any) -> Hashable:  # noqa: ANN401 - as Arrow gives it
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return tuple((name, _comparable(held)) for name, held in value.items())
    if isinstance(value, list):
        held = [_comparable(element) for element in value]
        return frozenset(held) if held and all(isinstance(element, tuple) for element in value) else tuple(held)
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    return cast("Hashable", value)
