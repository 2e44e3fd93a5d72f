"""The changes of a batch, of which only the last one of each key counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_runtime.rows.row_codec import to_plain_rows
from streamapp_runtime.rows.tombstones import DELETED_COLUMN
from streamapp_systems.floating_keys import unify_floats

_POSITION = "__position"


def latest_changes(rows: pa.Table, key: Sequence[str]) -> tuple[pa.Table, list[tuple[Any, ...]]]:
    """Return the last row of each key, and the keys, as plain values, whose last row deletes.

    The rows have no column that marks deletions any more.
    """
    columns = [unify_floats(rows.column(name)) for name in key]
    keyed = pa.table([*columns, pa.array(np.arange(len(rows)))], [*key, _POSITION])
    groups = keyed.group_by(list(key), use_threads=False).aggregate([(_POSITION, "max")])
    rows = rows.take(groups.column(f"{_POSITION}_max").sort())
    if DELETED_COLUMN not in rows.column_names:
        return rows, []
    deleted = rows.column(DELETED_COLUMN)
    gone = to_plain_rows(rows.filter(deleted).select(list(key)).columns)
    return rows.filter(pc.invert(deleted)).drop_columns([DELETED_COLUMN]), gone
