"""The types that hold the values of a sample: the narrowest that other rows are likely to fit, too.

Whole numbers are `bigint`, as a sample does not have the largest one. Digits that begin with a 0 are names, and stay
text. A number that a double would round is a decimal.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from streamapp_core.data_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    VARIANT,
    Column,
    DataType,
    SchemaError,
    TypeKind,
    array_of,
    check_field_name,
    map_of,
    struct_of,
)
from streamapp_core.inference.time_names import names_a_time
from streamapp_core.spec.streams import JsonTimestamps

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_WHOLE = re.compile(r"-?(0|[1-9]\d{0,18})", re.ASCII)
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,3})?", re.ASCII)
_NO_VALUES = ("NA", "N/A", "NULL", "null", "\\N", "None", "NaN", "nan", "-")
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_DEEPEST = 10
_MANY_NAMES = 30
"""Fields that objects of one kind hardly have: if each has few of so many, they are the keys of maps."""
_SECONDS_FROM_2001, _SECONDS_TO_2100 = 978_307_200, 4_102_444_800
_UNITS = {JsonTimestamps.SECONDS: 1, JsonTimestamps.MILLIS: 1_000, JsonTimestamps.MICROS: 1_000_000}


def type_of_texts(texts: Sequence[str | None]) -> DataType:
    """Return the type of the values of a column of CSV; None is null, and so is an empty text of most types."""
    values = [text.strip() for text in texts if text is not None and text.strip()]
    if not values:
        return STRING
    if all(value.lower() in ("true", "false") for value in values):
        return BOOLEAN
    if all(map(_WHOLE.fullmatch, values)):
        return BIGINT if all(_LEAST <= int(value) <= _MOST for value in values) else STRING
    if all(map(_NUMBER.fullmatch, values)):
        return _type_of_numbers([Decimal(value) for value in values])
    return _type_of_moments(values)


def null_text(columns: Sequence[Sequence[str | None]]) -> str:
    """Return the text that stands for null in columns of CSV: the one without which most have a type."""
    texts = [column for column in columns if type_of_texts(column) == STRING]

    def typed(null: str) -> int:
        without = ([text for text in column if text != null] for column in texts if null in column)
        return sum(type_of_texts(column) != STRING for column in without)

    best = max(_NO_VALUES, key=typed)
    return best if typed(best) else ""


def epoch_unit(name: str, values: Sequence[int]) -> JsonTimestamps | None:
    """Return the unit in which whole numbers count the time since 1970; None if they don't look like it."""
    if not values or not names_a_time(name):
        return None
    lowest, highest = min(values), max(values)
    for unit, size in _UNITS.items():
        if _SECONDS_FROM_2001 * size <= lowest and highest < _SECONDS_TO_2100 * size:
            return unit
    return None


@dataclass(frozen=True, slots=True)
class JsonTypes:
    """The types of JSON values, with timestamps in one form; `units` counts whole numbers that look like times."""

    times: JsonTimestamps = JsonTimestamps.TEXT
    units: Counter[JsonTimestamps] = field(default_factory=Counter)

    def type_of(self, name: str, values: Sequence[Any], depth: int = 1) -> DataType:
        """Return the type of values; None is null. Numbers with a point are `Decimal`."""
        known = [value for value in values if value is not None]
        kinds = {_kind(value) for value in known}
        if not kinds:
            return STRING
        if depth > _DEEPEST or len(kinds) > 1:
            return STRING if kinds <= {str, list, dict} else VARIANT
        types: Mapping[type, Callable[[str, Sequence[Any], int], DataType]] = {
            bool: lambda *_: BOOLEAN,
            int: self._numbers,
            str: self._texts,
            list: self._arrays,
            dict: self._objects,
        }
        return types[kinds.pop()](name, known, depth)

    def _numbers(self, name: str, values: Sequence[int | Decimal], _: int) -> DataType:
        whole = [value for value in values if isinstance(value, int)]
        if len(whole) < len(values):
            return _type_of_numbers([Decimal(value) for value in values])
        if not all(_LEAST <= value <= _MOST for value in whole):
            fits = all(len(str(abs(value))) <= MAX_PRECISION for value in whole)
            return DataType(TypeKind.DECIMAL, precision=MAX_PRECISION) if fits else DOUBLE
        unit = epoch_unit(name, whole)
        if unit is None:
            return BIGINT
        self.units[unit] += 1
        return TIMESTAMP if unit is self.times else BIGINT

    def _texts(self, _name: str, values: Sequence[str], _: int) -> DataType:
        found = _type_of_moments(values)
        return STRING if found == TIMESTAMP and self.times is not JsonTimestamps.TEXT else found

    def _arrays(self, name: str, values: Sequence[Sequence[Any]], depth: int) -> DataType:
        return array_of(self.type_of(name, [element for value in values for element in value], depth + 1))

    def _objects(self, name: str, values: Sequence[Mapping[str, Any]], depth: int) -> DataType:
        names = dict.fromkeys(name for value in values for name in value)
        if not names:
            return STRING
        if len(names) > _MANY_NAMES and sum(map(len, values)) * 3 < len(names) * len(values):
            return map_of(STRING, self.type_of(name, [each for value in values for each in value.values()], depth + 1))
        try:
            for each in names:
                check_field_name(each)
            return struct_of(
                [Column(each, self.type_of(each, [value.get(each) for value in values], depth + 1)) for each in names]
            )
        except SchemaError:
            return STRING


def wider_types(data_type: DataType) -> tuple[DataType, ...]:
    """Return types that also take values which a guessed type of JSON does not, each wider than the one before."""
    return (_without_moments(data_type), VARIANT, STRING)


def _without_moments(data_type: DataType) -> DataType:
    if data_type in (TIMESTAMP, DATE):
        return STRING
    parts = tuple(Column(part.name, _without_moments(part.type)) for part in data_type.fields)
    return DataType(data_type.kind, data_type.precision, data_type.scale, parts)


def _kind(value: object) -> type:
    return int if isinstance(value, Decimal) else type(value)


def _type_of_moments(values: Sequence[str]) -> DataType:
    if all(map(_TIME.fullmatch, values)):
        return TIMESTAMP
    return DATE if all(map(_DATE.fullmatch, values)) else STRING


def _type_of_numbers(values: Sequence[Decimal]) -> DataType:
    """Return `double` if it has all values exactly, as their shortest texts; else a decimal, if one has them."""
    if all(Decimal(repr(float(value))) == value for value in values):
        return DOUBLE
    scale = max(max(0, -_exponent(value)) for value in values)
    digits = max(max(1, value.adjusted() + 1) for value in values)
    if digits + scale > MAX_PRECISION:
        return DOUBLE
    return DataType(TypeKind.DECIMAL, precision=MAX_PRECISION, scale=scale)


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int), "JSON and the forms of numbers have no infinities"
    return exponent
