"""The check of maps that others have made: DuckDB takes none with a key that is null or there twice."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_systems.floating_keys import unify_floats


def check_map_keys(column: pa.Array) -> None:
    """Refuse maps with such keys, on every level.

    Raises:
        ValueError: there is one.
    """
    for maps in _maps(column):
        entries = maps.cast(pa.list_(pa.struct([("key", maps.type.key_type), ("value", maps.type.item_type)])))
        key = entries.flatten().flatten()[0]
        if key.null_count:
            raise ValueError("a key of a map is null")
        encoded = unify_floats(key).dictionary_encode()
        lengths = pc.fill_null(entries.value_lengths(), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        row = np.repeat(np.arange(len(entries)), lengths)
        places = row * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy(zero_copy_only=False)
        if len(np.unique(places)) < len(places):
            raise ValueError("a key is twice in a map")


def holds_maps(kind: pa.DataType) -> bool:
    """Return whether values of a type are or hold maps."""
    return pa.types.is_map(kind) or any(holds_maps(kind.field(number).type) for number in range(kind.num_fields))


def _maps(column: pa.Array) -> Iterator[pa.Array]:
    kind = column.type
    if not holds_maps(kind):
        return
    if pa.types.is_map(kind):
        yield column
        column = column.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
    inner = column.flatten()
    for part in inner if pa.types.is_struct(kind) else [inner]:
        yield from _maps(part)
