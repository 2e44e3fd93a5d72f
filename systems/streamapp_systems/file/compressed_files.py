"""Files of text that may be compressed: the ending of their names says how."""

import io
from collections.abc import Mapping
from typing import BinaryIO, cast

import pyarrow as pa

from streamapp_systems.objects import ObjectPath, Place

COMPRESSIONS: Mapping[str, str] = {".gz": "gzip", ".zst": "zstd"}
"""The endings that follow those of a format, and the codecs."""


def open_stream(path: Place) -> pa.NativeFile:
    """Open a file as Arrow reads it, from its beginning to its end.

    Raises:
        OSError: it can't be read; also while it is read, where it is cut off or not compressed as its name says.
    """
    file = pa.PythonFile(path.open("rb"), "r") if isinstance(path, ObjectPath) else pa.OSFile(str(path))
    codec = COMPRESSIONS.get(path.suffix)
    return file if codec is None else pa.CompressedInputStream(file, codec)


def open_bytes(path: Place) -> BinaryIO:
    """Open a file as Python reads it; see `open_stream`."""
    return (
        path.open("rb") if path.suffix not in COMPRESSIONS else cast("BinaryIO", io.BufferedReader(open_stream(path)))
    )
