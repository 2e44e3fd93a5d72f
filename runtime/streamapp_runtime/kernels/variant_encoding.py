"""Variants in Spark's binary encoding: a value, and the names of the fields inside of it as its metadata.

A node holds what a variant does: of an object the fields as pairs, of an array the elements, which are nodes; of a
date the days since 1970, of a timestamp the microseconds.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from itertools import pairwise
from typing import Any, NamedTuple

MAX_VARIANT_BYTES = (1 << 24) - 1
"""The most bytes of a value and of its metadata."""
MAX_VARIANT_DEPTH = 200
"""The most levels of arrays and objects."""
_DECIMALS = ((9, 4), (18, 8), (38, 16))
"""The most digits of a decimal, and its bytes."""
_WHOLES = (1, 2, 4, 8)
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


class UnencodableError(ValueError):
    """A value has a field twice, or is too large or too deeply nested for a variant."""


def encoded(node: Node) -> dict[str, bytes]:
    """Encode a value; the names of its fields are numbered as they come.

    Raises:
        UnencodableError: It is no value of a variant.
    """
    names: dict[str, int] = {}
    value = _value(node, names, 0)
    texts = [name.encode() for name in names]
    size = _width(max(sum(map(len, texts)), len(texts)))
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    head = bytes([_VERSION | (size - 1) << 6])
    metadata = b"".join([head, *(number.to_bytes(size, "little") for number in (len(texts), *offsets)), *texts])
    if max(len(value), len(metadata)) > MAX_VARIANT_BYTES:
        raise UnencodableError
    return {"value": value, "metadata": metadata}


def _value(node: Node, names: dict[str, int], depth: int) -> bytes:
    if depth > MAX_VARIANT_DEPTH:
        raise UnencodableError
    if node.kind is VariantKind.OBJECT:
        return _object(node.held, names, depth)
    if node.kind is VariantKind.ARRAY:
        parts = [_value(element, names, depth + 1) for element in node.held]
        return _container(3, 0, b"", _offsets(parts), parts)
    return _scalar(node)


def _object(fields: list[tuple[str, Node]], names: dict[str, int], depth: int) -> bytes:
    numbered: list[tuple[bytes, int, int]] = []
    parts: list[bytes] = []
    for name, node in fields:
        numbered.append((name.encode("utf-16-be"), names.setdefault(name, len(names)), len(parts)))
        parts.append(_value(node, names, depth + 1))
    numbered.sort()
    if any(one[0] == other[0] for one, other in pairwise(numbered)):
        raise UnencodableError
    width = _width(max((number for _, number, _ in numbered), default=0))
    numbers = b"".join(number.to_bytes(width, "little") for _, number, _ in numbered)
    offsets = _offsets(parts)
    return _container(2, width - 1, numbers, [offsets[place] for *_, place in numbered] + offsets[-1:], parts)


def _offsets(parts: list[bytes]) -> list[int]:
    offsets = [0]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return offsets


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


def _scalar(node: Node) -> bytes:
    kind, held = node
    if kind in _FIXED:
        return _primitive(kind, _FIXED[kind].pack(held))
    match kind:
        case VariantKind.BOOLEAN:
            return _primitive(kind if held else kind + 1)
        case VariantKind.LONG:
            step = next(step for step, size in enumerate(_WHOLES) if -(1 << 8 * size - 1) <= held < 1 << 8 * size - 1)
            return _primitive(kind + step, held.to_bytes(_WHOLES[step], "little", signed=True))
        case VariantKind.DECIMAL:
            return _decimal(held)
        case VariantKind.STRING | VariantKind.BINARY:
            return _content(kind, held.encode() if kind is VariantKind.STRING else held)
        case _:
            return _primitive(kind)


def _content(kind: VariantKind, content: bytes) -> bytes:
    if kind is VariantKind.STRING and len(content) <= _SHORT_TEXT:
        return bytes([len(content) << 2 | 1]) + content
    return _primitive(kind, len(content).to_bytes(4, "little") + content)


def _primitive(number: int, content: bytes = b"") -> bytes:
    return bytes([number << 2]) + content


def _decimal(number: Decimal) -> bytes:
    sign, digits, exponent = number.as_tuple()
    unscaled, scale = int("".join(map(str, digits))), -int(exponent)
    needed = max(len(str(unscaled)), scale)
    step = next(step for step, (most, _) in enumerate(_DECIMALS) if needed <= most)
    content = (-unscaled if sign else unscaled).to_bytes(_DECIMALS[step][1], "little", signed=True)
    return _primitive(VariantKind.DECIMAL + step, bytes([scale]) + content)


_FIXED: Mapping[VariantKind, struct.Struct] = {
    VariantKind.DOUBLE: struct.Struct("<d"),
    VariantKind.FLOAT: struct.Struct("<f"),
    VariantKind.DATE: struct.Struct("<i"),
    VariantKind.TIMESTAMP: struct.Struct("<q"),
    VariantKind.TIMESTAMP_NTZ: struct.Struct("<q"),
}


def decoded(variant: Mapping[str, bytes]) -> Node:
    """Decode a value that was encoded here."""
    return _Reader(variant["value"], _names(variant["metadata"])).node(0)


def _names(metadata: bytes) -> list[str]:
    size = (metadata[0] >> 6) + 1
    numbers = [int.from_bytes(metadata[at : at + size], "little") for at in (1,)]
    count = numbers[0]
    start = 1 + size
    offsets = [
        int.from_bytes(metadata[start + at * size : start + (at + 1) * size], "little") for at in range(count + 1)
    ]
    texts = metadata[start + (count + 1) * size :]
    return [texts[one:other].decode() for one, other in pairwise(offsets)]


@dataclass(frozen=True, slots=True)
class _Reader:
    value: bytes
    names: list[str] = field(repr=False)

    def node(self, at: int) -> Node:
        """Read the value at a place."""
        header, basic = self.value[at] >> 2, self.value[at] & 3
        if basic == 1:
            return Node(VariantKind.STRING, self.value[at + 1 : at + 1 + header].decode())
        if basic == 0:
            return self._primitive(header, at + 1)
        named = basic == 2  # noqa: PLR2004 - an object
        size = 4 if header >> (4 if named else 2) & 1 else 1
        width, number_width = (header & 3) + 1, (header >> 2 & 3) + 1 if named else 0
        count = self._number(at + 1, size)
        numbers = at + 1 + size
        offsets = numbers + count * number_width
        start = offsets + (count + 1) * width
        nodes = [self.node(start + self._number(offsets + place * width, width)) for place in range(count)]
        if not named:
            return Node(VariantKind.ARRAY, nodes)
        names = [self.names[self._number(numbers + place * number_width, number_width)] for place in range(count)]
        return Node(VariantKind.OBJECT, list(zip(names, nodes, strict=True)))

    def _number(self, at: int, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.value[at : at + size], "little", signed=signed)

    def _primitive(self, number: int, at: int) -> Node:
        if VariantKind.BOOLEAN <= number < VariantKind.LONG:
            return Node(VariantKind.BOOLEAN, number == VariantKind.BOOLEAN)
        if VariantKind.LONG <= number < VariantKind.DOUBLE:
            return Node(VariantKind.LONG, self._number(at, _WHOLES[number - VariantKind.LONG], signed=True))
        if VariantKind.DECIMAL <= number < VariantKind.DATE:
            size = _DECIMALS[number - VariantKind.DECIMAL][1]
            unscaled = self._number(at + 1, size, signed=True)
            digits = tuple(map(int, str(abs(unscaled))))
            return Node(VariantKind.DECIMAL, Decimal((int(unscaled < 0), digits, -self.value[at])))
        kind = VariantKind(number)
        if kind in _FIXED:
            return Node(kind, _FIXED[kind].unpack_from(self.value, at)[0])
        if kind is VariantKind.NULL:
            return Node(kind)
        content = self.value[at + 4 : at + 4 + self._number(at, 4)]
        return Node(kind, content.decode() if kind is VariantKind.STRING else content)
