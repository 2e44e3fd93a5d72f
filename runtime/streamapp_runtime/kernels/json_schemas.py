"""The kernel of `schema_of_json`: the type of a JSON text, as Spark infers it."""

from dataclasses import replace
from functools import reduce

import pyarrow as pa

from streamapp_core.data_types import MAX_PRECISION
from streamapp_runtime.kernels.inferred_types import (
    DOUBLE,
    NULL,
    STRING,
    Field,
    Fields,
    InferredType,
    usual,
    written,
)
from streamapp_runtime.kernels.java_units import utf16_order
from streamapp_runtime.kernels.row_functions import each_row
from streamapp_systems.variants.json_generator import java_text
from streamapp_systems.variants.json_tokens import Dialect, MalformedJsonError, TokenKind, Tokens, tokens

_LONG_BITS = 63
_LONG_PRECISION = 20
_SCALARS = {TokenKind.TRUE: "BOOLEAN", TokenKind.FALSE: "BOOLEAN", TokenKind.FLOAT: "DOUBLE", TokenKind.NULL: "NULL"}


def schema_of_json(texts: pa.Array, leading_zeros: pa.Array) -> pa.Array:
    """Return the types of JSON texts; null for one that is malformed."""

    def schema(text: str, zeros: bool) -> str | None:
        try:
            found = tokens(text, Dialect(non_numeric_numbers=True, leading_zeros=zeros))
        except MalformedJsonError:
            return None
        return written(_top(_inferred(found, 0) if found else NULL))

    return pa.array(each_row(schema, texts, leading_zeros), pa.string())


def _inferred(found: Tokens, start: int) -> InferredType:
    kind, text = found.kinds[start], found.texts[start]
    if kind is TokenKind.STRING:
        return STRING if text else NULL
    if kind is TokenKind.INTEGER:
        return _whole(text)
    if kind in _SCALARS:
        return InferredType(_SCALARS[kind])
    if kind is TokenKind.OBJECT:
        fields = [(java_text(found.texts[name]), _inferred(found, name + 1)) for name in found.parts(start)]
        return InferredType("STRUCT", fields=sorted(fields, key=lambda field: utf16_order(field[0])))
    return InferredType(
        "ARRAY", element=reduce(_common, (_inferred(found, place) for place in found.parts(start)), NULL)
    )


def _whole(text: str) -> InferredType:
    digits = text.lstrip("-")
    if len(digits) <= _LONG_PRECISION and -(2**_LONG_BITS) <= int(text) < 2**_LONG_BITS:
        return InferredType("BIGINT")
    return InferredType("DECIMAL", len(digits)) if len(digits) <= MAX_PRECISION else DOUBLE


def _common(one: InferredType, other: InferredType) -> InferredType:
    """Return the type that holds values of two types."""
    if other in (one, NULL):
        return one
    if one == NULL:
        return other
    names = {one.name, other.name}
    if names <= {"BIGINT", "DECIMAL"}:
        least = _LONG_PRECISION if "BIGINT" in names else 0
        return InferredType("DECIMAL", max(one.precision, other.precision, least))
    if names <= {"BIGINT", "DECIMAL", "DOUBLE"}:
        return DOUBLE
    if names == {"ARRAY"}:
        return replace(one, element=_common(one.element or NULL, other.element or NULL))
    return replace(one, fields=_merged(one.fields, other.fields)) if names == {"STRUCT"} else STRING


def _merged(ones: Fields, others: Fields) -> Fields:
    """Merge the fields of two structs, which are in order."""
    return reduce(_added, others, list(ones))


def _added(fields: list[Field], field: Field) -> list[Field]:
    name, added = field
    known = [place for place, (there, _) in enumerate(fields) if there == name]
    if known:
        fields[known[0]] = (name, _common(fields[known[0]][1], added))
        return fields
    return sorted([*fields, field], key=lambda one: utf16_order(one[0]))


def _top(found: InferredType) -> InferredType:
    if found.name == "STRUCT":
        return usual(found) or replace(found, fields=())
    if found.element and found.element.name == "STRUCT":
        return replace(found, element=usual(found.element) or InferredType("STRUCT"))
    return usual(found) or STRING
