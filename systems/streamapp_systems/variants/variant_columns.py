"""Columns of variants: Arrow structs of the two parts of an encoded value.

Their fields have names that no schema can have: no struct of a user is taken for a variant.
"""

from collections.abc import Iterable

import pyarrow as pa

from streamapp_core.data_types import VARIANT_PARTS
from streamapp_systems.variants.variant_decoding import decoded
from streamapp_systems.variants.variant_encoding import Variant
from streamapp_systems.variants.variant_json import NO_VARIANTS, json_of, variant_of_json

ARROW_VARIANT = pa.struct([(part, pa.binary()) for part in VARIANT_PARTS])


def is_variant(kind: pa.DataType) -> bool:
    """Return whether values of a type are variants."""
    return bool(kind == ARROW_VARIANT)


def parse_variants(texts: Iterable[bytes | None]) -> pa.Array:
    """Read a column of JSON texts, each of one value.

    Raises:
        ValueError: a text is no variant.
    """

    def parsed(text: bytes) -> Variant:
        found = variant_of_json(text.decode())
        if found is None:
            raise ValueError(f"it is no variant: {NO_VARIANTS}")
        return found

    return variant_column(None if text is None else parsed(text) for text in texts)


def format_variants(column: pa.Array) -> pa.Array:
    """Write a column of variants as JSON texts; nulls stay null."""
    texts = (None if variant is None else json_of(decoded(variant)) for variant in variants_of(column))
    return pa.array(texts, pa.string())


def variants_of(column: pa.Array) -> list[Variant | None]:
    """Return the variants of a column."""
    parts = (part.to_pylist() for part in column.flatten())
    return [None if value is None else Variant(value, metadata) for value, metadata in zip(*parts, strict=True)]


def variant_column(variants: Iterable[Variant | None]) -> pa.Array:
    """Return a column of variants."""
    rows = list(variants)
    parts = ([None if row is None else row[place] for row in rows] for place in range(len(VARIANT_PARTS)))
    missing = pa.array([row is None for row in rows], pa.bool_())
    children = [pa.array(part, pa.binary()) for part in parts]
    return pa.StructArray.from_arrays(children, fields=list(ARROW_VARIANT), mask=missing)
