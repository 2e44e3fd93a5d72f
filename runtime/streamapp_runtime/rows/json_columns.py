"""Columns of decoded JSON objects: Arrow builds a column in one go, nested ones too.

Arrow takes structs as tuples, which are made of objects in a third of the time that dicts take.
"""

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

import pyarrow as pa
from msgspec.structs import astuple

from streamapp_systems.file.json_column_values import is_raw

Values: TypeAlias = Sequence[Any]
"""Decoded values; None where there is none."""


class ColumnBuilder:
    """Builds one column of decoded objects; `parse_column` has to follow."""

    def __init__(self, attribute: str, kind: pa.DataType, *, left_out: bool) -> None:
        """Take the attribute of the objects that holds the values; of one that is left out all rows are null."""
        self._values = attrgetter(attribute)
        self._left_out = left_out
        self._type = _built_type(kind)
        self._convert = _converter(kind)

    def build(self, objects: Values) -> pa.Array:
        """Return the column.

        Raises:
            ValueError, OverflowError: a number is beyond the range of its type.
        """
        if self._left_out:
            return pa.nulls(len(objects), self._type)
        values = list(map(self._values, objects))
        return pa.array(self._convert(values) if self._convert else values, self._type)


def _built_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column is built with: texts where Arrow would not read them as JSON's."""
    if is_raw(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_built_type(field.type)) for field in kind.fields])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_built_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(pa.string(), kind.item_field.with_type(_built_type(kind.item_type)))
    return pa.string() if pa.types.is_temporal(kind) or pa.types.is_binary(kind) else kind


def _converter(kind: pa.DataType) -> Callable[[Values], Values] | None:
    """Return what makes of decoded values those that Arrow takes for their built type; None if it takes them."""
    if is_raw(kind):
        return _bytes
    if pa.types.is_struct(kind):
        fields = [(number, _converter(field.type)) for number, field in enumerate(kind.fields)]
        nested = [(number, convert) for number, convert in fields if convert]
        return partial(_tuples, nested) if nested else _plain_tuples
    if pa.types.is_list(kind):
        elements = _converter(kind.value_type)
        return elements and partial(_lists, elements)
    if pa.types.is_map(kind):
        items = _converter(kind.item_type)
        return items and partial(_entries, items)
    return None


def _bytes(texts: Values) -> Values:
    return [None if text is None else bytes(text) for text in texts]


def _plain_tuples(objects: Values) -> Values:
    try:
        return list(map(astuple, objects))
    except TypeError:
        return [None if value is None else astuple(value) for value in objects]


def _tuples(nested: Sequence[tuple[int, Callable[[Values], Values]]], objects: Values) -> Values:
    known = list(filter(None, objects))
    if not known:
        return objects
    columns: list[Values] = list(zip(*map(astuple, known), strict=True))
    for number, convert in nested:
        columns[number] = convert(columns[number])
    rows = zip(*columns, strict=True)
    return list(rows) if len(known) == len(objects) else [None if value is None else next(rows) for value in objects]


def _lists(convert: Callable[[Values], Values], lists: Values) -> Values:
    return [None if value is None else convert(value) for value in lists]


def _entries(convert: Callable[[Values], Values], maps: Values) -> Values:
    return [None if value is None else list(zip(value, convert(list(value.values())), strict=True)) for value in maps]
