"""Values of variants as what a cast to another type reads."""

import base64
import re
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

import numpy as np

from streamapp_core.data_types import DataType, TypeKind
from streamapp_core.expressions.conversions import WHOLE_BITS
from streamapp_systems.variants.variant_encoding import Node, VariantKind, encoded
from streamapp_systems.variants.variant_json import json_of, text_of

_Offset = Callable[[int], int]
_DAY = 86_400_000_000
_SECOND = 1_000_000
_LONG = 1 << 63
_EXACT = Context(prec=80)
_WHOLE = re.compile(r"[\x00-\x20\x7f]*([+-]?[0-9]+)[\x00-\x20\x7f]*")
_MOMENTS = (VariantKind.DATE, VariantKind.TIMESTAMP, VariantKind.TIMESTAMP_NTZ)


class UnfitError(Exception):
    """A value has no meaning in a type."""


def read(node: Node, target: DataType, offset: _Offset) -> Any:  # noqa: ANN401 - a text, or a struct or list
    """Read a value by a type, in the form that SQL makes values of; None where it does not fit.

    `offset` returns the seconds that clocks are ahead of UTC at microseconds since 1970. A date or timestamp is a text,
    or a number: behind `@` of what the type counts; behind `~`, of the microseconds that clocks show, as a timestamp,
    or of those since 1970, as a date or as what clocks show.
    """
    if target.kind is TypeKind.VARIANT:
        variant = encoded(node)
        return f"{variant.value.hex()}:{variant.metadata.hex()}"
    try:
        if node.kind is VariantKind.NULL:
            return None
        return _NESTED[target.kind](node, target, offset) if target.nested else _scalar(node, target, offset)
    except UnfitError:
        return None


def _struct(node: Node, target: DataType, offset: _Offset) -> dict[str, Any]:
    held = dict(_only(node, VariantKind.OBJECT))
    places = {field.name: place for place, field in enumerate(target.fields)}
    return {
        f"f{place}": read(held[name], target.fields[place].type, offset)
        for name, place in places.items()
        if name in held
    }


def _map(node: Node, target: DataType, offset: _Offset) -> list[dict[str, Any]]:
    fields = _only(node, VariantKind.OBJECT)
    return [{"key": name, "value": read(inner, target.value, offset)} for name, inner in fields]


def _array(node: Node, target: DataType, offset: _Offset) -> list[Any]:
    return [read(inner, target.element, offset) for inner in _only(node, VariantKind.ARRAY)]


def _only(node: Node, kind: VariantKind) -> Any:  # noqa: ANN401 - what nodes of the kind hold
    if node.kind is not kind:
        raise UnfitError
    return node.held


def _scalar(node: Node, target: DataType, offset: _Offset) -> str:
    if target.kind is TypeKind.STRING:
        return json_of(node, offset) if node.kind in (VariantKind.OBJECT, VariantKind.ARRAY) else _text(node, offset)
    if node.kind in (VariantKind.OBJECT, VariantKind.ARRAY):
        raise UnfitError
    if target.kind in WHOLE_BITS:
        return str(_whole(node, WHOLE_BITS[target.kind]))
    return _SCALARS[target.kind](node)


def _text(node: Node, offset: _Offset) -> str:
    try:
        return text_of(node, offset)
    except UnicodeDecodeError:
        raise UnfitError from None


def _whole(node: Node, bits: int) -> int:
    number = _number(node)
    if number is None:
        match = _WHOLE.fullmatch(node.held) if node.kind is VariantKind.STRING else None
        if match is None or len(match[1]) > 1000:  # noqa: PLR2004 - beyond all types, and slow to read
            raise UnfitError
        number = int(match[1])
    whole = int(number)
    if not -(1 << bits - 1) <= whole < 1 << bits - 1:
        raise UnfitError
    return whole


def _number(node: Node) -> int | float | Decimal | None:
    """Return the number that a value is, or is counted as; None if it is none."""
    kind, held = node
    match kind:
        case VariantKind.BOOLEAN | VariantKind.LONG | VariantKind.DECIMAL:
            return Decimal(held) if kind is VariantKind.DECIMAL else int(held)
        case VariantKind.DOUBLE | VariantKind.FLOAT if np.isfinite(held):
            return float(held)
        case VariantKind.DOUBLE | VariantKind.FLOAT:
            raise UnfitError
        case VariantKind.TIMESTAMP:
            return int(held // _SECOND)
        case _:
            return None


def _boolean(node: Node) -> str:
    kind, held = node
    if kind is VariantKind.STRING:
        return str(held)
    if kind not in (VariantKind.BOOLEAN, VariantKind.LONG, VariantKind.DECIMAL, VariantKind.DOUBLE, VariantKind.FLOAT):
        raise UnfitError
    return "true" if held else "false"


def _float(node: Node) -> str:
    if node.kind is VariantKind.LONG:
        return str(np.float32(np.int64(node.held)))
    text = _double(node)
    if node.kind in (VariantKind.STRING, VariantKind.DECIMAL):
        return text
    with np.errstate(over="ignore"):
        return str(np.float32(float(text)))


def _double(node: Node) -> str:
    kind, held = node
    match kind:
        case VariantKind.STRING:
            return str(held)
        case VariantKind.BOOLEAN | VariantKind.LONG:
            return str(int(held))
        case VariantKind.DECIMAL:
            return f"{held:f}"
        case VariantKind.DOUBLE | VariantKind.FLOAT:
            return repr(float(held))
        case VariantKind.TIMESTAMP:
            return repr(float(held) / 1e6)
        case _:
            raise UnfitError


def _decimal(node: Node) -> str:
    if node.kind is VariantKind.TIMESTAMP:
        return f"{Decimal(node.held).scaleb(-6, _EXACT):f}"
    text = _double(node)
    if text.strip("+-")[:1] in ("i", "n") and node.kind is not VariantKind.STRING:
        raise UnfitError
    return text


def _date(node: Node) -> str:
    kind, held = node
    if kind is VariantKind.STRING:
        return _no_number(held)
    if kind not in _MOMENTS:
        raise UnfitError
    if kind is VariantKind.TIMESTAMP:
        return f"~{held}"
    return f"@{held if kind is VariantKind.DATE else held // _DAY}"


def _timestamp(node: Node) -> str:
    kind, held = node
    if kind is VariantKind.STRING:
        return _no_number(held)
    if kind in _MOMENTS:
        return f"@{held}" if kind is VariantKind.TIMESTAMP else f"~{held * _DAY if kind is VariantKind.DATE else held}"
    if kind in (VariantKind.DOUBLE, VariantKind.FLOAT):
        held = float(held) * _SECOND if np.isfinite(held) else float(_LONG) * 2
    elif kind in (VariantKind.LONG, VariantKind.DECIMAL):
        held = held * _SECOND if kind is VariantKind.LONG else _EXACT.multiply(held, Decimal(_SECOND))
    else:
        raise UnfitError
    if not -_LONG <= int(held) < _LONG:
        raise UnfitError
    return f"@{int(held)}"


def _timestamp_ntz(node: Node) -> str:
    kind, held = node
    if kind is VariantKind.STRING:
        return _no_number(held)
    if kind not in _MOMENTS:
        raise UnfitError
    if kind is VariantKind.TIMESTAMP:
        return f"~{held}"
    return f"@{held * _DAY if kind is VariantKind.DATE else held}"


def _no_number(text: str) -> str:
    """Return a text that SQL reads; those with such a sign are numbers there."""
    if text.startswith(("@", "~")):
        raise UnfitError
    return text


def _binary(node: Node) -> str:
    kind, held = node
    if kind not in (VariantKind.STRING, VariantKind.BINARY):
        raise UnfitError
    return base64.b64encode(held.encode() if kind is VariantKind.STRING else held).decode()


_NESTED: Mapping[TypeKind, Callable[[Node, DataType, _Offset], Any]] = {
    TypeKind.STRUCT: _struct,
    TypeKind.MAP: _map,
    TypeKind.ARRAY: _array,
}
_SCALARS: Mapping[TypeKind, Callable[[Node], str]] = {
    TypeKind.BOOLEAN: _boolean,
    TypeKind.FLOAT: _float,
    TypeKind.DOUBLE: _double,
    TypeKind.DECIMAL: _decimal,
    TypeKind.DATE: _date,
    TypeKind.TIMESTAMP: _timestamp,
    TypeKind.TIMESTAMP_NTZ: _timestamp_ntz,
    TypeKind.BINARY: _binary,
}
