"""Whole queries of checked expressions, as DuckDB SQL.

A source is the text after FROM: a quoted name, or a query in parentheses. Neighbouring steps are nested, so that a
batch goes through all of them in one query.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from streamapp_core.data_types import array_of
from streamapp_core.expressions.aggregate_select import Aggregation
from streamapp_core.expressions.growth import size
from streamapp_core.expressions.select import Condition, SelectColumn
from streamapp_core.expressions.typed_sql import Value, quoted

DUCKDB_SETTINGS = {
    "TimeZone": "UTC",
    "error_on_division_by_zero": "false",
    "ieee_floating_point_ops": "false",
    "disabled_optimizers": "common_subexpressions",
}
"""What the SQL of this package takes for granted: without them, x / 0 would be an error or infinity, and what fails and
stands twice would be taken out of the `TRY` that makes it null."""


def table(name: str) -> str:
    """Return the source that is a table."""
    return quoted(name)


def nested(query: str) -> str:
    """Return the source that is the result of a query."""
    return f"({query})"


def filter_sql(condition: Condition, source: str) -> str:
    """Write the query that keeps the rows for which a condition is true, with all their columns."""
    return f"SELECT * FROM {source} WHERE {condition.sql}"


def truth_sql(condition: Condition, source: str) -> str:
    """Write the query that says of each row whether a condition is true."""
    return f"SELECT coalesce({condition.sql}, false) FROM {source}"


def deletions_sql(condition: Condition, source: str, deleted: str, *, marked: bool) -> str:
    """Write the query that marks, in a column, the rows for which a condition is not true, with all their columns.

    If the source has this column, rows that are `marked` in it stay so.
    """
    fails = f"NOT coalesce({condition.sql}, false)"
    if marked:
        return f"SELECT * REPLACE (({quoted(deleted)} OR {fails}) AS {quoted(deleted)}) FROM {source}"
    return f"SELECT *, ({fails}) AS {quoted(deleted)} FROM {source}"


def select_sql(columns: Sequence[SelectColumn], source: str, passthrough: Iterable[str] = ()) -> str:
    """Write the query of a select list; columns of the source named in `passthrough` go along unchanged."""
    return f"SELECT {_items(columns, passthrough)} FROM {source}"


def lists_sql(columns: Sequence[SelectColumn], source: str, passthrough: Iterable[str] = ()) -> str:
    """Write the query of a select list with a generator that leaves its lists as they are: a row for each row."""
    return select_sql([replace(column, generated=False) for column in columns], source, passthrough)


def unnest_sql(columns: Sequence[SelectColumn], source: str, passthrough: Iterable[str] = ()) -> str:
    """Write the query that makes the rows of a generator out of the result of `lists_sql`."""
    return select_sql([replace(column, sql=quoted(column.name)) for column in columns], source, passthrough)


def growth_sql(columns: Sequence[SelectColumn], source: str) -> str:
    """Write the query that counts, for each row of the result of `lists_sql`, the characters and elements it makes.

    Every row that is made has the values beside the generator again.
    """
    lists = [Value(array_of(column.type), quoted(column.name)) for column in columns if column.generated]
    others = [Value(column.type, quoted(column.name)) for column in columns if not column.generated]
    row = " + ".join(["1", *(size(value) for value in others)])
    made = " + ".join([f"coalesce(len({lists[0].sql}), 0) * ({row})", *(size(value) for value in lists)])
    return f"SELECT CAST({made} AS DOUBLE) AS growth FROM {source}"


def partials_sql(aggregation: Aggregation, source: str, also_by: Sequence[str] = ()) -> str:
    """Write the query that reduces a batch to partial results: `by_columns`, `also_by`, `partials`.

    `also_by` are further columns of the source to group by, such as the start of a window.
    """
    groups = [column.sql for column in aggregation.by_columns] + [quoted(name) for name in also_by]
    items = [_items(aggregation.by_columns, also_by)] if groups else []
    items += [f"{partial.sql} AS {quoted(partial.name)}" for partial in aggregation.partials]
    return f"SELECT {', '.join(items)} FROM {source}{_group_by(groups)}"


def result_sql(aggregation: Aggregation, source: str, also_by: Sequence[str] = ()) -> str:
    """Write the query that computes results of merged rows: `by_columns`, `also_by`, then the select list."""
    groups = [quoted(column.name) for column in aggregation.by_columns] + [quoted(name) for name in also_by]
    items = [*groups, _items(aggregation.columns, ())]
    return f"SELECT {', '.join(items)} FROM {source}"


def _items(columns: Sequence[SelectColumn], passthrough: Iterable[str]) -> str:
    items = [
        f"{f'unnest({column.sql})' if column.generated else column.sql} AS {quoted(column.name)}" for column in columns
    ]
    return ", ".join(items + [quoted(name) for name in passthrough])


def _group_by(groups: Sequence[str]) -> str:
    return f" GROUP BY {', '.join(groups)}" if groups else ""
