"""Filters, maps, flat maps and merges: rows in, rows out, without state."""

import pyarrow as pa

from streamapp_runtime.functions.scalar_function import ScalarFunctions
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.rows.projection import Projection
from streamapp_runtime.sql_engine import SqlEngine


class SqlOperator(BaseOperator):
    """Neighbouring row operators as one query: a query costs about a millisecond however few its rows are."""

    def __init__(self, engine: SqlEngine, sql: str) -> None:
        """Take a query over the table `rows`."""
        self._engine = engine
        self._sql = sql

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        result = self._engine.query(self._sql, rows=rows)
        return result if len(result) else None


class CallingQuery:
    """A query that calls users' scalar functions."""

    def __init__(self, query: SqlOperator, functions: ScalarFunctions) -> None:
        self._query = query
        self._functions = functions

    def __call__(self, rows: pa.Table) -> pa.Table | None:
        """Run the query over a batch of rows; None: no row is left.

        Raises:
            UserFunctionFailed: a function failed.
        """
        result = self._query.process(rows)
        self._functions.raise_failure()
        return result


class PlainSelect(BaseOperator):
    """A select list of plain columns."""

    def __init__(self, columns: Projection) -> None:
        self._columns = columns

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        return self._columns.apply(rows)


class Merge(BaseOperator):
    """All rows of several inputs, their columns in one order."""

    def __init__(self, columns: list[str]) -> None:
        self._columns = columns

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `Operator.process`."""
        return rows.select(self._columns)
