"""A table of PostgreSQL that an app writes: whether it is there, and whether the rows fit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg
import pyarrow as pa
from psycopg import sql

from streamapp_systems.postgresql.database import PostgresqlDatabase
from streamapp_systems.postgresql.database_types import made_type, takes
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError

_TABLE = """
SELECT c.oid, c.relkind IN ('r', 'p'), c.reltuples::bigint FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
"""
_COLUMNS = """
SELECT attname, pg_catalog.format_type(atttypid, atttypmod), attnotnull,
       atthasdef OR attidentity <> '' OR attgenerated <> '', attidentity = 'a' OR attgenerated <> '',
       EXISTS (SELECT FROM pg_catalog.pg_collation c WHERE c.oid = attcollation AND NOT c.collisdeterministic)
FROM pg_catalog.pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_UNIQUE = """
SELECT ARRAY(SELECT attname::text FROM pg_catalog.pg_attribute
             WHERE attrelid = indrelid AND attnum = ANY((indkey::smallint[])[0:indnkeyatts - 1])), indnullsnotdistinct
FROM pg_catalog.pg_index
WHERE indrelid = %s AND indisunique AND indimmediate AND indisvalid AND indpred IS NULL AND indexprs IS NULL
AND NOT EXISTS (SELECT FROM pg_catalog.pg_collation c WHERE c.oid = ANY(indcollation) AND NOT c.collisdeterministic)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column of a table: its type as PostgreSQL writes it, and what happens without a value.

    `filled`: it gets one by itself. `computed`: nobody can give one. `folded`: texts that differ may count as equal.
    """

    name: str
    type: str
    not_null: bool
    filled: bool
    computed: bool
    folded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueKey:
    """Columns whose values are together in one row only; `nulls_equal`: so are nulls."""

    columns: frozenset[str]
    nulls_equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDatabaseTable:
    """A table that is there; see `FoundTable`."""

    id: str
    name: str
    key: tuple[str, ...]
    columns: tuple[TableColumn, ...]
    unique: tuple[UniqueKey, ...]
    rows: int

    def column(self, name: str) -> TableColumn | None:
        """Return the column of a name; None: there is none."""
        return next((column for column in self.columns if column.name == name), None)

    def count_rows(self) -> int:
        """See `FoundTable.count_rows`."""
        return self.rows

    def mismatches(self, rows: pa.Schema, folder_columns: Sequence[str]) -> Iterator[str]:  # noqa: ARG002 - of files
        """See `FoundTable.mismatches`."""
        for column in rows:
            found = self.column(column.name)
            if found is None:
                yield self._missing(column)
            elif found.computed:
                yield f"its column `{column.name}` is made by the table itself: leave it out in a `map` before"
            elif not takes(found.type, column.type, key=column.name in self.key):
                yield (
                    f"its column `{column.name}` is {found.type}, and rows need {made_type(column.type)}: `cast` it in "
                    "a `map`, or change the table's column"
                )
        for missing in self.columns:
            if missing.name not in rows.names and missing.not_null and not missing.filled:
                yield (
                    f"its column `{missing.name}` must not be null, has no default, and is in no row: add it in a "
                    "`map`, or give it a default"
                )
        yield from self._key_mismatches()

    def _missing(self, column: pa.Field) -> str:
        alike = next((c.name for c in self.columns if c.name.lower() == column.name.lower()), None)
        if alike is not None:
            return (
                f"it has no column `{column.name}` but `{alike}`, and case counts: call it `{alike}` in a `map` before"
            )
        return (
            f'it has no column `{column.name}`: add it (ALTER TABLE {self.name} ADD COLUMN "{column.name}" '
            f"{made_type(column.type)}), or leave it out in a `map` before"
        )

    def _key_mismatches(self) -> Iterator[str]:
        unique = [found for found in self.unique if found.columns == frozenset(self.key)]
        listed = ", ".join(f'"{column}"' for column in self.key)
        folded = next((column for column in self.columns if column.name in self.key and column.folded), None)
        if folded is not None:
            yield (
                f"texts that differ are equal in its key column `{folded.name}`, by its collation: ALTER TABLE "
                f'{self.name} ALTER COLUMN "{folded.name}" TYPE {folded.type} COLLATE "C"'
            )
        elif self.key and not unique:
            yield (
                f"rows replace each other by {listed}, and no primary key or unique index has just these columns: "
                f"CREATE UNIQUE INDEX ON {self.name} ({listed}) NULLS NOT DISTINCT"
            )
        elif self.key and not any(found.nulls_equal for found in unique):
            free = [c.name for c in self.columns if c.name in self.key and not c.not_null]
            if free:
                yield (
                    f"its key column `{free[0]}` may be null, and then no row replaces another: ALTER TABLE "
                    f'{self.name} ALTER COLUMN "{free[0]}" SET NOT NULL, or make the index with NULLS NOT DISTINCT'
                )


class DatabaseTable:
    """A table that an app writes, whether it is there or not; see `WrittenTable`."""

    def __init__(self, database: PostgresqlDatabase, stream: StreamDescriptor) -> None:
        self._database = database
        self._name = table_name(stream.address)
        self._key = stream.key
        self._what = f"table {stream.address}"

    def load(self) -> FoundDatabaseTable | None:
        """See `WrittenTable.load`."""
        with self._database.connect() as connection, self._database.explained(f"{self._what} can't be read"):
            return find_table(connection, self._name, self._key)

    def create(self, columns: pa.Schema, partition_columns: Sequence[str]) -> FoundDatabaseTable:  # noqa: ARG002
        """See `WrittenTable.create`. Rows that replace each other get a unique key in which nulls are equal."""
        parts = [
            sql.SQL("{} {}").format(sql.Identifier(column.name), sql.SQL(made_type(column.type))) for column in columns
        ]
        if self._key:
            parts.append(sql.SQL("UNIQUE NULLS NOT DISTINCT ({})").format(identifiers(self._key)))
        statement = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({})").format(
            sql.Identifier(*self._name), sql.SQL(", ").join(parts)
        )
        with self._database.connect() as connection, self._database.explained(f"{self._what} can't be created"):
            connection.execute(statement)
            found = find_table(connection, self._name, self._key)
        if found is None:
            raise StreamSystemError(f"{self._what} was created and is gone again: someone removed it")
        return found


def find_table(
    connection: psycopg.Connection, name: tuple[str, str], key: tuple[str, ...]
) -> FoundDatabaseTable | None:
    """Return a table as it is now, of which rows replace each other by a key; None: there is none.

    Raises:
        psycopg.Error: the database does not say.
        StreamSystemError: there is a view or something else of this name.
    """
    found = connection.execute(_TABLE, name).fetchone()
    if found is None:
        return None
    oid, is_table, rows = found
    written = sql.Identifier(*name).as_string(connection)
    if not is_table:
        raise StreamSystemError(f"{written} is no table, but a view or another relation: name a table")
    columns = [
        TableColumn(name=column, type=type_, not_null=not_null, filled=filled, computed=computed, folded=folded)
        for column, type_, not_null, filled, computed, folded in connection.execute(_COLUMNS, [oid])
    ]
    unique = [
        UniqueKey(columns=frozenset(of), nulls_equal=nulls_equal)
        for of, nulls_equal in connection.execute(_UNIQUE, [oid])
    ]
    if rows < 0:  # nobody has counted them yet
        counted = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(*name))).fetchone()
        rows = counted[0] if counted is not None else 0
    return FoundDatabaseTable(
        id=str(oid), name=written, key=key, columns=tuple(columns), unique=tuple(unique), rows=rows
    )


def table_name(address: str) -> tuple[str, str]:
    """Return the schema and the name of the table at an address."""
    schema, dot, name = address.partition(".")
    return (schema, name) if dot else ("public", schema)


def identifiers(names: Sequence[str]) -> sql.Composed:
    """Return names of columns as a list in a statement."""
    return sql.SQL(", ").join(map(sql.Identifier, names))
