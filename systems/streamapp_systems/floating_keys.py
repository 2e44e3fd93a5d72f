"""Floating numbers as keys: zero has two bit patterns and not-a-number has many, and each is one key."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def unify_floats(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the column with one bit pattern for each of zero and not-a-number: both are one key, as in Spark."""
    kind = column.type
    if not pa.types.is_floating(kind):
        return column
    zeroless = pc.if_else(pc.equal(column, 0.0), pa.scalar(0.0, kind), column)
    return pc.if_else(pc.is_nan(zeroless), pa.scalar(np.nan, kind), zeroless)
