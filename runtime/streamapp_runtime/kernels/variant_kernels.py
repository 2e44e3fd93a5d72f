"""The kernels of variants: made of JSON and of values, looked into, and read by types. They go row by row."""

import json
import re
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from streamapp_core.data_types import DataType, TypeKind
from streamapp_runtime.kernels.json_generator import has_halves
from streamapp_runtime.kernels.json_tokens import Dialect, MalformedJsonError, TokenKind, Tokens, tokens
from streamapp_runtime.kernels.row_functions import each_row, literal_type
from streamapp_runtime.kernels.variant_encoding import (
    MAX_VARIANT_DEPTH,
    Node,
    UnencodableError,
    VariantKind,
    decoded,
    encoded,
)
from streamapp_runtime.kernels.variant_texts import json_of, read
from streamapp_runtime.kernels.variant_types import schema_of

ARROW_VARIANT = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
_JSON = Dialect(single_quotes=False)
_PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_LONG_BITS = 63
_MOST_DIGITS = 38
_INDEX_BITS = 31
_STEP = re.compile(r"""\.([^.\[]+)|\['([^']*)'\]|\["([^"]*)"\]|\[([0-9]+)\]""")
_Variant = dict[str, bytes]


def parsed_variant(texts: pa.Array) -> pa.Array:
    """Return the values of JSON texts; null for one that is malformed, or has a field twice."""

    def parsed(text: str) -> _Variant | None:
        try:
            found = tokens(text, _JSON)
            return encoded(_node(found, 0, 0)) if found else None
        except (MalformedJsonError, UnencodableError):
            return None

    return pa.array(each_row(parsed, texts), ARROW_VARIANT)


def made_variant(types: pa.Array, values: pa.Array) -> pa.Array:
    """Return values of a type as variants; null where an object would have a field twice."""
    moments = values.cast(_numbered(values.type))

    def made(written: str, value: object) -> _Variant | None:
        try:
            return encoded(_made(value, literal_type(written, variant=True)))
        except UnencodableError:
            return None

    rows = zip(types.to_pylist(), moments.to_pylist(), strict=True)
    return pa.array((None if value is None else made(kind, value) for kind, value in rows), ARROW_VARIANT)


def variant_part(variants: pa.Array, paths: pa.Array) -> pa.Array:
    """Return what is at a path of a variant; null if nothing is."""

    def part(variant: _Variant, path: str) -> _Variant | None:
        node = _found(decoded(variant), path)
        return encoded(node) if node else None

    return pa.array(each_row(part, variants, paths), ARROW_VARIANT)


def variant_json(variants: pa.Array) -> pa.Array:
    """Return variants as JSON texts."""
    return pa.array(each_row(lambda variant: json_of(decoded(variant)), variants), pa.string())


def schema_of_variant(variants: pa.Array) -> pa.Array:
    """Return the types of what variants hold."""
    return pa.array(each_row(lambda variant: schema_of(decoded(variant)), variants), pa.string())


def read_variant(variants: pa.Array, types: pa.Array) -> pa.Array:
    """Return what variants hold in the form that SQL makes values of a type of: a text, or JSON with texts inside."""

    def texts(variant: _Variant, written: str) -> str | None:
        target = literal_type(written, variant=True)
        value = read(decoded(variant), target)
        return json.dumps(value, ensure_ascii=False) if value is not None and target.nested else value

    return pa.array(each_row(texts, variants, types), pa.string())


def _node(found: Tokens, place: int, depth: int) -> Node:
    kind, text = found.kinds[place], found.texts[place]
    if depth > MAX_VARIANT_DEPTH:
        raise UnencodableError
    match kind:
        case TokenKind.OBJECT:
            fields = [(_sound(found.texts[name]), _node(found, name + 1, depth + 1)) for name in found.parts(place)]
            return Node(VariantKind.OBJECT, fields)
        case TokenKind.ARRAY:
            return Node(VariantKind.ARRAY, [_node(found, part, depth + 1) for part in found.parts(place)])
        case TokenKind.STRING:
            return Node(VariantKind.STRING, _sound(text))
        case TokenKind.INTEGER | TokenKind.FLOAT:
            return _number(kind, text)
        case TokenKind.NULL:
            return Node(VariantKind.NULL)
        case _:
            return Node(VariantKind.BOOLEAN, kind is TokenKind.TRUE)


def _sound(text: str) -> str:
    if has_halves(text):
        raise MalformedJsonError
    return text


def _number(kind: TokenKind, text: str) -> Node:
    if kind is TokenKind.INTEGER and -(1 << _LONG_BITS) <= (whole := int(text)) < 1 << _LONG_BITS:
        return Node(VariantKind.LONG, whole)
    if _PLAIN.fullmatch(text):
        number = Decimal(text)
        digits = number.as_tuple()
        if max(len(digits.digits), -int(digits.exponent)) <= _MOST_DIGITS:
            return Node(VariantKind.DECIMAL, number)
    return Node(VariantKind.DOUBLE, float(text))


def _made(value: Any, data_type: DataType) -> Node:  # noqa: ANN401 - what Arrow makes of a value
    if value is None:
        return Node(VariantKind.NULL)
    match data_type.kind:
        case TypeKind.STRUCT:
            names = (field.name for field in data_type.fields)
            pairs = zip(names, value.values(), data_type.fields, strict=True)
            return Node(VariantKind.OBJECT, [(name, _made(inner, field.type)) for name, inner, field in pairs])
        case TypeKind.MAP:
            return Node(VariantKind.OBJECT, [(key, _made(inner, data_type.value)) for key, inner in value])
        case TypeKind.ARRAY:
            return Node(VariantKind.ARRAY, [_made(inner, data_type.element) for inner in value])
        case TypeKind.VARIANT:
            return decoded(value)
        case kind:
            return Node(_KINDS[kind], value)


def _numbered(kind: pa.DataType) -> pa.DataType:
    """Return a type with numbers in place of what is counted from 1970: Python has no such dates after 9999."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, _numbered(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_numbered(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _numbered(field.type)) for field in kind.fields])
    return kind


def _found(node: Node | None, path: str) -> Node | None:
    steps = _steps(path)
    if steps is None:
        return None
    for step in steps:
        if node is None:
            return None
        if isinstance(step, int):
            elements = node.held if node.kind is VariantKind.ARRAY else ()
            node = elements[step] if step < len(elements) else None
        else:
            fields = node.held if node.kind is VariantKind.OBJECT else ()
            node = next((inner for name, inner in fields if name == step), None)
    return node


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...] | None:
    """Read a path such as `$.a[0]['b c']`; None if it is none."""
    at, steps = 1, list[str | int]()
    if not path.startswith("$"):
        return None
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        if match[4] is None:
            steps.append(next(name for name in match.groups() if name is not None))
        else:
            index = int(match[4][:20])
            if index.bit_length() > _INDEX_BITS:
                return None
            steps.append(index)
        at = match.end()
    return tuple(steps)


_KINDS = {
    TypeKind.BOOLEAN: VariantKind.BOOLEAN,
    **dict.fromkeys((TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT), VariantKind.LONG),
    TypeKind.FLOAT: VariantKind.FLOAT,
    TypeKind.DOUBLE: VariantKind.DOUBLE,
    TypeKind.DECIMAL: VariantKind.DECIMAL,
    TypeKind.STRING: VariantKind.STRING,
    TypeKind.BINARY: VariantKind.BINARY,
    TypeKind.DATE: VariantKind.DATE,
    TypeKind.TIMESTAMP: VariantKind.TIMESTAMP,
    TypeKind.TIMESTAMP_NTZ: VariantKind.TIMESTAMP_NTZ,
}
