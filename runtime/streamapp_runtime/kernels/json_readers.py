"""The kernel of `from_json`: JSON texts read by a type, as Spark reads them.

It writes JSON again in which every value is a text that a cast to its type takes, so that SQL makes the values.
Fields of structs are named by their places, maps are lists of entries. It goes row by row.
"""

import json
import re
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa

from streamapp_core.data_types import DataType, TypeKind, all_types
from streamapp_core.expressions.growth import MAX_GROWTH
from streamapp_runtime.kernels.row_functions import each_row, literal_type
from streamapp_systems.variants.json_generator import Generator, java_text
from streamapp_systems.variants.json_tokens import Dialect, MalformedJsonError, TokenKind, Tokens, tokens

_DIALECT = Dialect(non_numeric_numbers=True)
_INFINITIES = {"+INF": "Infinity", "+Infinity": "Infinity", "-INF": "-Infinity"}
_NON_NUMERIC = frozenset({"NaN", "Infinity", "-Infinity", *_INFINITIES})
_RANGES = {
    TypeKind.TINYINT: range(-(2**7), 2**8),
    TypeKind.SMALLINT: range(-(2**15), 2**15),
    TypeKind.INT: range(-(2**31), 2**31),
    TypeKind.BIGINT: range(-(2**63), 2**63),
}
_LONG_DIGITS = 20
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?")
_MAX_EXPONENT = 10_000
_EXACT = Context(prec=12_000, rounding=ROUND_HALF_UP)
_SECOND = 1_000_000


class UnfitError(Exception):
    """A value does not fit its type."""


_Read = tuple[Any, bool]
"""A value, and whether something inside of it did not fit."""


def from_json(texts: pa.Array, types: pa.Array) -> pa.Array:
    """Return the values of JSON texts by types, in the form that SQL reads."""

    def read(text: str, written: str) -> str | None:
        value = _read(text, literal_type(written))
        return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    return pa.array(each_row(read, texts, types), pa.string())


def _read(text: str, data_type: DataType) -> Any:  # noqa: ANN401 - a struct, list or nothing
    nothing: Any = {} if data_type.kind is TypeKind.STRUCT else None
    try:
        found = tokens(text, _DIALECT)
        if found is None or _is_too_much(found, data_type):
            return None
        value, _ = _root(found, data_type)
    except (MalformedJsonError, UnfitError):
        return nothing
    return nothing if value is None else value


def _is_too_much(found: Tokens, data_type: DataType) -> bool:
    types = sum(1 for _ in all_types(data_type))
    return bool(data_type.kinds & {TypeKind.ARRAY, TypeKind.MAP}) and len(found.kinds) * types > MAX_GROWTH


def _root(found: Tokens, data_type: DataType) -> _Read:
    """Read the whole value; an object is an array of one struct, too."""
    structs = data_type.kind is TypeKind.ARRAY and data_type.element.kind is TypeKind.STRUCT
    if structs and found.kinds[0] is TokenKind.OBJECT:
        row, partial = _object(found, 0, data_type.element)
        return [row], partial
    return _value(found, 0, data_type)


def _value(found: Tokens, place: int, data_type: DataType) -> _Read:
    kind, text = found.kinds[place], found.texts[place]
    if kind is TokenKind.NULL:
        return None, False
    if data_type.nested:
        opening, read = _NESTED[data_type.kind]
        if kind is not opening:
            raise UnfitError
        return read(found, place, data_type)
    if data_type.kind is TypeKind.STRING:
        return _text(found, place), False
    if data_type.kind is TypeKind.DECIMAL:
        return _decimal(kind, text, data_type), False
    return _SCALARS[data_type.kind](kind, text), False


def _object(found: Tokens, start: int, data_type: DataType) -> _Read:
    places = {field.name: index for index, field in enumerate(data_type.fields)}
    row: dict[str, Any] = {}
    partial = False
    for place in found.parts(start):
        index = places.get(java_text(found.texts[place]))
        if index is not None:
            try:
                row[f"f{index}"], inner = _value(found, place + 1, data_type.fields[index].type)
                partial = partial or inner
            except UnfitError:
                partial = True
    return row, partial


def _array(found: Tokens, start: int, data_type: DataType) -> _Read:
    values, partial = [], False
    for place in found.parts(start):
        value, inner = _value(found, place, data_type.element)
        values.append(value)
        partial = partial or inner
    return values, partial


def _map(found: Tokens, start: int, data_type: DataType) -> _Read:
    entries, partial = [], False
    for place in found.parts(start):
        value, inner = _value(found, place + 1, data_type.value)
        entries.append({"key": java_text(found.texts[place]), "value": value})
        partial = partial or inner
    return entries, partial


def _text(found: Tokens, place: int) -> str:
    if found.kinds[place] is TokenKind.STRING:
        return java_text(found.texts[place])
    generator = Generator(as_bytes=True)
    generator.copy(found, place)
    return generator.text()


def _boolean(kind: TokenKind, _text: str) -> str:
    if kind not in (TokenKind.TRUE, TokenKind.FALSE):
        raise UnfitError
    return kind.name.lower()


def _whole(kind: TokenKind, text: str, allowed: range) -> int:
    if kind is not TokenKind.INTEGER or len(text) > _LONG_DIGITS:
        raise UnfitError
    number = int(text)
    if number not in allowed:
        raise UnfitError
    return number


def _whole_text(target: TypeKind, kind: TokenKind, text: str) -> str:
    number = _whole(kind, text, _RANGES[target])
    return str(number - 2**8 if target is TypeKind.TINYINT and number >= 2**7 else number)


def _floating(kind: TokenKind, text: str) -> str:
    if kind is TokenKind.STRING and text not in _NON_NUMERIC:
        raise UnfitError
    if kind not in (TokenKind.STRING, TokenKind.INTEGER, TokenKind.FLOAT):
        raise UnfitError
    return "0" if kind is TokenKind.INTEGER and text == "-0" else _INFINITIES.get(text, text)


def _decimal(kind: TokenKind, text: str, data_type: DataType) -> str:
    if kind not in (TokenKind.STRING, TokenKind.INTEGER, TokenKind.FLOAT):
        raise UnfitError
    return decimal_text(text.replace(",", "") if kind is TokenKind.STRING else text, data_type)


def decimal_text(text: str, data_type: DataType) -> str:
    """Return a text that is a number as a decimal of a type, rounded half up.

    Raises:
        UnfitError: It is none, or has too many digits before the point.
    """
    match = _DECIMAL.fullmatch(text)
    if match is None or len(text) > _MAX_EXPONENT or (match[1] and len(match[1]) > len(str(_MAX_EXPONENT))):
        raise UnfitError
    number = Decimal(text)
    if number.adjusted() > data_type.precision:
        raise UnfitError
    rounded = number.quantize(Decimal(1).scaleb(-data_type.scale), context=_EXACT)
    if len(rounded.as_tuple().digits) > data_type.precision:
        raise UnfitError
    return f"{rounded:f}"


def _string(kind: TokenKind, text: str) -> str | None:
    if kind is not TokenKind.STRING or not text:
        raise UnfitError
    return java_text(text)


def _timestamp(kind: TokenKind, text: str) -> str | None:
    """Return a text, or `@` and microseconds for a number of seconds, which may wrap around."""
    if kind is TokenKind.INTEGER:
        seconds = _whole(kind, text, _RANGES[TypeKind.BIGINT])
        return f"@{(seconds * _SECOND + 2**63) % 2**64 - 2**63}"
    moment = _string(kind, text)
    return None if moment is None or moment.startswith("@") else moment


def _whole_reader(target: TypeKind) -> Callable[[TokenKind, str], str]:
    return lambda kind, text: _whole_text(target, kind, text)


_NESTED: Mapping[TypeKind, tuple[TokenKind, Callable[[Tokens, int, DataType], _Read]]] = {
    TypeKind.STRUCT: (TokenKind.OBJECT, _object),
    TypeKind.ARRAY: (TokenKind.ARRAY, _array),
    TypeKind.MAP: (TokenKind.OBJECT, _map),
}
_SCALARS: Mapping[TypeKind, Callable[[TokenKind, str], str | None]] = {
    TypeKind.BOOLEAN: _boolean,
    **{target: _whole_reader(target) for target in _RANGES},
    TypeKind.FLOAT: _floating,
    TypeKind.DOUBLE: _floating,
    TypeKind.DATE: _string,
    TypeKind.TIMESTAMP: _timestamp,
}
