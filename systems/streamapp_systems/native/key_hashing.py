"""Hashes the keys of records as Kafka's Java client does (`key_hashing.c`)."""

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_systems.native.library import native_library


def hash_keys(keys: pa.LargeBinaryArray) -> npt.NDArray[np.uint32] | None:
    """Return murmur2 of each key, 0 of null; None without the native library.

    Raises:
        ValueError: the column is malformed.
    """
    if native_library().functions is None:
        return None
    hashes = np.empty(len(keys), np.uint32)
    if not len(keys):
        return hashes
    validity, offsets, data = keys.buffers()
    refused = _murmur2()(
        ctypes.c_void_p(None if validity is None or not keys.null_count else validity.address),
        ctypes.c_void_p(offsets.address),
        ctypes.c_void_p(None if data is None else data.address),
        ctypes.c_int64(0 if data is None else data.size),
        ctypes.c_int64(keys.offset),
        ctypes.c_int64(len(keys)),
        ctypes.c_void_p(hashes.ctypes.data),
    )
    if refused:
        raise ValueError("a column of keys is malformed: the offsets of a key are outside of its data")
    return hashes


@cache
def _murmur2() -> Callable[..., int]:
    native = native_library().functions
    assert native is not None
    native.streamapp_murmur2.restype = ctypes.c_int64
    murmur2: Callable[..., int] = native.streamapp_murmur2
    return murmur2
