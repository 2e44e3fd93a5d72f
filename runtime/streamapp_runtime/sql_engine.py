"""Runs the SQL of checked expressions on Arrow batches, in memory, in one thread."""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache, wraps
from threading import Lock
from types import TracebackType
from typing import Self

import duckdb
import pyarrow as pa

from streamapp_core.expressions import DUCKDB_SETTINGS
from streamapp_core.expressions.kernels import KERNEL_PREFIX
from streamapp_core.expressions.typed_sql import duckdb_type
from streamapp_runtime.kernels import KERNEL_FUNCTIONS

_CONFIG: dict[str, str | bool | int] = {
    "threads": 1,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
_MAX_STATEMENTS = 256
"""Prepared queries in the cache; an app has a few per operator."""
_KERNELS = {kernel.sql_name: kernel for kernel in KERNEL_FUNCTIONS}
_KERNEL_NAMES = re.compile(rf"\b{KERNEL_PREFIX}\w+")


class SqlEngine:
    """An in-memory DuckDB that sees nothing but the batches it is given: no files, no network, no variables.

    A query stays prepared for the next batch of the same schema. Not for use by two threads at once: each thread needs
    its own. Engines of one process share a database, which is made when the first query needs it.
    """

    def __init__(self) -> None:
        self._statements: OrderedDict[tuple[object, ...], _Statement] = OrderedDict()

    def query(self, sql: str, **tables: pa.Table | pa.RecordBatch) -> pa.Table:
        """Run one query over tables by name; the order of rows is kept where the query has no grouping.

        Raises:
            duckdb.Error: The query is wrong; checked expressions have no errors that depend on data.
        """
        key = (sql, *((name, table.schema) for name, table in sorted(tables.items())))
        statement = self._statements.get(key)
        if statement is None:
            schemas = {name: table.schema for name, table in tables.items()}
            statement = self._statements[key] = _Statement(_database().connect_for(sql), sql, schemas)
            if len(self._statements) > _MAX_STATEMENTS:
                self._statements.popitem(last=False)[1].close()
        else:
            self._statements.move_to_end(key)
        return statement.run(tables)

    def close(self) -> None:
        """Release the memory; the engine can't be used any more."""
        for statement in self._statements.values():
            statement.close()
        self._statements.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Database:
    """The database of this process: it has no tables, only functions. To make one takes longer than most queries."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config=_CONFIG)
        for name, value in {**DUCKDB_SETTINGS, "lock_configuration": "true"}.items():
            self._connection.execute(f"SET GLOBAL {name} = '{value}'").complete()
        self._kernels: set[str] = set()
        self._turn = Lock()

    def connect_for(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Open a connection that knows the kernels which a query names."""
        with self._turn:
            for name in sorted({*_KERNEL_NAMES.findall(sql)} & _KERNELS.keys() - self._kernels):
                self._register(name)
            return self._connection.cursor()

    def _register(self, name: str) -> None:
        kernel = _KERNELS[name]
        parameters = None if kernel.parameters is None else [duckdb_type(one) for one in kernel.parameters]
        self._connection.create_function(
            name,
            _over_arrays(KERNEL_FUNCTIONS[kernel]),
            parameters,
            duckdb_type(kernel.result),
            type="arrow",
            null_handling="special",
        )
        self._kernels.add(name)


@cache
def _database() -> _Database:
    return _Database()


class _Statement:
    """One query over named sources, on a connection of its own: other queries may use the names for other schemas."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, sql: str, schemas: Mapping[str, pa.Schema]) -> None:
        self._connection = connection
        self._sources = {name: _Source(schema) for name, schema in schemas.items()}
        for name, source in self._sources.items():
            connection.register(name, source)
        self._relation = connection.sql(sql)

    def run(self, tables: Mapping[str, pa.Table | pa.RecordBatch]) -> pa.Table:
        for name, table in tables.items():
            self._sources[name].table = table if isinstance(table, pa.Table) else pa.Table.from_batches([table])
        try:
            return self._relation.to_arrow_table()
        finally:
            for source in self._sources.values():
                source.table = source.empty

    def close(self) -> None:
        self._connection.close()


def _over_arrays(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    """Call a kernel with arrays, where DuckDB gives chunked ones."""

    @wraps(function)  # DuckDB looks how many parameters there are
    def over_arrays(*columns: pa.ChunkedArray) -> pa.Array:
        return function(*(column.combine_chunks() for column in columns))

    return over_arrays


class _Source:
    """A table as DuckDB reads it: at each run of a query it asks again, and gets the table of that run."""

    def __init__(self, schema: pa.Schema) -> None:
        self.empty = schema.empty_table()
        self.table = self.empty

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)
