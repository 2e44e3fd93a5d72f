"""Runs the SQL of checked expressions on Arrow batches, in memory, in one thread."""

import atexit
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
from streamapp_core.expressions.user_functions import FUNCTION_PREFIX
from streamapp_runtime.kernels import KERNEL_FUNCTIONS
from streamapp_runtime.sql_function import SqlFunction

_CONFIG: dict[str, str | bool | int] = {
    "threads": 1,
    "async_threads": 0,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}
_MAX_STATEMENTS = 256
"""Prepared queries in the cache; an app has a few per operator."""
_FUNCTION_NAMES = re.compile(rf"\b(?:{KERNEL_PREFIX}|{FUNCTION_PREFIX})\w+")


_KERNELS = {
    kernel.sql_name: SqlFunction(parameters=kernel.parameters, result=kernel.result, call=call)
    for kernel, call in KERNEL_FUNCTIONS.items()
}


class SqlEngine:
    """An in-memory DuckDB that sees nothing but the batches it is given: no files, no network, no variables.

    A query stays prepared for the next batch of the same schema. Not for use by two threads at once: each thread needs
    its own. Engines of one process share a database, which is made when the first query needs it.
    """

    def __init__(self, functions: Mapping[str, SqlFunction] | None = None) -> None:
        """Take the functions, by their names in SQL, that queries of this engine alone call beside the kernels."""
        self._own = _Database({**_KERNELS, **functions}) if functions else None
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
            statement = self._statements[key] = _Statement(self._connect(sql), sql, schemas)
            if len(self._statements) > _MAX_STATEMENTS:
                self._statements.popitem(last=False)[1].close()
        else:
            self._statements.move_to_end(key)
        return statement.run(tables)

    def _connect(self, sql: str) -> duckdb.DuckDBPyConnection:
        return (self._own or _database()).connect_for(sql)

    def close(self) -> None:
        """Release the memory; the engine can't be used any more."""
        for statement in self._statements.values():
            statement.close()
        self._statements.clear()
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Database:
    """A database without tables, only with functions. To make one takes longer than most queries."""

    def __init__(self, functions: Mapping[str, SqlFunction]) -> None:
        self._connection = duckdb.connect(":memory:", config=_CONFIG)
        for name, value in {**DUCKDB_SETTINGS, "lock_configuration": "true"}.items():
            self._connection.execute(f"SET GLOBAL {name} = '{value}'").complete()
        self._functions = functions
        self._registered: set[str] = set()
        self._turn = Lock()

    def connect_for(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Open a connection that knows the functions which a query names."""
        with self._turn:
            for name in sorted({*_FUNCTION_NAMES.findall(sql)} & self._functions.keys() - self._registered):
                self._register(name)
            return self._connection.cursor()

    def _register(self, name: str) -> None:
        function = self._functions[name]
        parameters = None if function.parameters is None else [duckdb_type(one) for one in function.parameters]
        self._connection.create_function(
            name,
            _over_arrays(function.call),
            parameters,
            duckdb_type(function.result),
            type="arrow",
            null_handling="special",
        )
        self._registered.add(name)

    def close(self) -> None:
        self._connection.close()


@cache
def _database() -> _Database:
    database = _Database(_KERNELS)
    atexit.register(database.close)  # DuckDB tells of what is still open when the interpreter ends
    return database


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
            self._sources[name].set(table if isinstance(table, pa.Table) else pa.Table.from_batches([table]))
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
        self._nested = [place for place, field in enumerate(schema) if _holds_structs(field.type)]

    def set(self, table: pa.Table) -> None:
        """Take the table of a run. DuckDB refuses structs in structs that are a slice of others: these are copied."""
        for place in self._nested:
            column = table.column(place)
            if any(map(_sliced, column.chunks)):
                chunks = [pa.concat_arrays([chunk]) for chunk in column.chunks]
                table = table.set_column(place, table.field(place), pa.chunked_array(chunks, column.type))
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def _holds_structs(kind: pa.DataType) -> bool:
    parts = [kind.field(place).type for place in range(kind.num_fields)]
    return any(pa.types.is_struct(part) or _holds_structs(part) for part in parts)


def _sliced(array: pa.Array) -> bool:
    if pa.types.is_list(array.type):
        return _sliced(array.values)
    if not pa.types.is_struct(array.type):
        return False
    return array.offset > 0 or any(_sliced(array.field(place)) for place in range(array.type.num_fields))
