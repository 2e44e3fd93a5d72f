"""Changes of a table, extracted from the rows that fill it: by expressions, or by a function of the user's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from streamapp_core.expressions import select_sql, table
from streamapp_core.plan.plan import PlannedTable
from streamapp_runtime.functions.extractor import KEY_COLUMN
from streamapp_runtime.functions.guarded_call import GuardedCall
from streamapp_runtime.rows.record_keys import joined_keys
from streamapp_runtime.rows.tombstones import DELETED_COLUMN
from streamapp_runtime.sql_engine import SqlEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChanges:
    """A key and the table's columns for each row, and which rows delete their key (None: none does).

    A key of several parts is one text (`joined_keys`).
    `failed` is the number of rows without a result.
    """

    keys: pa.ChunkedArray
    columns: Sequence[pa.ChunkedArray]
    deleted: pa.ChunkedArray | None
    failed: int = 0


ChangeExtractor = Callable[[pa.Table], TableChanges]
"""Extracts keys and columns from rows."""


class SqlChangeExtractor:
    """Extracts changes by a query `SELECT key, ... FROM rows`, whose first columns are the parts of the key."""

    def __init__(self, engine: SqlEngine, sql: str, parts: int) -> None:
        self._engine = engine
        self._sql = sql
        self._parts = parts

    def __call__(self, rows: pa.Table) -> TableChanges:
        """See `ChangeExtractor`."""
        deleted = rows.column(DELETED_COLUMN) if DELETED_COLUMN in rows.column_names else None
        result = self._engine.query(self._sql, rows=rows)
        keys = joined_keys(result.columns[: self._parts])
        return TableChanges(keys=keys, columns=result.columns[self._parts :], deleted=deleted)


class FunctionChangeExtractor:
    """Extracts changes by an extractor of the user's, which may fail on rows that are skipped then."""

    def __init__(self, function: GuardedCall, schema: pa.Schema) -> None:
        """Take the schema of the function's results: the key, the table's columns, and which rows delete."""
        self._function = function
        self._schema = schema

    def __call__(self, rows: pa.Table) -> TableChanges:
        """See `ChangeExtractor`."""
        before = self._function.failed
        result = self._function(rows)
        if result is None:
            result = self._schema.empty_table()
        return TableChanges(
            keys=result.column(KEY_COLUMN),
            columns=result.drop_columns([KEY_COLUMN, DELETED_COLUMN]).columns,
            deleted=result.column(DELETED_COLUMN),
            failed=self._function.failed - before,
        )


def change_sql(planned: PlannedTable) -> str:
    """Return the query over `rows` for the parts of the table's key, then its columns in the order of its schema."""
    key = [replace(part, name=f"__key{number}") for number, part in enumerate(planned.key)]
    if planned.value is None:
        return select_sql(key, table("rows"), planned.schema.names)
    return select_sql([*key, *planned.value.columns], table("rows"))
