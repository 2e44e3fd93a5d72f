"""The changes of a batch, of which only the last one of each key counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_runtime.rows.row_codec import to_plain_rows
from streamapp_runtime.rows.rows_of_keys import row_of_each_key
from streamapp_runtime.rows.tombstones import DELETED_COLUMN


def latest_changes(rows: pa.Table, key: Sequence[str]) -> tuple[pa.Table, list[tuple[Any, ...]]]:
    """Return the last row of each key, and the keys, as plain values, whose last row deletes.

    The rows have no column that marks deletions any more.
    """
    _, last = row_of_each_key(rows, key, np.arange(len(rows)), "max")
    rows = rows.take(last.sort())
    if DELETED_COLUMN not in rows.column_names:
        return rows, []
    deleted = rows.column(DELETED_COLUMN)
    gone = to_plain_rows(rows.filter(deleted).select(list(key)).columns)
    return rows.filter(pc.invert(deleted)).drop_columns([DELETED_COLUMN]), gone
