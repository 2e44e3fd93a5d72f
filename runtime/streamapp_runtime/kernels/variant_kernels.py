"""The kernels of variants: made of JSON and of values, looked into, and read by types. They go row by row."""

import json
import re
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any

import pyarrow as pa

from streamapp_core.data_types import DataType, TypeKind
from streamapp_core.expressions.growth import MAX_GROWTH
from streamapp_core.expressions.kernels import VARIANT_MEMBERS
from streamapp_runtime.kernels.row_functions import each_row, literal_type
from streamapp_runtime.kernels.variant_texts import read
from streamapp_runtime.kernels.variant_types import schema_of
from streamapp_runtime.kernels.zone_kernels import zone_offset
from streamapp_systems.arrow_types import arrow_type
from streamapp_systems.variants.variant_columns import variant_column, variants_of
from streamapp_systems.variants.variant_decoding import decoded, members
from streamapp_systems.variants.variant_encoding import Node, UnencodableError, Variant, VariantKind, encoded
from streamapp_systems.variants.variant_json import json_of, variant_of_json

_INDEX_BITS = 31
_MEMBERS = arrow_type(VARIANT_MEMBERS.result)
_STEP = re.compile(r"""\.([^.\[]+)|\['([^']*)'\]|\["([^"]*)"\]|\[([0-9]+)\]""")


def parsed_variant(texts: pa.Array) -> pa.Array:
    """Return the values of JSON texts; null for one that is malformed, or has a field twice."""
    return variant_column(each_row(variant_of_json, texts))


def made_variant(types: pa.Array, values: pa.Array) -> pa.Array:
    """Return values of a type as variants; null where an object would have a field twice."""
    moments = values.cast(_numbered(values.type))

    def made(written: str, value: object) -> Variant | None:
        try:
            return encoded(_made(value, literal_type(written)))
        except UnencodableError:
            return None

    return variant_column(each_row(made, types, moments))


def variant_part(variants: pa.Array, paths: pa.Array) -> pa.Array:
    """Return what is at a path of a variant; null if nothing is."""

    def part(variant: Variant, path: str) -> Variant | None:
        node = _found(decoded(variant), path)
        return encoded(node) if node else None

    return variant_column(each_row(part, variants, paths))


def variant_json(variants: pa.Array, zones: pa.Array) -> pa.Array:
    """Return variants as JSON texts, with timestamps in a time zone."""
    texts = each_row(lambda variant, zone: json_of(decoded(variant), zone_offset(zone)), variants, zones)
    return pa.array(texts, pa.string())


def schema_of_variant(variants: pa.Array) -> pa.Array:
    """Return the types of what variants hold."""
    return pa.array(each_row(lambda variant: schema_of(decoded(variant)), variants), pa.string())


def variant_members(variants: pa.Array) -> pa.Array:
    """Return the members of arrays and objects, with their places and names; null of other values."""
    listed = [None if variant is None else _members(variant) for variant in variants_of(variants)]
    found = list(chain.from_iterable(filter(None, listed)))
    columns = [
        pa.array([place for row in listed if row for place in range(len(row))], pa.int32()),
        pa.array([name for name, _ in found], pa.string()),
        variant_column([value for _, value in found]),
    ]
    structs = pa.StructArray.from_arrays(columns, fields=list(_MEMBERS.value_type))
    starts = pa.array([0, *accumulate(0 if row is None else len(row) for row in listed)], pa.int32())
    missing = pa.array([row is None for row in listed], pa.bool_())
    return pa.ListArray.from_arrays(starts, structs, type=_MEMBERS, mask=missing)


def _members(variant: Variant) -> list[tuple[str | None, Variant]] | None:
    """Return the members of a value, with all its names as in Spark, or with their own if that would be too much."""
    found = members(variant)
    if found is None or len(found) * len(variant.metadata) <= MAX_GROWTH:
        return found
    node = decoded(variant)
    held = node.held if node.kind is VariantKind.OBJECT else [(None, inner) for inner in node.held]
    return [(name, encoded(inner)) for name, inner in held]


def read_variant(variants: pa.Array, types: pa.Array, zones: pa.Array) -> pa.Array:
    """Return what variants hold in the form that SQL makes values of a type of: a text, or JSON with texts inside."""

    def texts(variant: Variant, written: str, zone: str) -> str | None:
        target = literal_type(written)
        value = read(decoded(variant), target, zone_offset(zone))
        return json.dumps(value, ensure_ascii=False) if value is not None and target.nested else value

    return pa.array(each_row(texts, variants, types, zones), pa.string())


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
            return decoded(Variant(*value.values()))
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
