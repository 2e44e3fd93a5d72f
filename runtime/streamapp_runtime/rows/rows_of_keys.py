"""One row of each key in a batch."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_systems.floating_keys import unify_floats

_POSITION = "__position"


def row_of_each_key(
    rows: pa.Table, key: Sequence[str], positions: npt.NDArray[np.int64], choose: Literal["min", "max"]
) -> tuple[pa.Table, pa.ChunkedArray]:
    """Return the different keys of a batch, and of the rows of each the least or greatest position.

    Zeros of both signs are one key, and so are all NaNs.
    """
    columns = [unify_floats(rows.column(name)) for name in key]
    keyed = pa.table([*columns, pa.array(positions)], [*key, _POSITION])
    groups = keyed.group_by(list(key), use_threads=False).aggregate([(_POSITION, choose)])
    return groups.select(list(key)), groups.column(f"{_POSITION}_{choose}")
