"""Numbers for keys, in a hash table of the native library; and the order of keys."""

import ctypes
import secrets
import weakref

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_systems.native.binary_columns import binary_array, binary_column, pointer

Numbers = npt.NDArray[np.int64]


class KeyGroups:
    """Keys, which are any bytes, with the numbers 0, 1, 2, ... in the order in which they came."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.streamapp_new_groups.restype = ctypes.c_void_p
        library.streamapp_number_keys.restype = library.streamapp_measure_keys.restype = ctypes.c_int64
        self._library = library
        groups = library.streamapp_new_groups(ctypes.c_uint64(secrets.randbits(64)))
        if groups is None:
            raise MemoryError
        self._groups = ctypes.c_void_p(groups)
        self._free = weakref.finalize(self, library.streamapp_free_groups, self._groups)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, keys: pa.BinaryArray) -> Numbers:
        """Return the number of each key, none null; keys that are new get the next numbers, in their order."""
        numbers, described = np.empty(len(keys), np.int64), binary_column(keys)
        count = self._library.streamapp_number_keys(
            self._groups, ctypes.byref(described), ctypes.c_void_p(pointer(numbers))
        )
        if count < 0:
            raise MemoryError
        self._count = count
        return numbers

    def keys(self, numbers: Numbers) -> pa.BinaryArray:
        """Return the keys of numbers; they must take less than 2 GB."""
        count, offsets = ctypes.c_int64(len(numbers)), np.empty(len(numbers) + 1, np.int32)
        arguments = self._groups, ctypes.c_void_p(pointer(numbers)), count, ctypes.c_void_p(pointer(offsets))
        total = self._library.streamapp_measure_keys(*arguments)
        if total < 0:
            raise ValueError("some of these numbers have no key, or all keys take 2 GB")
        data = np.empty(max(total, 1), np.uint8)
        self._library.streamapp_copy_keys(*arguments, ctypes.c_void_p(pointer(data)))
        return binary_array(offsets, data)


def order_of(library: ctypes.CDLL, texts: pa.BinaryArray) -> Numbers:
    """Return the places of texts in the order of their bytes, equal ones as they stand; none is null."""
    order, described = np.empty(len(texts), np.int64), binary_column(texts)
    if not library.streamapp_order_bytes(ctypes.byref(described), ctypes.c_void_p(pointer(order))):
        raise MemoryError
    return order
