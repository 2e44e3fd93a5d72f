"""Messages whose bytes end where their memory does, so that a read beyond them is found."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def exactly(messages: Sequence[bytes | None]) -> pa.BinaryArray:
    """Return messages as an array whose last byte is the last one of its buffer."""
    offsets = np.cumsum([0, *(len(message or b"") for message in messages)], dtype=np.int32)
    validity = pa.array([message is not None for message in messages]).buffers()[1]
    data = pa.py_buffer(b"".join(message or b"" for message in messages))
    return pa.Array.from_buffers(pa.binary(), len(messages), [validity, pa.py_buffer(offsets), data])
