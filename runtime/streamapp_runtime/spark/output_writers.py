"""The writers of outputs that only Spark writes: what each does with a generation that was perhaps written before."""

import importlib
from collections.abc import Callable, Mapping
from typing import Protocol

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from streamapp_core.plan.check_spark_outputs import DELTA, JDBC
from streamapp_core.schema import Schema
from streamapp_core.spec.job import Delivery
from streamapp_core.spec.spark_system import SparkSystem
from streamapp_runtime.driver.write_process import WriteTarget
from streamapp_runtime.spark.jdbc_writer import JdbcWriter
from streamapp_runtime.spark.job_program import column_types, read_login
from streamapp_runtime.spark.written_columns import refuse_mismatches
from streamapp_systems.protocols import StreamSystemError


class OutputWriter(Protocol):
    """Writes the generations of one place."""

    def judge(self, schema: Schema) -> None:
        """Check that rows of these columns can be written, as far as that is known before.

        Raises:
            StreamSystemError: they can't.
        """
        ...

    def write(self, rows: DataFrame, number: int) -> None:
        """Write the rows of a generation."""
        ...


def open_writer(session: SparkSession, system: SparkSystem, target: WriteTarget) -> OutputWriter:
    """Return what writes to a place.

    Raises:
        StreamSystemError: the login or a function is missing.
    """
    if system.write is not None:
        return FunctionWriter(system.write, target.chain)
    given = {name.lower() for name in system.options}
    login = {name: value for name, value in read_login(system).items() if name not in given}
    options = {**login, **system.options}
    if system.format == JDBC and system.delivery is Delivery.EXACTLY_ONCE:
        return JdbcWriter(session, options, target)
    if system.format == DELTA:
        return DeltaWriter(session, options, target)
    return AppendingWriter(system.format, options, target.address)


class AppendingWriter:
    """Appends the rows of a generation, also those that an attempt before has appended."""

    def __init__(self, form: str, options: Mapping[str, str], address: str) -> None:
        """Take the name of a format and its options."""
        self._format, self._options, self._address = form, options, address

    def judge(self, schema: Schema) -> None:
        """See `OutputWriter.judge`: the writer itself judges."""

    def write(self, rows: DataFrame, number: int) -> None:  # noqa: ARG002
        """See `OutputWriter.write`."""
        writer = rows.write.format(self._format).options(**self._options).mode("append")
        if self._format == JDBC:
            writer.option("dbtable", self._address).save()
        else:
            writer.save(self._address)


class DeltaWriter:
    """Appends a generation as a version that has its number: it is added once, whoever writes at the same time."""

    def __init__(self, session: SparkSession, options: Mapping[str, str], target: WriteTarget) -> None:
        """Look at nothing yet."""
        self._session, self._options, self._target = session, options, target

    def judge(self, schema: Schema) -> None:
        """Check the columns of the table, if there is one.

        Raises:
            StreamSystemError: rows would not fit.
        """
        try:
            found = self._session.read.format(DELTA).options(**self._options).load(self._target.address).schema
        except AnalysisException:
            return  # there is none, or the writer says why it can't be read
        refuse_mismatches(schema, dict(column_types(found, found.names)), self._target.address)

    def write(self, rows: DataFrame, number: int) -> None:
        """See `OutputWriter.write`."""
        marks = {"txnAppId": self._target.chain, "txnVersion": str(number)}
        rows.write.format(DELTA).options(**self._options, **marks).mode("append").save(self._target.address)


class FunctionWriter:
    """Calls a function with each generation, until it has returned."""

    def __init__(self, name: str, chain: str) -> None:
        """Import the function.

        Raises:
            StreamSystemError: it can't be.
        """
        module, _, attribute = name.partition(":")
        try:
            function = getattr(importlib.import_module(module), attribute, None)
        except Exception as error:
            raise StreamSystemError(f"{name} can't be imported: {type(error).__name__}: {error}") from error
        if not callable(function):
            raise StreamSystemError(f"module {module} has no function {attribute}")
        self._function: Callable[[DataFrame, str, int], object] = function
        self._chain = chain

    def judge(self, schema: Schema) -> None:
        """See `OutputWriter.judge`: the function itself judges."""

    def write(self, rows: DataFrame, number: int) -> None:
        """See `OutputWriter.write`."""
        self._function(rows, self._chain, number)
