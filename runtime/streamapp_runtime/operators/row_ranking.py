"""The first rows of groups: rows of a batch are ranked with those that are kept, all groups in one query."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from streamapp_core.expressions import Ordering
from streamapp_core.expressions.typed_sql import quoted
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.rows.row_codec import encode_key, to_arrow_table, to_plain_rows
from streamapp_runtime.sql_engine import SqlEngine

PLACE = "__place"
"""The hidden column of a row's place in its group, from 1."""
_BEFORE = pa.field("__before", pa.int64())
"""The place that a kept row had; null of a row that is new."""
_LATEST = "__latest"
_NEW = pa.scalar(None, _BEFORE.type)

Rows = Sequence[Sequence[Any]]


class RankedGroup:
    """The first rows of one group after a batch: `rows` in their order, `changed` those with a new place."""

    __slots__ = ("changed", "rows")

    def __init__(self) -> None:
        self.rows: list[Sequence[Any]] = []
        self.changed: list[Sequence[Any]] = []


class RowRanking:
    """Ranks rows of one schema. Plain rows have the columns of the schema, and then their place."""

    def __init__(
        self,
        engine: SqlEngine,
        ordering: Ordering,
        schema: pa.Schema,
        *,
        n: int,
        ties: bool = False,
        also_by: Sequence[str] = (),
    ) -> None:
        """Take the columns of all rows, which end in the hidden event time; group by further ones of them `also_by`.

        With `ties`, rows that are equal to the n-th in the order are kept, too.
        """
        self._engine = engine
        self.by = [*(column.name for column in ordering.by_columns), *also_by]
        self._kept_schema = schema.append(_BEFORE)
        self.schema = schema.append(pa.field(PLACE, pa.int64()))
        """The schema of ranked rows."""
        alike = ", ".join(
            f"{column.sql} AS {quoted(column.name)}"
            for column in ordering.by_columns
            if column.sql != quoted(column.name)
        )
        star = f"* REPLACE ({alike})" if alike else "*"
        groups = f"PARTITION BY {', '.join(map(quoted, self.by))}" if self.by else ""
        order = f"rank() OVER ({groups} ORDER BY {ordering.order_sql})"
        if not ties:
            order = f"row_number() OVER ({groups} ORDER BY {ordering.total_order_sql})"
        time = quoted(EVENT_TIME_COLUMN)
        newest = f"max({time}) FILTER ({quoted(_BEFORE.name)} IS NULL) OVER ({groups})"
        columns = ", ".join(f"{column.sql} AS {quoted(column.name)}" for column in ordering.by_columns)
        self._latest_sql = f"SELECT {columns}, max({time}) AS {quoted(_LATEST)} FROM rows GROUP BY ALL"
        self._first_sql = f"SELECT {star} FROM rows QUALIFY {order} <= {n}"
        self._rank_sql = (
            f"SELECT * REPLACE ({newest} AS {time}), {order} AS {quoted(PLACE)} FROM rows QUALIFY {order} <= {n} "
            f"ORDER BY {quoted(PLACE)}"
        )

    def first(self, rows: pa.Table) -> pa.Table:
        """Return those rows of a batch that are among the first of their group in it."""
        return self._engine.query(self._first_sql, rows=rows)

    def latest(self, rows: pa.Table) -> Mapping[bytes, int]:
        """Return the latest event time of each group in a batch, by its encoded columns."""
        groups = self._engine.query(self._latest_sql, rows=rows)
        return dict(zip(self.group_keys(groups), groups.column(_LATEST).to_pylist(), strict=True))

    def group_keys(self, rows: pa.Table) -> list[bytes]:
        """Return the encoded group of each row."""
        return (
            [encode_key(values) for values in to_plain_rows(rows.select(self.by).columns)]
            if self.by
            else ([encode_key([])] * len(rows))
        )

    def rank(self, rows: pa.Table, kept: Iterable[Rows | None]) -> Mapping[bytes, RankedGroup]:
        """Rank the rows of a batch with those kept of each of their groups; the event time of all is the newest's.

        Returns:
            The groups of the rows, by their encoded columns.
        """
        before = to_arrow_table([row for group in kept for row in group or ()], self._kept_schema)
        new = rows.append_column(_BEFORE, pa.nulls(len(rows), _BEFORE.type)).cast(self._kept_schema)
        ranked = self._engine.query(self._rank_sql, rows=pa.concat_tables([new, before]))
        groups: dict[bytes, RankedGroup] = {}
        places = ranked.column(PLACE).to_pylist()
        unchanged = [old == now for old, now in zip(ranked.column(_BEFORE.name).to_pylist(), places, strict=True)]
        plain = to_plain_rows(ranked.drop_columns([_BEFORE.name]).columns)
        for key, row, same in zip(self.group_keys(ranked), plain, unchanged, strict=True):
            group = groups.setdefault(key, RankedGroup())
            group.rows.append(row)
            if not same:
                group.changed.append(row)
        return groups


def with_place(ranked: pa.Table, name: str | None) -> pa.Table:
    """Return ranked rows as an operator emits them: their place in a column of this name, or left out."""
    place, rows = ranked.column(PLACE), ranked.drop_columns([PLACE])
    if name is None:
        return rows
    return rows.add_column(rows.schema.get_field_index(EVENT_TIME_COLUMN), name, place.cast(pa.int32()))
