"""Runs the SQL of checked expressions on Arrow batches, in memory, in one thread."""

from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from streamapp_core.expressions import DUCKDB_SETTINGS

_CONFIG: dict[str, str | bool | int] = {
    "threads": 1,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "preserve_insertion_order": True,
}


class SqlEngine:
    """One DuckDB connection that sees nothing but the batches it is given: no files, no network, no variables.

    Not for use by two threads at once; give each thread its own.
    """

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config=_CONFIG)
        for name, value in DUCKDB_SETTINGS.items():
            self._connection.execute(f"SET {name} = '{value}'").complete()
        self._connection.execute("SET lock_configuration = true").complete()

    def query(self, sql: str, **tables: pa.Table | pa.RecordBatch) -> pa.Table:
        """Run one query over tables by name; the order of rows is kept where the query has no grouping.

        Raises:
            duckdb.Error: The query is wrong; checked expressions have no errors that depend on data.
        """
        for name, table in tables.items():
            self._connection.register(name, table if isinstance(table, pa.Table) else pa.Table.from_batches([table]))
        try:
            return self._connection.sql(sql).to_arrow_table()
        finally:
            for name in tables:
                self._connection.unregister(name)

    def close(self) -> None:
        """Free the connection; the engine can't be used any more."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
