"""The kernel of `schema_of_json`: the type of a JSON text, as Spark infers it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa

from streamapp_systems.variants.json_generator import java_text
from streamapp_systems.variants.json_tokens import Dialect, MalformedJsonError, TokenKind, Tokens, tokens

_LONG_BITS = 63
_LONG_PRECISION = 20
_MAX_PRECISION = 38
_PLAIN_NAME = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
_SCALARS = {TokenKind.TRUE: "BOOLEAN", TokenKind.FALSE: "BOOLEAN", TokenKind.FLOAT: "DOUBLE", TokenKind.NULL: "NULL"}


@dataclass(frozen=True, slots=True)
class _Type:
    """An inferred type: `precision` is that of a decimal, `element` of an array, `fields` of a struct."""

    name: str
    precision: int = 0
    element: "_Type | None" = None
    fields: Sequence[tuple[str, "_Type"]] = ()


_NULL, _STRING, _DOUBLE = _Type("NULL"), _Type("STRING"), _Type("DOUBLE")


def schema_of_json(texts: pa.Array, leading_zeros: pa.Array) -> pa.Array:
    """Return the types of JSON texts; null for one that is malformed."""

    def schema(text: str | None, zeros: bool | None) -> str | None:
        if text is None or zeros is None:
            return None
        try:
            found = tokens(text, Dialect(non_numeric_numbers=True, leading_zeros=zeros))
        except MalformedJsonError:
            return None
        return _written(_top(_inferred(found, 0) if found else _NULL))

    return pa.array(map(schema, texts.to_pylist(), leading_zeros.to_pylist()), pa.string())


def _inferred(found: Tokens, start: int) -> _Type:
    kind, text = found.kinds[start], found.texts[start]
    if kind is TokenKind.STRING:
        return _STRING if text else _NULL
    if kind is TokenKind.INTEGER:
        return _whole(text)
    if kind in _SCALARS:
        return _Type(_SCALARS[kind])
    if kind is TokenKind.OBJECT:
        fields = [(java_text(found.texts[name]), _inferred(found, name + 1)) for name in found.parts(start)]
        return _Type("STRUCT", fields=sorted(fields, key=lambda field: _order(field[0])))
    return _Type("ARRAY", element=reduce(_common, (_inferred(found, place) for place in found.parts(start)), _NULL))


def _whole(text: str) -> _Type:
    digits = text.lstrip("-")
    if len(digits) <= _LONG_PRECISION and -(2**_LONG_BITS) <= int(text) < 2**_LONG_BITS:
        return _Type("BIGINT")
    return _Type("DECIMAL", len(digits)) if len(digits) <= _MAX_PRECISION else _DOUBLE


def _order(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _common(one: _Type, other: _Type) -> _Type:
    """Return the type that holds values of two types."""
    if other in (one, _NULL):
        return one
    if one == _NULL:
        return other
    names = {one.name, other.name}
    if names <= {"BIGINT", "DECIMAL"}:
        least = _LONG_PRECISION if "BIGINT" in names else 0
        return _Type("DECIMAL", max(one.precision, other.precision, least))
    if names <= {"BIGINT", "DECIMAL", "DOUBLE"}:
        return _DOUBLE
    if names == {"ARRAY"}:
        return replace(one, element=_common(one.element or _NULL, other.element or _NULL))
    return replace(one, fields=_merged(one.fields, other.fields)) if names == {"STRUCT"} else _STRING


def _merged(ones: Sequence[tuple[str, _Type]], others: Sequence[tuple[str, _Type]]) -> Sequence[tuple[str, _Type]]:
    """Merge the fields of two structs, which are in order."""
    return reduce(_added, others, list(ones))


def _added(fields: list[tuple[str, _Type]], field: tuple[str, _Type]) -> list[tuple[str, _Type]]:
    name, added = field
    known = [place for place, (there, _) in enumerate(fields) if there == name]
    if known:
        fields[known[0]] = (name, _common(fields[known[0]][1], added))
        return fields
    return sorted([*fields, field], key=lambda one: _order(one[0]))


def _top(found: _Type) -> _Type:
    if found.name == "STRUCT":
        return _usual(found) or replace(found, fields=())
    if found.element and found.element.name == "STRUCT":
        return replace(found, element=_usual(found.element) or _Type("STRUCT"))
    return _usual(found) or _STRING


def _usual(found: _Type) -> _Type | None:
    """Return a type with strings for nulls, without fields that have no name or nothing inside; None of nothing."""
    if found == _NULL:
        return _STRING
    if found.element:
        element = _usual(found.element)
        return element and replace(found, element=element)
    if found.name == "STRUCT":
        fields = [(name, usual) for name, inner in found.fields if name and (usual := _usual(inner))]
        return replace(found, fields=fields) if fields else None
    return found


def _written(found: _Type) -> str:
    if found.element:
        return f"ARRAY<{_written(found.element)}>"
    if found.name == "STRUCT":
        return f"STRUCT<{', '.join(f'{_name(name)}: {_written(inner)}' for name, inner in found.fields)}>"
    return f"DECIMAL({found.precision},0)" if found.precision else found.name


def _name(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"
