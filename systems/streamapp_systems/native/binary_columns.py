"""Arrow's columns of bytes as the native library takes and gives them."""

import ctypes

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Offsets = npt.NDArray[np.int32]
"""Where each text begins, and where the last one ends."""


class BinaryColumn(ctypes.Structure):
    """`struct binary_column`: valid as long as its array is."""

    _fields_ = (
        ("length", ctypes.c_int64),
        ("first", ctypes.c_int64),
        ("validity", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


_NOTHING = pa.py_buffer(bytes(8))
"""Offsets and data of an array without any."""


def binary_column(array: pa.BinaryArray) -> BinaryColumn:
    """Return what describes an array to the library, which must be kept as long."""
    validity, offsets, data = array.buffers()
    if not len(array):
        offsets = data = _NOTHING
    return BinaryColumn(
        len(array), array.offset, address(validity), address(offsets or _NOTHING), address(data or _NOTHING)
    )


def address(buffer: pa.Buffer | None) -> int | None:
    """Return where a buffer is; None where there is none."""
    return None if buffer is None else buffer.address


def pointer(values: npt.NDArray[np.generic]) -> int:
    """Return where the values of a contiguous array are."""
    return int(values.ctypes.data)


def binary_array(
    offsets: Offsets, data: npt.NDArray[np.uint8], missing: npt.NDArray[np.bool_] | None = None
) -> pa.BinaryArray:
    """Return texts of bytes, some of them null, without a copy."""
    validity = None if missing is None else pa.array(~missing).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [validity, pa.py_buffer(offsets), pa.py_buffer(data)])


def longest(texts: pa.BinaryArray) -> int:
    """Return the length of the longest text of an array that begins where its buffers do; 0 of an empty one."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)
    return int(np.diff(offsets).max(initial=0))


def leading_numbers(texts: pa.BinaryArray) -> npt.NDArray[np.uint64]:
    """Return the first 8 bytes of texts as numbers that order alike; the array begins where its buffers do."""
    _, offsets, data = texts.buffers()
    begins = np.frombuffer(offsets, np.int32)[: len(texts), None]
    first = np.frombuffer(data, np.uint8)[begins + np.arange(8)]
    return np.ascontiguousarray(first).view(">u8").reshape(-1).astype(np.uint64)


def offsets_of(lengths: npt.NDArray[np.int64]) -> Offsets | None:
    """Return the offsets of texts of these lengths behind each other; None if they are too many bytes for one array."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return None if offsets[-1] > np.iinfo(np.int32).max else offsets.astype(np.int32)
