"""The partition of a row, by the hash of its key (docs/concepts.md)."""

import json

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.murmur2 import Hashes, murmur2, partitions
from streamapp_core.spec.streams import KeyFormat
from streamapp_systems.native.key_hashing import hash_keys

BINARY_WIDTHS = {KeyFormat.INT: 4, KeyFormat.LONG: 8}
"""Bytes of the keys that Java's IntegerSerializer and LongSerializer write: the highest first, in two's complement."""


def partition_numbers(keys: pa.ChunkedArray, count: int, form: KeyFormat = KeyFormat.STRING) -> npt.NDArray[np.int64]:
    """Return the partition of each key: murmur2 of its bytes, as a Java producer would; null goes to partition 0."""
    return partitions(key_hashes(keys, form), count)


def key_hashes(keys: pa.ChunkedArray, form: KeyFormat = KeyFormat.STRING) -> Hashes:
    """Hash keys so that equal ones, whatever their stream, have equal hashes; the hash of null is 0."""
    values = keys.combine_chunks()
    plain = form is KeyFormat.STRING and (pa.types.is_string(values.type) or pa.types.is_binary(values.type))
    hashes = hash_keys(key_texts(values)) if plain else None
    return _hash_distinct(values, form) if hashes is None else hashes


def _hash_distinct(keys: pa.Array, form: KeyFormat) -> Hashes:
    """Hash every distinct key once."""
    distinct = keys.dictionary_encode()
    values = key_bytes(distinct.dictionary, form)
    _, offsets_buffer, data_buffer = values.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64, len(values) + 1, values.offset * 8)
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.empty(0, np.uint8)
    places = pc.fill_null(distinct.indices, len(values)) if distinct.null_count else distinct.indices
    indices: npt.NDArray[np.int64] = places.to_numpy(zero_copy_only=False)
    return np.append(murmur2(data, offsets), np.uint32(0))[indices]


def key_bytes(keys: pa.Array, form: KeyFormat) -> pa.Array:
    """Encode keys: as text, or whole numbers that fit as Java's binary ones."""
    if form is KeyFormat.STRING:
        return key_texts(keys)
    width = BINARY_WIDTHS[form]
    numbers = [None if key is None else key.to_bytes(width, "big", signed=True) for key in keys.to_pylist()]
    return pa.array(numbers, pa.large_binary())


def key_texts(keys: pa.Array) -> pa.Array:
    """Encode keys as bytes: text as UTF-8, whole numbers as decimal text, bytes as they are, others as JSON."""
    if pa.types.is_binary(keys.type) or pa.types.is_string(keys.type):
        return keys.cast(pa.large_binary())
    if pa.types.is_integer(keys.type):
        return keys.cast(pa.large_string()).cast(pa.large_binary())
    if pa.types.is_floating(keys.type):
        keys = pc.add(keys, pa.scalar(0.0, keys.type))  # -0.0 equals 0.0, so it is the same key
    elif pa.types.is_timestamp(keys.type):
        keys = pc.strftime(keys, "%Y-%m-%dT%H:%M:%SZ")
    elif not pa.types.is_boolean(keys.type):
        keys = keys.cast(pa.string())
    texts = [None if key is None else json.dumps(key).encode() for key in keys.to_pylist()]
    return pa.array(texts, pa.large_binary())
