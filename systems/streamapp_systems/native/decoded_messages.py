"""Messages as rows by the native library: only what it is sure of, all else is told message by message."""

import ctypes
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_systems.native.binary_columns import address
from streamapp_systems.native.library import native_library

_ARRAY_BYTES = 80
"""Bytes of an `ArrowArray` of Arrow's C data interface."""
_TOO_LARGE = -3


class MessageKind(IntEnum):
    """The judgement of a message: a row; perhaps one, which another decoder says; or nothing, as it has no value."""

    ROW = 0
    UNSURE = 1
    NO_VALUE = 2


class NativeDecodingError(Exception):
    """The library is absent, or can't read such messages; the message says which."""


class _Messages(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("data_length", ctypes.c_int64),
        ("offsets", ctypes.c_void_p),
        ("validity", ctypes.c_void_p),
        ("validity_at", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("header", ctypes.c_char_p),
        ("header_length", ctypes.c_int64),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeRows:
    """The `MessageKind` of each message, and the rows of those that are rows."""

    kinds: npt.NDArray[np.uint8]
    rows: pa.Table


class MessageFunction:
    """A function of the library that makes rows of messages, as a description says that is kept elsewhere."""

    def __init__(self, name: str) -> None:
        """Find the function.

        Raises:
            NativeDecodingError: the library is absent.
        """
        library = native_library()
        if library.functions is None:
            raise NativeDecodingError(library.why_absent)
        self._decode = library.functions[name]  # a function object of its own
        self._decode.argtypes = [ctypes.c_void_p] * 4
        self._decode.restype = ctypes.c_int64

    def decode(
        self, description: ctypes.Structure, values: pa.BinaryArray, schema: pa.Schema, header: bytes = b""
    ) -> tuple[npt.NDArray[np.uint8], pa.RecordBatch] | None:
        """Decode values that begin with a header: their kinds, and the rows; None: columns can't have so much.

        Raises:
            MemoryError: there is too little.
        """
        validity, offsets, data = values.buffers()
        kinds = np.empty(len(values), np.uint8)
        array = (ctypes.c_char * _ARRAY_BYTES)()
        messages = _Messages(
            data=(data or offsets).address,
            data_length=0 if data is None else data.size,
            offsets=offsets.address + values.offset * pa.int32().byte_width,
            validity=address(validity),
            validity_at=values.offset,
            count=len(values),
            header=header,
            header_length=len(header),
        )
        rows = self._decode(
            ctypes.byref(description), ctypes.byref(messages), kinds.ctypes.data, ctypes.addressof(array)
        )
        if rows == _TOO_LARGE:
            return None
        if rows < 0:
            raise MemoryError("there is no memory for the columns of messages")
        found = pa.RecordBatch._import_from_c(ctypes.addressof(array), schema)  # noqa: SLF001 - how libraries do
        return kinds, found
