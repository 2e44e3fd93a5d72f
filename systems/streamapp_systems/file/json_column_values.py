"""Columns of decoded JSON, whose texts become values of their types: all of a column at once, nested ones too."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from streamapp_systems.file.json_nested import map_array
from streamapp_systems.file.text_values import parse_text
from streamapp_systems.variants.variant_columns import is_variant, parse_variants


def is_raw(kind: pa.DataType) -> bool:
    """Return whether the texts of values are kept when objects are decoded: no type of Python's has all they say."""
    return is_variant(kind) or bool(pa.types.is_decimal(kind) or pa.types.is_float32(kind))


def parse_column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column of a built type as one of the type itself.

    Raises:
        ValueError: a text is no value of its type, or an unusual number, or a key is twice in a map.
    """
    if column.type == kind:
        return column
    if is_raw(kind):
        numbers = not is_variant(kind)
        return _parse_numbers(column.view(pa.string()), kind) if numbers else parse_variants(column.to_pylist())
    missing = column.is_null() if pa.types.is_nested(kind) and column.null_count else None
    if pa.types.is_struct(kind):
        children = [parse_column(child, field.type) for child, field in zip(column.flatten(), kind.fields, strict=True)]
        return pa.StructArray.from_arrays(children, fields=kind.fields, mask=missing)
    if pa.types.is_list(kind):
        elements = parse_column(column.values, kind.value_type)
        return pa.ListArray.from_arrays(column.offsets, elements, type=kind, mask=missing)
    if pa.types.is_map(kind):
        keys = parse_text(column.keys, kind.key_type)
        return map_array(column.offsets, keys, parse_column(column.items, kind.item_type), kind, missing)
    return parse_text(column, kind)


def double_columns(column: pa.Array) -> Iterator[pa.Array]:
    """Yield the columns of doubles that a column holds, but for the keys of maps."""
    if pa.types.is_float64(column.type):
        yield column
    elif pa.types.is_struct(column.type):
        for child in column.flatten():
            yield from double_columns(child)
    elif pa.types.is_list(column.type):
        yield from double_columns(column.values)
    elif pa.types.is_map(column.type):
        yield from double_columns(column.items)


def _parse_numbers(texts: pa.Array, to: pa.DataType) -> pa.Array:
    """Parse numbers of JSON, and decimals in quotes; refuse what Arrow's parser of JSON may read otherwise."""
    texts = pc.if_else(pc.equal(texts, "null"), None, texts)
    if pa.types.is_decimal(to):
        texts = pc.ascii_trim(texts, '"')
        fraction = rf"(\.\d{{1,{to.scale}}})?" if to.scale else ""
        usual = pc.match_substring_regex(texts, rf"^-?\d{{1,{max(to.precision - to.scale, 1)}}}{fraction}$")
        if pc.any(pc.invert(usual)).as_py():
            raise ValueError("a decimal has an exponent, too many digits, or is none")
    numbers = texts.cast(to)
    numbers.validate(full=True)
    if pa.types.is_floating(to) and pc.any(pc.is_inf(numbers)).as_py():
        raise ValueError("a number is too large")
    return numbers
