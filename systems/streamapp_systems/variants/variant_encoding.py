"""Variants in Spark's binary encoding: a value, and the names of the fields inside of it as its metadata.

A node holds what a variant does: of an object the fields as pairs, of an array the elements, which are nodes; of a
date the days since 1970, of a timestamp the microseconds.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

MAX_VARIANT_BYTES = (1 << 24) - 1
"""The most bytes of a value and of its metadata."""
MAX_VARIANT_DEPTH = 200
"""The most levels of arrays and objects."""
DECIMALS = ((9, 4), (18, 8), (38, 16))
"""The most digits of a decimal, and its bytes."""
WHOLES = (1, 2, 4, 8)
_STEPS = (0, 1, 2, 2, 3, 3, 3, 3)
"""The place of the size of a whole number in these, by the bytes that its bits fill."""
_SHORT_TEXT = 63
_FEW = 255
_VERSION = 1


class VariantKind(IntEnum):
    """The kinds of nodes; those of primitive values are numbered as the first of their encodings."""

    NULL = 0
    BOOLEAN = 1
    LONG = 3
    DOUBLE = 7
    DECIMAL = 8
    DATE = 11
    TIMESTAMP = 12
    TIMESTAMP_NTZ = 13
    FLOAT = 14
    BINARY = 15
    STRING = 16
    OBJECT = 64
    ARRAY = 65


class Node(NamedTuple):
    """One value of a variant."""

    kind: VariantKind
    held: Any = None


Parts = bytes | list[Any] | tuple[tuple[str, Any], ...]
"""A plain value, encoded; the elements of an array; the fields of an object."""
Split = Callable[[Any], Parts]


class Variant(NamedTuple):
    """An encoded value, and the names of its fields."""

    value: bytes
    metadata: bytes


class UnencodableError(ValueError):
    """A value has a field twice, or is too large or too deeply nested for a variant."""


def encoded(node: Node) -> Variant:
    """Encode a value; the names of its fields are numbered as they come.

    Raises:
        UnencodableError: It is no value of a variant.
    """
    return encoded_by(_split, node)


def encoded_by(split: Split, value: object) -> Variant:
    """Encode a value that is taken apart by a function.

    Raises:
        UnencodableError: It is no value of a variant.
    """
    names: dict[str, int] = {}
    content = _value(split, value, names, 0)
    texts = [name.encode() for name in names]
    size = _width(max(sum(map(len, texts)), len(texts)))
    offsets = _offsets(texts)
    head = bytes([_VERSION | (size - 1) << 6])
    metadata = b"".join([head, *(number.to_bytes(size, "little") for number in (len(texts), *offsets)), *texts])
    if max(len(content), len(metadata)) > MAX_VARIANT_BYTES:
        raise UnencodableError
    return Variant(content, metadata)


def _split(node: Node) -> Parts:
    if node.kind is VariantKind.OBJECT:
        return tuple(node.held)
    return list(node.held) if node.kind is VariantKind.ARRAY else encoded_scalar(node)


def _value(split: Split, value: object, names: dict[str, int], depth: int) -> bytes:
    if depth > MAX_VARIANT_DEPTH:
        raise UnencodableError
    parts = split(value)
    if isinstance(parts, bytes):
        return parts
    if isinstance(parts, tuple):
        return _object(split, parts, names, depth)
    elements = [_value(split, element, names, depth + 1) for element in parts]
    return _container(3, 0, b"", _offsets(elements), elements)


def _object(split: Split, fields: Sequence[tuple[str, Any]], names: dict[str, int], depth: int) -> bytes:
    numbered: list[tuple[bytes, int, int]] = []
    parts: list[bytes] = []
    for name, value in fields:
        numbered.append((name.encode("utf-16-be"), names.setdefault(name, len(names)), len(parts)))
        parts.append(_value(split, value, names, depth + 1))
    numbered.sort()
    if any(one[0] == other[0] for one, other in pairwise(numbered)):
        raise UnencodableError
    width = _width(max((number for _, number, _ in numbered), default=0))
    numbers = b"".join(number.to_bytes(width, "little") for _, number, _ in numbered)
    offsets = _offsets(parts)
    return _container(2, width - 1, numbers, [offsets[place] for *_, place in numbered] + offsets[-1:], parts)


def _offsets(parts: list[bytes]) -> list[int]:
    return list(accumulate(map(len, parts), initial=0))


def _container(basic: int, number_width: int, numbers: bytes, offsets: list[int], parts: list[bytes]) -> bytes:
    width = _width(offsets[-1])
    large = len(parts) > _FEW
    header = large << (4 if basic == 2 else 2) | number_width << 2 | (width - 1)  # noqa: PLR2004 - an object
    head = bytes([header << 2 | basic]) + len(parts).to_bytes(4 if large else 1, "little")
    return b"".join([head, numbers, *(offset.to_bytes(width, "little") for offset in offsets), *parts])


def _width(number: int) -> int:
    if number > MAX_VARIANT_BYTES:
        raise UnencodableError
    return max(1, (number.bit_length() + 7) // 8)


def encoded_scalar(node: Node) -> bytes:
    """Encode a value that holds no others."""
    kind, held = node
    if kind in FIXED:
        return _primitive(kind, FIXED[kind].pack(held))
    match kind:
        case VariantKind.BOOLEAN:
            return _primitive(kind if held else kind + 1)
        case VariantKind.LONG:
            return encoded_long(held)
        case VariantKind.DECIMAL:
            return _decimal(held)
        case VariantKind.STRING:
            return encoded_text(held)
        case _:
            return _primitive(kind, b"" if held is None else len(held).to_bytes(4, "little") + held)


def encoded_long(number: int) -> bytes:
    """Encode a whole number of 64 bits."""
    step = _STEPS[(number ^ (number >> 63)).bit_length() // 8]
    return _LONGS[step] + number.to_bytes(WHOLES[step], "little", signed=True)


def encoded_text(text: str) -> bytes:
    """Encode a text.

    Raises:
        UnicodeEncodeError: It has half a character.
    """
    content = text.encode()
    if len(content) <= _SHORT_TEXT:
        return bytes((len(content) << 2 | 1,)) + content
    return _LONG_TEXT + len(content).to_bytes(4, "little") + content


def _primitive(number: int, content: bytes = b"") -> bytes:
    return bytes([number << 2]) + content


_LONGS = [_primitive(VariantKind.LONG + step) for step in range(len(WHOLES))]
_LONG_TEXT = _primitive(VariantKind.STRING)


def encoded_decimal(unscaled: int, scale: int) -> bytes | None:
    """Encode a decimal number; None if it has more than 38 digits."""
    needed = max(len(str(abs(unscaled))), scale)
    step = next((step for step, (most, _) in enumerate(DECIMALS) if needed <= most), None)
    if step is None:
        return None
    return _primitive(
        VariantKind.DECIMAL + step, bytes((scale,)) + unscaled.to_bytes(DECIMALS[step][1], "little", signed=True)
    )


def _decimal(number: Decimal) -> bytes:
    sign, digits, exponent = number.as_tuple()
    unscaled = int("".join(map(str, digits)))
    return encoded_decimal(-unscaled if sign else unscaled, -int(exponent)) or b""


FIXED: Mapping[VariantKind, struct.Struct] = {
    VariantKind.DOUBLE: struct.Struct("<d"),
    VariantKind.FLOAT: struct.Struct("<f"),
    VariantKind.DATE: struct.Struct("<i"),
    VariantKind.TIMESTAMP: struct.Struct("<q"),
    VariantKind.TIMESTAMP_NTZ: struct.Struct("<q"),
}
