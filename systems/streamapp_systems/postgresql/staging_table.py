"""Tables in which rows wait until the app's commit is certain, and the one statement that publishes them.

A staging table has the columns of one layout of an output, of the types that the written table has, so that a value
that fits in one fits in the other. A row of it has the number of its part, which is higher the later the part was
staged, whoever did. Published rows are gone from it: that they are there is the mark that they have to be published,
and the statement that removes them is the one that inserts them.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
import psycopg
from psycopg import sql

from streamapp_systems.postgresql.database import PostgresqlDatabase
from streamapp_systems.postgresql.database_table import FoundDatabaseTable, identifiers, table_name
from streamapp_systems.protocols import StagedPart

PART, ROW, DELETED = "streamapp.part", "streamapp.row", "streamapp.deleted"
"""The columns beside those of rows: the number of their part, their place in it, and whether they delete their key."""

_PARTS = "parts"
_NEVER = 2_147_483_647
"""Changed rows after which a table is analyzed: of the rows of one moment nothing follows for those of the next."""
_FIND = """
SELECT relname, pg_catalog.obj_description(oid, 'pg_class') FROM pg_catalog.pg_class
WHERE relnamespace = pg_catalog.to_regnamespace(%s) AND relkind = 'r'
"""
_COMMENT = "SELECT pg_catalog.obj_description(pg_catalog.to_regclass(%s), 'pg_class')"


class StagingLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The layout of a staging table, as its comment says: rows of an app's output for a table.

    `columns` have the types that the table had when the first row was staged. Rows replace each other by `key`.
    """

    app: str
    stream: str
    address: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the staging table: another one for each layout."""
        digest = hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]
        return f"{self.stream[:40]}-{digest}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.columns)


_LAYOUTS = msgspec.json.Decoder(StagingLayout)


def staging_layout(
    app: str, stream: str, address: str, table: FoundDatabaseTable, columns: Sequence[str]
) -> StagingLayout:
    """Return the layout of rows with these columns for a table as it is now."""
    types = {column.name: column.type for column in table.columns}
    return StagingLayout(
        app=app,
        stream=stream,
        address=address,
        columns=tuple((name, types[name]) for name in columns),
        key=table.key,
    )


def create_staging(connection: psycopg.Connection, schema: str, layout: StagingLayout) -> None:
    """Create what is missing of the staging table of a layout, once for all who do so at the same time.

    Raises:
        psycopg.Error: it can't be created.
    """
    staging, target = sql.Identifier(schema, layout.name), sql.Identifier(*table_name(layout.address))
    with connection.transaction():
        connection.execute("SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext(%s))", [f"streamapp {schema}"])
        if not _is_there(connection, "to_regnamespace", sql.Identifier(schema)):
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute(sql.SQL("CREATE SEQUENCE IF NOT EXISTS {}").format(sql.Identifier(schema, _PARTS)))
        if _is_there(connection, "to_regclass", staging):
            return
        beside = map(sql.Identifier, (PART, ROW, DELETED))
        connection.execute(
            sql.SQL(
                "CREATE TABLE {} WITH (autovacuum_analyze_threshold = {}) AS "
                "SELECT 0::bigint AS {}, 0::bigint AS {}, false AS {}, {} FROM {} WITH NO DATA"
            ).format(staging, _NEVER, *beside, identifiers(layout.names), target)
        )
        connection.execute(sql.SQL("CREATE INDEX ON {} ({})").format(staging, sql.Identifier(PART)))
        comment = sql.Literal(msgspec.json.encode(layout).decode())
        connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(staging, comment))


def next_part(connection: psycopg.Connection, schema: str) -> int:
    """Return a number for a part that is higher than those of all parts that were staged before.

    Raises:
        psycopg.Error: there is none.
    """
    name = sql.Identifier(schema, _PARTS).as_string(connection)
    found = connection.execute("SELECT pg_catalog.nextval(%s)", [name]).fetchone()
    assert found is not None
    return int(found[0])


def read_layout(connection: psycopg.Connection, schema: str, name: str) -> StagingLayout | None:
    """Return the layout of a staging table; None: it is not there.

    Raises:
        psycopg.Error: the database does not say.
    """
    found = connection.execute(_COMMENT, [sql.Identifier(schema, name).as_string(connection)]).fetchone()
    return None if found is None or found[0] is None else _LAYOUTS.decode(found[0])


def publication(schema: str, layout: StagingLayout, parts: Collection[int]) -> sql.Composed:
    """Return the statement that moves parts, by their numbers, to their table.

    Of a key only the newest row is written, or, if that deletes it, what the table has of it is deleted.
    """
    staging, target = sql.Identifier(schema, layout.name), sql.Identifier(*table_name(layout.address))
    columns, part, row = identifiers(layout.names), sql.Identifier(PART), sql.Identifier(ROW)
    # The numbers are no parameters, beside which a `%` in the name of a column would count as another one.
    taken = sql.SQL("WITH taken AS (DELETE FROM {} WHERE {} IN ({}) RETURNING *)").format(
        staging, part, sql.SQL(", ").join(map(sql.Literal, parts))
    )
    if not layout.key:
        return sql.SQL("{} INSERT INTO {} ({}) SELECT {} FROM taken ORDER BY {}, {}").format(
            taken, target, columns, columns, part, row
        )
    key, deleted = identifiers(layout.key), sql.Identifier(DELETED)
    pairs = [(sql.Identifier("t", name), sql.Identifier("n", name)) for name in layout.key]
    equal = sql.SQL(" AND ").join(sql.SQL("{} = {}").format(*pair) for pair in pairs)
    # Equality that takes nulls for equal finds no index: the table is read for it only if such a key is deleted.
    same = sql.SQL(" AND ").join(sql.SQL("{} IS NOT DISTINCT FROM {}").format(*pair) for pair in pairs)
    some_null = sql.SQL(" OR ").join(sql.SQL("{} IS NULL").format(found) for _, found in pairs)
    changed = [name for name in layout.names if name not in layout.key]
    updates = sql.SQL(", ").join(sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in changed)
    action = sql.SQL("DO UPDATE SET {}").format(updates) if changed else sql.SQL("DO NOTHING")
    return sql.SQL(
        "{taken}, newest AS (SELECT DISTINCT ON ({key}) * FROM taken ORDER BY {key}, {part} DESC, {row} DESC), "
        "gone AS (DELETE FROM {target} t USING newest n WHERE n.{deleted} AND {equal}), "
        "gone_nulls AS (DELETE FROM {target} t USING newest n WHERE n.{deleted} AND ({some_null}) AND {same} "
        "AND EXISTS (SELECT FROM newest n WHERE n.{deleted} AND ({some_null}))) "
        "INSERT INTO {target} ({columns}) SELECT {columns} FROM newest WHERE NOT {deleted} ON CONFLICT ({key}) {action}"
    ).format(
        taken=taken,
        key=key,
        part=part,
        row=row,
        target=target,
        deleted=deleted,
        equal=equal,
        same=same,
        some_null=some_null,
        columns=columns,
        action=action,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedRows:
    """The rows that an app has staged in a database and that nobody has published."""

    database: PostgresqlDatabase
    app: str

    def find(self, streams: Collection[str]) -> list[StagedPart]:
        """Return the parts of these outputs.

        Raises:
            StreamSystemError: the database can't be asked.
        """
        with self.database.connect() as connection, self.database.explained("staged rows can't be listed"):
            return [part for layout in self._layouts(connection, streams) for part in self._parts(connection, layout)]

    def remove(self, parts: Iterable[StagedPart]) -> None:
        """Remove parts, those that are there.

        Raises:
            StreamSystemError: the database does not do it.
        """
        with self.database.connect() as connection, self.database.explained("staged rows can't be removed"):
            for part in parts:
                name, number = staged_place(part)
                staging = sql.Identifier(self.database.staging_schema, name)
                statement = sql.SQL("DELETE FROM {} WHERE {} = %s").format(staging, sql.Identifier(PART))
                connection.execute(statement, [number])

    def _layouts(self, connection: psycopg.Connection, streams: Collection[str]) -> Iterator[StagingLayout]:
        for name, comment in connection.execute(_FIND, [self.database.staging_schema]).fetchall():
            layout = _layout(comment)
            if layout is not None and layout.name == name and layout.app == self.app and layout.stream in streams:
                yield layout

    def _parts(self, connection: psycopg.Connection, layout: StagingLayout) -> Iterator[StagedPart]:
        staging = sql.Identifier(self.database.staging_schema, layout.name)
        statement = sql.SQL("SELECT DISTINCT {0} FROM {1} ORDER BY {0}").format(sql.Identifier(PART), staging)
        for (number,) in connection.execute(statement).fetchall():
            yield staged_part(layout, number)


def staged_part(layout: StagingLayout, number: int) -> StagedPart:
    """Return a part of a staging table as checkpoints list it."""
    return StagedPart(stream=layout.stream, staged=f"{layout.name}/{number}", final=layout.address)


def staged_place(part: StagedPart) -> tuple[str, int]:
    """Return the staging table of a part, and its number there."""
    name, _, number = part.staged.rpartition("/")
    return name, int(number)


def _layout(comment: str | None) -> StagingLayout | None:
    try:
        return None if comment is None else _LAYOUTS.decode(comment)
    except msgspec.DecodeError:
        return None


def _is_there(connection: psycopg.Connection, function: str, name: sql.Identifier) -> bool:
    statement = sql.SQL("SELECT pg_catalog.{}(%s) IS NOT NULL").format(sql.Identifier(function))
    found = connection.execute(statement, [name.as_string(connection)]).fetchone()
    return found is not None and bool(found[0])
