"""Tables of databases as outputs, by JDBC: a generation is moved into its table by the transaction that counts it.

Spark writes rows with several connections, each in a transaction of its own. So it writes them to a table of the
attempt, and one transaction of one connection moves them and notes the generation's number, if that is the next one. Of
attempts at the same time, also by a driver that was thought dead, one does.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere

from streamapp_core.plan.check_spark_outputs import JDBC
from streamapp_core.schema import Schema
from streamapp_runtime.driver.write_process import WriteTarget
from streamapp_runtime.spark.job_program import column_types
from streamapp_runtime.spark.written_columns import Found, found_name, refuse_mismatches
from streamapp_systems.protocols import StreamSystemError

_MARKS = "streamapp_generations"
_OURS = frozenset(
    [
        "url",
        "dbtable",
        "driver",
        "query",
        "preparequery",
        "partitioncolumn",
        "lowerbound",
        "upperbound",
        "numpartitions",
        "querytimeout",
        "batchsize",
        "fetchsize",
        "truncate",
        "cascadetruncate",
        "createtableoptions",
        "createtablecolumntypes",
        "customschema",
        "sessioninitstatement",
        "isolationlevel",
        "pushdownpredicate",
        "pushdownaggregate",
        "pushdownlimit",
        "pushdownoffset",
        "pushdowntablesample",
        "keytab",
        "principal",
        "refreshkrb5config",
        "connectionprovider",
        "prefertimestampntz",
        "hint",
    ]
)
"""Spark's own options; all others are properties of the connection."""


class JdbcWriter:
    """Writes the generations of one table."""

    def __init__(self, session: SparkSession, options: Mapping[str, str], target: WriteTarget) -> None:
        """Look at nothing yet."""
        self._session, self._options, self._target = session, options, target
        self._named = {name.lower(): value for name, value in options.items()}

    def judge(self, schema: Schema) -> None:
        """Check the columns of the table, which is made if there is none, and that it has the generations it should.

        Raises:
            StreamSystemError: rows would not fit, or the database is not the one that was written to.
        """
        try:
            found = self._columns()
        except (PySparkException, Py4JJavaError):
            none = (F.lit(None).cast(str(column.type)).alias(column.name) for column in schema.columns)
            self._append(self._session.range(0).select(*none), self._target.address)
            found = self._columns()
        refuse_mismatches(schema, found, self._target.address)
        with self._connection() as connection:
            self._mark(connection)

    def write(self, rows: DataFrame, number: int) -> None:
        """See `OutputWriter.write`.

        Raises:
            StreamSystemError: the table has no column any more, or the database is not the one that was written to.
        """
        with self._connection() as connection:
            if self._has(connection, number):
                return
            self._drop_attempts(connection)
            name = f"{self._attempts}{uuid.uuid4().hex[:8]}"
            try:
                self._append(rows, name)
                self._move(connection, rows.columns, name, number)
            finally:
                with suppress(Py4JJavaError):
                    connection.rollback()
                    _execute(connection, f"DROP TABLE {name}")
                    connection.commit()

    @property
    def _attempts(self) -> str:
        """The beginning of the names of the tables of attempts: at most 27 characters, which all databases take."""
        return f"streamapp_{self._target.chain[:8]}_"

    def _columns(self) -> Found:
        reader = self._session.read.format(JDBC).options(**self._options)
        found = reader.option("dbtable", self._target.address).option("preferTimestampNTZ", "true").load().schema
        return dict(column_types(found, found.names))

    def _append(self, rows: DataFrame, table: str) -> None:
        rows.write.format(JDBC).options(**self._options).option("dbtable", table).mode("append").save()

    def _move(self, connection: JavaObject, columns: list[str], attempt: str, number: int) -> None:
        found = self._columns()
        names = [(column, found_name(column, found)) for column in columns]
        missing = [f"`{column}`" for column, name in names if name is None]
        if missing:
            raise StreamSystemError(f"table {self._target.address} has no column {', '.join(missing)} any more")
        quoted = [self._quoted(name) for _, name in names if name is not None]
        staged = [self._quoted(column) for column in columns]
        noted = _execute(
            connection,
            f"UPDATE {_MARKS} SET generation = ? WHERE chain = ? AND generation = ?",
            number,
            self._target.chain,
            number - 1,
        )
        if noted != 1:
            connection.rollback()
            if self._has(connection, number):
                return
            raise StreamSystemError(f"generation {number} is not the next one of {_MARKS} any more")
        _execute(
            connection,
            f"INSERT INTO {self._target.address} ({', '.join(quoted)}) SELECT {', '.join(staged)} FROM {attempt}",
        )
        connection.commit()

    def _has(self, connection: JavaObject, number: int) -> bool:
        """Return whether the table has a generation; if not, it is the next one.

        Raises:
            StreamSystemError: it is not.
        """
        mark = self._mark(connection)
        if mark < number - 1:
            raise StreamSystemError(
                f"{_MARKS} of the database says that generation {mark} was the last one, and {number - 1} were "
                "written: it was restored from a backup, or is another one. Put back the rows that are missing and set "
                f"`generation` to {number - 1} where `chain` is {self._target.chain}, or begin a new run with another "
                "`path`"
            )
        return mark >= number

    def _mark(self, connection: JavaObject) -> int:
        """Return the number of the last generation that the table has.

        Raises:
            StreamSystemError: the database does not say, and should.
        """
        chain, written = self._target.chain, self._target.written
        try:
            mark = _query(connection, chain)
        except Py4JJavaError:
            connection.rollback()
            with suppress(Py4JJavaError):  # another job makes it at the same time
                columns = "chain VARCHAR(64) NOT NULL PRIMARY KEY, generation DECIMAL(18) NOT NULL"
                _execute(connection, f"CREATE TABLE {_MARKS} ({columns})")
                connection.commit()
            connection.rollback()
            mark = _query(connection, chain)
        if mark is None and not written:
            with suppress(Py4JJavaError):
                _execute(connection, f"INSERT INTO {_MARKS} (chain, generation) VALUES (?, ?)", chain, 0)
                connection.commit()
            connection.rollback()
            mark = _query(connection, chain)
        if mark is None:
            raise StreamSystemError(
                f"{_MARKS} of the database has no row of chain {chain}, of which {written} generations were written: "
                f"it is another database, or somebody removed the row. Put it back, with `generation` {written}, or "
                "begin a new run with another `path`"
            )
        connection.rollback()
        return mark

    def _drop_attempts(self, connection: JavaObject) -> None:
        """Drop the tables of attempts that died; one that is not dead fails then, and changes nothing."""
        for pattern in (self._attempts, self._attempts.upper()):
            tables = connection.getMetaData().getTables(None, None, f"{pattern}%", None)
            names = []
            while tables.next():
                names.append(str(tables.getString("TABLE_NAME")))
            tables.close()
            for name in names:
                with suppress(Py4JJavaError):
                    _execute(connection, f"DROP TABLE {name}")
                connection.commit()

    @contextmanager
    def _connection(self) -> Iterator[JavaObject]:
        """Connect by the driver that the options name, in a transaction of one connection."""
        jvm = self._session._jvm  # noqa: SLF001 - the one way to its JVM
        assert jvm is not None
        properties = jvm.java.util.Properties()
        for name, value in self._options.items():
            if name.lower() not in _OURS:
                properties.setProperty(name, value)
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        connection = loader.loadClass(self._named["driver"]).newInstance().connect(self._named["url"], properties)
        if connection is None:
            raise StreamSystemError(f"{self._named['driver']} is no driver of {self._named['url']}: correct `driver`")
        try:
            connection.setAutoCommit(False)
            yield connection
        finally:
            connection.close()

    def _quoted(self, name: str) -> str:
        """Return a name as the database writes it in statements."""
        jvm = self._session._jvm  # noqa: SLF001
        assert jvm is not None
        return str(jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(self._named["url"]).quoteIdentifier(name))


def _execute(connection: JavaObject, text: str, *values: str | int) -> int:
    """Execute a statement, and return how many rows it changed."""
    statement = connection.prepareStatement(text)
    try:
        for place, value in enumerate(values, 1):
            if isinstance(value, str):
                statement.setString(place, value)
            else:
                statement.setLong(place, value)
        return int(statement.executeUpdate())
    finally:
        statement.close()


def _query(connection: JavaObject, chain: str) -> int | None:
    """Return the number that is noted for a chain; None: none is."""
    statement = connection.prepareStatement(f"SELECT generation FROM {_MARKS} WHERE chain = ?")
    try:
        statement.setString(1, chain)
        found = statement.executeQuery()
        return int(found.getLong(1)) if found.next() else None
    finally:
        statement.close()
