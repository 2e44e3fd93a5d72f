"""Maps that others have made: DuckDB takes none with a key that is null or there twice."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
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


def maps_of_entries(counts: npt.NDArray[np.int64], entries: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return maps with these numbers of entries, structs of a key and a value; of a key given twice the last counts."""
    keys, values = entries.flatten()
    maps = pa.MapArray.from_arrays(_starts(counts), keys, values, type=kind)
    try:
        check_map_keys(maps)
    except ValueError:
        owners = np.repeat(np.arange(len(counts)), counts).tolist()
        last = {place: number for number, place in enumerate(zip(owners, keys.to_pylist(), strict=True))}
        kept = np.array(sorted(last.values()), np.int64)
        owned = np.bincount(np.array(owners)[kept], minlength=len(counts))
        taken = pa.array(kept)
        return pa.MapArray.from_arrays(_starts(owned), keys.take(taken), values.take(taken), type=kind)
    return maps


def _starts(counts: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())


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
