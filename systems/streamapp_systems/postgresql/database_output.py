"""Writes rows to tables of PostgreSQL: staged with the app's commits, published by one statement a table."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql
from pyarrow import csv

from streamapp_core.spec.streams import CHANGE_COLUMN
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.postgresql.database import PostgresqlDatabase
from streamapp_systems.postgresql.database_table import FoundDatabaseTable, find_table, identifiers, table_name
from streamapp_systems.postgresql.database_types import longest_text
from streamapp_systems.postgresql.staging_table import (
    DELETED,
    PART,
    ROW,
    StagingLayout,
    create_staging,
    next_part,
    publication,
    read_layout,
    staged_part,
    staged_place,
    staging_layout,
)
from streamapp_systems.protocols import PartOwner, StagedPart, StreamDescriptor, StreamSystemError

_ROWS_AT_ONCE = 20_000
_CSV = csv.WriteOptions(include_header=False, quoting_style="all_valid")
"""Values in quotes, and nulls as nothing: PostgreSQL tells empty text and null apart by that."""
_KEPT = (
    "The rows are committed and wait in the staging table: change the table so that it takes them, and start the app "
    "again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    table: FoundDatabaseTable
    layout: StagingLayout


class DatabaseOutput:
    """Writes the rows of one writer to the tables of a database. Used by one thread; see `StagedOutput`."""

    publish_seconds = 0.0

    def __init__(self, database: PostgresqlDatabase, streams: Sequence[StreamDescriptor], owner: PartOwner) -> None:
        """Stage for these streams; their addresses are those of tables, their schemas are known."""
        self._database = database
        self._app = owner.app
        self._streams = {stream.name: stream for stream in streams}
        self._rows: dict[str, list[pa.Table]] = defaultdict(list)
        self._targets: dict[str, _Target] = {}
        self._opened: psycopg.Connection | None = None

    def write(self, stream: str, rows: pa.Table) -> None:
        """See `StagedOutput.write`: rows are kept in memory until they are staged.

        Raises:
            StreamSystemError: the rows have other columns than the stream, a null where the table takes none, or a
                text that is too long.
        """
        target, described = self._target(stream), self._streams[stream]
        assert described.schema is not None
        deleted: pa.ChunkedArray | pa.Array = pa.repeat(False, len(rows))
        if described.key and CHANGE_COLUMN in rows.column_names:
            deleted = pc.equal(rows.column(CHANGE_COLUMN), "d")
        schema = arrow_schema(described.schema)
        try:
            fitting = rows.select(schema.names).cast(schema)
        except (KeyError, ValueError, pa.ArrowException) as error:
            raise StreamSystemError(f"output {stream}: rows don't have the columns of the stream: {error}") from error
        self._check_nulls(stream, target.table, fitting, deleted)
        _check_lengths(stream, target.table, fitting)
        self._rows[stream].append(fitting.append_column(DELETED, deleted))

    def stage(self) -> tuple[StagedPart, ...]:
        """See `StagedOutput.stage`.

        Raises:
            StreamSystemError: the database does not take the rows; `Unavailable` if it does not answer.
        """
        staged = []
        for stream, tables in self._rows.items():
            layout = self._target(stream).layout
            with self._database.explained(f"output {stream} can't be staged in {self._schema}.{layout.name}"):
                connection = self._connection()
                with connection.transaction():
                    number = next_part(connection, self._schema)
                    self._copy(connection, layout, number, pa.concat_tables(tables))
            staged.append(staged_part(layout, number))
        self._rows.clear()
        return tuple(staged)

    def full(self, parts: Sequence[StagedPart]) -> Sequence[StagedPart]:
        """See `StagedOutput.full`: none waits."""
        return parts

    def publish(self, parts: Iterable[StagedPart]) -> None:
        """Move parts to their tables, those that are not there yet: one statement for each table.

        Raises:
            StreamSystemError: a table is gone or refuses a row; `Unavailable` if the database does not answer.
        """
        numbers: dict[str, list[int]] = defaultdict(list)
        streams: dict[str, str] = {}
        for part in parts:
            name, number = staged_place(part)
            numbers[name].append(number)
            streams[name] = part.stream
        for name, some in numbers.items():
            self._move(streams[name], name, some)

    def close(self) -> None:
        """See `StagedOutput.close`."""
        if self._opened is not None:
            self._opened.close()

    @property
    def _schema(self) -> str:
        return self._database.staging_schema

    def _move(self, stream: str, name: str, numbers: list[int]) -> None:
        with self._database.explained(f"output {stream} can't be published from {self._schema}.{name}", _KEPT):
            layout = read_layout(self._connection(), self._schema, name)
            if layout is None:
                raise StreamSystemError(
                    f"output {stream}: {self._schema}.{name} of {self._database.uri} is gone: someone removed it. The "
                    "rows in it are lost if they were not published; begin a new run to write them again"
                )
            self._connection().execute(publication(self._schema, layout, numbers))

    def _target(self, stream: str) -> _Target:
        """Find the table of an output as it is, and make its staging table, once."""
        if stream not in self._targets:
            described = self._streams[stream]
            with self._database.explained(f"output {stream} can't be staged in {self._schema}"):
                connection = self._connection()
                table = find_table(connection, table_name(described.address), described.key)
                if table is None or described.schema is None:
                    raise StreamSystemError(
                        f"output {stream}: table {described.address} of {self._database.uri} is gone: put it back, or "
                        "begin a new run to write its rows again"
                    )
                reasons = list(table.mismatches(arrow_schema(described.schema), ()))
                if reasons:
                    raise StreamSystemError(
                        f"output {stream}: rows can't be written to table {described.address} any more: "
                        f"{'; '.join(reasons)}"
                    )
                layout = staging_layout(self._app, stream, described.address, table, described.schema.names)
                create_staging(connection, self._schema, layout)
            self._targets[stream] = _Target(table=table, layout=layout)
        return self._targets[stream]

    def _connection(self) -> psycopg.Connection:
        if self._opened is None or self._opened.closed:
            self._opened = self._database.connect()
        return self._opened

    def _check_nulls(
        self, stream: str, table: FoundDatabaseTable, rows: pa.Table, deleted: pa.ChunkedArray | pa.Array
    ) -> None:
        """Find nulls that the table would refuse when the rows are committed already.

        Raises:
            StreamSystemError: there is one.
        """
        for name in rows.column_names:
            column = table.column(name)
            if column is None or not column.not_null or not rows.column(name).null_count:
                continue
            nulls = pc.is_null(rows.column(name))
            if name in table.key or pc.any(pc.and_not(nulls, deleted)).as_py():
                allow = f', or let it be null (ALTER TABLE {table.name} ALTER COLUMN "{name}" DROP NOT NULL)'
                raise StreamSystemError(
                    f"output {stream}: a row has no `{name}`, and the column of table {table.name} must not be null: "
                    f"`filter` such rows out, `coalesce` it in a `map`{'' if name in table.key else allow}"
                )

    def _copy(self, connection: psycopg.Connection, layout: StagingLayout, number: int, rows: pa.Table) -> None:
        statement = sql.SQL("COPY {} ({}, {}) FROM STDIN (FORMAT csv)").format(
            sql.Identifier(self._schema, layout.name), identifiers([PART, ROW, DELETED]), identifiers(layout.names)
        )
        place = 0
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            for batch in rows.to_batches(_ROWS_AT_ONCE):
                copy.write(_csv(batch.select(layout.names), batch.column(DELETED), number, place))
                place += batch.num_rows


def _check_lengths(stream: str, table: FoundDatabaseTable, rows: pa.Table) -> None:
    """Find texts that are too long for their columns: of those that end in spaces PostgreSQL cuts these off, silently.

    Raises:
        StreamSystemError: there is one.
    """
    for name in rows.column_names:
        column = table.column(name)
        longest = None if column is None else longest_text(column.type)
        if longest is None:
            continue
        found = pc.max(pc.utf8_length(rows.column(name))).as_py()
        if found is not None and found > longest:
            raise StreamSystemError(
                f"output {stream}: a row has {found} characters in `{name}`, and the column of table {table.name} "
                f"takes {longest}: `substr` it in a `map`, or make it longer (ALTER TABLE {table.name} ALTER COLUMN "
                f'"{name}" TYPE text)'
            )


def _csv(rows: pa.RecordBatch, deleted: pa.Array, number: int, place: int) -> bytes:
    """Return rows as lines of CSV, with the number of their part and their places in it, of which `place` is next."""
    parts = pa.repeat(pa.scalar(number, pa.int64()), rows.num_rows)
    places = pa.array(range(place, place + rows.num_rows), pa.int64())
    columns = [parts, places, deleted, *map(_written, rows.columns)]
    sink = BytesIO()
    csv.write_csv(pa.Table.from_arrays(columns, list(map(str, range(len(columns))))), sink, _CSV)
    return sink.getvalue()


def _written(column: pa.Array) -> pa.Array:
    """Return values as PostgreSQL reads them in texts: bytes in hexadecimal digits."""
    if not pa.types.is_binary(column.type):
        return column
    return pa.array([None if value is None else rf"\x{value.hex()}" for value in column.to_pylist()], pa.string())
