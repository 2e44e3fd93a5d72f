"""Rows of tests as JSON, read with the columns of a stream."""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa

from streamapp_core.app_tests.app_test import Row
from streamapp_core.app_tests.compare_rows import ComparedRow
from streamapp_core.app_tests.placed_rows import PlacedRow
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.validation_problems import shown
from streamapp_runtime.rows.json_messages import encode_json
from streamapp_systems.arrow_types import in_time_zone, in_utc
from streamapp_systems.file.file_chunks import UnreadableRow
from streamapp_systems.file.json_format import parse_lines

_SAFE_DIGITS = 15
"""Digits that every number of them keeps as a double, which YAML and JSON make of it."""


def json_line(row: Row) -> bytes:
    """Return a row as a line of a file."""
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def read_rows(lines: Sequence[bytes], schema: pa.Schema, time_zone: str) -> Iterator[pa.Table | UnreadableRow]:
    """Read each line as a table of one row, or as one that can't be read; texts without a time zone are in this one."""
    for line in lines:
        (chunk,) = parse_lines([line], in_time_zone(schema, time_zone))
        yield chunk if isinstance(chunk, UnreadableRow) else in_utc(pa.Table.from_batches([chunk]), schema)


def value_problems(placed: PlacedRow, row: pa.Table | UnreadableRow, schema: pa.Schema) -> Iterator[Problem]:
    """Yield the values of a row, as it was read, that are none of their columns, or have lost digits."""
    found = False
    for name, value in placed.row.items():
        position = schema.get_field_index(name)
        if position < 0:
            continue
        reason = _wrong_value(name, value, schema.field(position), read=isinstance(row, pa.Table))
        if reason:
            found = True
            yield Problem(path=f"{placed.path}.{name}", code=ProblemCode.TYPE_MISMATCH, message=reason)
    if isinstance(row, UnreadableRow) and not found:
        yield Problem(path=placed.path, code=ProblemCode.TYPE_MISMATCH, message=row.reason)


def compared_row(row: pa.Table) -> ComparedRow:
    """Return a row in the form in which it is compared and shown."""
    (text,), (values,) = encode_json(row).to_pylist(), row.to_pylist()
    return ComparedRow(text=text.decode(), values={name: _comparable(value) for name, value in values.items()})


def _wrong_value(name: str, value: Any, field: pa.Field, *, read: bool) -> str:  # noqa: ANN401 - as JSON has it
    """Return why a value is none of a column; empty if it is one."""
    if _loses_digits(value, field.type):
        return f"a number of more than {_SAFE_DIGITS} digits loses some when YAML is read: put it in quotes"
    alone = None if read else next(read_rows([json_line({name: value})], pa.schema([field]), "UTC"))
    if not isinstance(alone, UnreadableRow):
        return ""
    written = shown(json.dumps(value, ensure_ascii=False))
    if pa.types.is_timestamp(field.type):
        return f'{written} is no timestamp: write it as text, "2024-05-01T09:15:00{"Z" if field.type.tz else ""}"'
    if pa.types.is_string(field.type):
        return f"{written} is no text: put it in quotes"
    return alone.reason.removeprefix(f"column {name}: ")


def _loses_digits(value: Any, type_: pa.DataType) -> bool:  # noqa: ANN401 - as JSON has it
    """Find decimals in a value that may have been rounded to doubles."""
    if isinstance(value, float):
        return pa.types.is_decimal(type_) and len(Decimal(repr(value)).as_tuple().digits) > _SAFE_DIGITS
    if isinstance(value, list) and pa.types.is_list(type_):
        return any(_loses_digits(element, type_.value_type) for element in value)
    if isinstance(value, dict) and pa.types.is_map(type_):
        return any(_loses_digits(held, type_.item_type) for held in value.values())
    if isinstance(value, dict) and pa.types.is_struct(type_):
        return any(_loses_digits(value.get(field.name), field.type) for field in type_)
    return False


def _comparable(value: Any) -> Hashable:  # noqa: ANN401 - as Arrow gives it
    if isinstance(value, Mapping):
        return tuple((name, _comparable(held)) for name, held in value.items())
    if isinstance(value, list) and all(isinstance(element, tuple) for element in value):  # the entries of a map
        return tuple(sorted(map(_comparable, value), key=repr))
    if isinstance(value, list | tuple):
        return tuple(map(_comparable, value))
    return cast("Hashable", value)
