"""Flat maps: many rows of one, which are made some at a time."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from streamapp_core.expressions import SelectColumn, growth_sql, table, unnest_sql
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.job import OnError
from streamapp_runtime.operators.operator import BaseOperator, Operator
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.sql_engine import SqlEngine

TOO_LARGE = "too large"
"""Why rows made none, in counts."""
_MAX_MADE = 100_000_000
"""Those of one row must fit in memory."""
_MADE_AT_ONCE = 16_000_000


class FlatMap(BaseOperator):
    """Makes the rows of a select list with a generator; those of many rows, or of large ones, in several parts."""

    def __init__(
        self,
        name: str,
        lists: Operator,
        columns: Sequence[SelectColumn],
        engine: SqlEngine,
        *,
        on_error: OnError,
        bad_rows: BadRows,
        most: int = _MAX_MADE,
        at_once: int = _MADE_AT_ONCE,
    ) -> None:
        """Take what makes the lists of the generator; `bad_rows` has the place of a batch and records skipped rows.

        A row makes up to `most` characters and elements, and a part `at_once`, but for its last row.
        """
        self._name = name
        self._lists = lists
        self._engine = engine
        self._growth = growth_sql(columns, table("rows"))
        self._unnest = unnest_sql(columns, table("rows"), (EVENT_TIME_COLUMN,))
        self._on_error = on_error
        self._bad_rows = bad_rows
        self._most, self._at_once = most, at_once
        self._too_large = 0

    def divide(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Yield the rows with their lists, in parts that `process` takes one after the other.

        Raises:
            RuntimeFailure: a row would make too much, and the app does not skip errors.
        """
        lists = self._lists.process(rows)
        if lists is None:
            return
        made = self._engine.query(self._growth, rows=lists).column(0).to_numpy()
        if (too_large := made > self._most).any():
            self._refuse(int(too_large.sum()), int(made.max()))
            lists, made = lists.filter(pa.array(~too_large)), made[~too_large]
        parts = np.cumsum(made) // self._at_once
        bounds = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(lists)]
        for start, end in pairwise(bounds):
            yield lists.slice(start, end - start)

    def process(self, rows: pa.Table) -> pa.Table | None:
        """Return the rows that a part makes."""
        result = self._engine.query(self._unnest, rows=rows)
        return result if len(result) else None

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {**self._lists.counters(), TOO_LARGE: self._too_large}

    def _refuse(self, count: int, most: int) -> None:
        what = (
            f"operator `{self._name}`: a row would make {most:,} characters and elements, more "
            f"than {self._most:,}: each row that it makes has the columns beside the generator again. Select fewer of "
            "them, filter such rows out before, or set spec.job.onError to skip: they are then left out and counted"
        )
        self._bad_rows.refuse(what, self._on_error)
        self._too_large += count
