"""Tables of a real PostgreSQL as outputs: what is staged is published once, and of a key the newest row stays."""

import itertools
import math
from contextlib import ExitStack, closing
from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import PostgresqlSystem
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.postgresql import DatabaseOutput, DatabaseTable, StagedRows, open_database
from streamapp_systems.protocols import PartOwner, StreamDescriptor, StreamSystemError, Unavailable
from streamapp_systems.secret_reader import LocalSecrets
from support.postgresql import PASSWORD, USER

SECRET = {"STREAMAPP_SECRET_SHOP_USERNAME": USER, "STREAMAPP_SECRET_SHOP_PASSWORD": PASSWORD}
NAMES = (f"many_{number}" for number in itertools.count())


class Tables:
    """The outputs of an app in a database."""

    def __init__(self, database, schema="k bigint, v string", key=(), address="t", password=PASSWORD):
        self.database = database
        secrets = LocalSecrets(SECRET | {"STREAMAPP_SECRET_SHOP_PASSWORD": password})
        self.opened = open_database(PostgresqlSystem(uri=database.uri, secretName="shop"), secrets)
        self.columns = arrow_schema(parse_schema(schema))
        self.stream = StreamDescriptor(
            name="out", system="shop", address=address, format=StreamFormat.JSON, schema=parse_schema(schema), key=key
        )
        self.table = DatabaseTable(self.opened, self.stream)

    def output(self, number=1):
        """Open the output of one incarnation."""
        return DatabaseOutput(self.opened, [self.stream], PartOwner(app="default.a", writer=f"1-{number}", opened=5))

    def rows(self, *rows, deletes=None):
        """Give rows, with a column that says which of them delete if there is one."""
        found = pa.Table.from_pylist([dict(zip(self.columns.names, row, strict=True)) for row in rows], self.columns)
        return found if deletes is None else found.append_column("__op", pa.array("d" if d else "u" for d in deletes))

    def write(self, *rows, deletes=None):
        """Write rows in a commit of their own."""
        with closing(self.output()) as output:
            output.write("out", self.rows(*rows, deletes=deletes))
            output.publish(output.stage())

    def found(self):
        """Give the rows of the table."""
        return sorted(self.database.query(f"SELECT * FROM {self.stream.address}"), key=repr)

    def problems(self):
        return list(self.table.load().mismatches(self.columns, ()))


def test_rows_of_events_are_inserted_in_their_order(database):
    tables = Tables(database)
    tables.table.create(tables.columns, ())
    database.query("ALTER TABLE t ADD COLUMN n serial")
    tables.write((1, "a"), (1, "a"), (2, None), (3, ""))
    tables.write((1, "b"))
    assert database.query("SELECT k, v FROM t ORDER BY n") == [(1, "a"), (1, "a"), (2, None), (3, ""), (1, "b")]
    assert database.staged() == 0


def test_of_a_key_the_newest_row_stays(database):
    tables = Tables(database, "a string, b int, v double", key=("a", "b"))
    tables.table.create(tables.columns, ())
    tables.write(("x", 1, 1.0), ("x", 1, 2.0), ("x", None, 1.0), (None, None, 1.0), ("y", 1, 1.0))
    tables.write(("x", None, 7.0), (None, None, 8.0), ("y", 1, None), ("z", 1, 1.0), deletes=[0, 0, 1, 0])
    assert tables.found() == [("x", 1, 2.0), ("x", None, 7.0), ("z", 1, 1.0), (None, None, 8.0)]
    tables.write(("x", None, None), (None, None, None), ("z", 1, None), ("z", 1, 5.0), deletes=[1, 1, 1, 0])
    assert tables.found() == [("x", 1, 2.0), ("z", 1, 5.0)]


def test_columns_of_the_key_alone_are_a_set(database):
    tables = Tables(database, "k bigint", key=("k",))
    tables.table.create(tables.columns, ())
    tables.write((1,), (2,), (1,))
    tables.write((1,), (3,), (2,), deletes=[0, 0, 1])
    assert tables.found() == [(1,), (3,)]


class Published:
    """A table through incarnations that die between staging and publication, and come back late."""

    def __init__(self, tables, handles):
        self.tables, self.handles = tables, handles
        self.expected, self.staged, self.zombies = {}, [], []

    def opened(self):
        """Open the output of the next incarnation, which publishes what the last one had staged."""
        output = self.handles.enter_context(closing(self.tables.output(len(self.zombies))))
        output.publish(self.staged)
        self.staged = []
        return output

    def commit(self, data):
        """Stage a commit of some rows, and perhaps publish it: else the next incarnation does."""
        output = self.opened()
        for _ in range(data.draw(st.integers(1, 3))):
            changes = data.draw(st.lists(st.tuples(st.integers(0, 3), st.none() | st.text("ab\"',\\\n"))))
            if changes:
                deletes = [value == "a" for _, value in changes]
                output.write("out", self.tables.rows(*changes, deletes=deletes))
            for key, value in changes:
                self.expected.pop(key, None)
                if value != "a":
                    self.expected[key] = value
            self.staged += output.stage()
            self.zombies.append((output, list(self.staged)))
            if not data.draw(st.booleans()):
                return
            output.publish(self.staged)
            self.staged = []

    def late(self, data):
        """Publish what an earlier incarnation had staged, when it is published already: it has no newer one's rows."""
        self.opened()
        zombie, parts = data.draw(st.sampled_from(self.zombies))
        zombie.publish(parts)


@settings(max_examples=20)
@given(data=st.data())
def test_each_key_has_its_newest_row_through_deaths_and_zombies(postgresql, data):
    database = postgresql.make_database(next(NAMES))
    tables = Tables(database, key=("k",))
    tables.table.create(tables.columns, ())
    with ExitStack() as handles:
        published = Published(tables, handles)
        for _ in range(data.draw(st.integers(1, 4))):
            published.commit(data)
            if data.draw(st.booleans()):
                published.late(data)
        published.opened()
    assert dict(tables.found()) == published.expected
    assert database.staged() == 0


def test_who_publishes_a_part_that_another_publishes_waits_for_him(database):
    tables = Tables(database, key=("k",))
    tables.table.create(tables.columns, ())
    with closing(tables.output(1)) as output, closing(tables.output(2)) as other:
        output.write("out", tables.rows((1, "a")))
        parts = output.stage()
        with psycopg.connect(database.uri, user=USER, password=PASSWORD) as slow:
            name = parts[0].staged.partition("/")[0]
            slow.execute(f'DELETE FROM streamapp."{name}"')
            other._connection().execute("SET lock_timeout = '100ms'")
            with pytest.raises(Unavailable, match="lock timeout"):
                other.publish(parts)
            slow.rollback()
        other.publish(parts)
        output.publish(parts)
    assert tables.found() == [(1, "a")]


VALUES = {
    "string": ["", "a,b\n\"c'\\", "\\N", "äöü😀", "NULL"],
    "boolean": [True, False],
    "tinyint": [-128, 127],
    "smallint": [-32_768, 32_767],
    "int": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), 2**63 - 1],
    "double": [0.1, -0.0, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan],
    "decimal(38,18)": [Decimal("99999999999999999999.999999999999999999"), Decimal("-0.000000000000000001")],
    "decimal(10,0)": [Decimal(-1)],
    "date": [date(1, 1, 1), date(9999, 12, 31)],
    "timestamp": [datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, 23, 59, 59, 999_999, tzinfo=UTC)],
    "timestamp_ntz": [datetime.fromisoformat("0001-01-01"), datetime.fromisoformat("9999-12-31T23:59:59.999999")],
    "binary": [b"", b"\x00\xff\\x"],
}


@pytest.mark.parametrize("type_", VALUES)
def test_values_come_back_as_they_are(database, type_):
    tables = Tables(database, f"n int, v {type_}")
    tables.table.create(tables.columns, ())
    values = [*VALUES[type_], None]
    tables.write(*enumerate(values))
    assert tables.problems() == []
    found = [value for _, value in database.query("SELECT n, v FROM t ORDER BY n")]
    if type_ == "timestamp":
        found = [value and value.astimezone(UTC) for value in found]
    assert list(map(repr, found)) == list(map(repr, values))


def test_a_float_comes_back_as_it_is(database):
    tables = Tables(database, "n int, v float")
    tables.table.create(tables.columns, ())
    numbers = pa.array([0.1, 3.4028234663852886e38, 1e-45, -math.inf], pa.float32())
    tables.write(*enumerate(numbers.to_pylist()))
    found = [value for _, value in database.query("SELECT n, v FROM t ORDER BY n")]
    assert pa.array(found, pa.float32()).equals(numbers)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ("k bigint", "has no column `v`: add it"),
        ("k int, v text", "column `k` is integer, and rows need bigint"),
        ("k numeric(18), v text", "column `k` is numeric"),
        ("k bigint, v varchar(3), w int NOT NULL", "column `w` must not be null, has no default, and is in no row"),
        ("k bigint, v text GENERATED ALWAYS AS ('x') STORED", "is made by the table itself"),
        ("k bigint GENERATED ALWAYS AS IDENTITY, v text", "is made by the table itself"),
        ("k bigint, v xml", "column `v` is xml, and rows need text"),
        ("k numeric(19), v json", None),
        ("k numeric, v jsonb, w int NOT NULL DEFAULT 1, x bigserial", None),
        ("k bigint PRIMARY KEY, v uuid", None),
    ],
)
def test_a_table_whose_columns_do_not_fit_is_refused(database, made, reason):
    tables = Tables(database)
    assert tables.table.load() is None
    database.query(f"CREATE TABLE t ({made})")
    problems = tables.problems()
    assert len(problems) == (reason is not None), problems
    assert reason is None or reason in problems[0]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ("k bigint, v text", "no primary key or unique index has just these columns"),
        ("k bigint, v text, UNIQUE (k, v)", "no primary key or unique index has just these columns"),
        ("k bigint, v text, UNIQUE (k) DEFERRABLE", "no primary key or unique index has just these columns"),
        ("k bigint, v text, UNIQUE (k)", "may be null, and then no row replaces another"),
        ("k bigint NOT NULL, v text, UNIQUE (k)", None),
        ("k bigint, v text, UNIQUE NULLS NOT DISTINCT (k)", None),
        ("k bigint PRIMARY KEY, v text", None),
    ],
)
def test_a_table_without_the_key_is_refused(database, made, reason):
    tables = Tables(database, key=("k",))
    database.query(f"CREATE TABLE t ({made})")
    problems = tables.problems()
    assert len(problems) == (reason is not None), problems
    assert reason is None or reason in problems[0]


_ANY_CASE = "CREATE COLLATION any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"


@pytest.mark.parametrize(
    ("made", "before"),
    [
        ("CREATE TABLE t (k text, v text)", "columns: "),
        (_ANY_CASE + "CREATE TABLE t (k text COLLATE any_case PRIMARY KEY, v text)", "collation: "),
        (_ANY_CASE + "CREATE TABLE t (k text, v text); CREATE UNIQUE INDEX ON t (k COLLATE any_case)", "columns: "),
        ("CREATE TABLE t (k text PRIMARY KEY)", "add it ("),
    ],
)
def test_a_repair_that_is_told_repairs(database, made, before):
    tables = Tables(database, "k string, v string", key=("k",))
    database.query(made)
    (problem,) = tables.problems()
    database.query(
        problem.partition(before)[2].partition(")")[0] if "(ALTER" in problem else problem.partition(before)[2]
    )
    assert tables.problems() == []


def test_columns_are_found_by_their_case(database):
    tables = Tables(database, "Id bigint, `50%` string", key=("Id",))
    database.query('CREATE TABLE t (id bigint PRIMARY KEY, "50%" text)')
    missing, *_ = tables.problems()
    assert "no column `Id` but `id`, and case counts" in missing
    database.query('ALTER TABLE t RENAME id TO "Id"')
    assert tables.problems() == []
    tables.write((1, "a"), (1, "b"))
    assert tables.found() == [(1, "b")]


def test_texts_keep_their_characters_in_a_database_of_another_encoding(postgresql):
    database = postgresql.make_database("latin", "ENCODING LATIN1 LOCALE 'C' TEMPLATE template0")
    tables = Tables(database, "k string", key=("k",))
    tables.table.create(tables.columns, ())
    tables.write(("ä",))
    assert database.query("SELECT k, length(k) FROM t") == [("ä", 1)]
    with closing(tables.output()) as output:
        output.write("out", tables.rows(("😀",)))
        with pytest.raises(StreamSystemError, match="no equivalent in encoding"):
            output.stage()


def test_a_view_is_no_table(database):
    database.query("CREATE VIEW t AS SELECT 1 AS k")
    with pytest.raises(StreamSystemError, match="is no table, but a view"):
        Tables(database).table.load()


def test_a_row_that_the_table_would_refuse_is_found_before_the_commit(database):
    database.query("CREATE TABLE t (k bigint PRIMARY KEY, v varchar(3) NOT NULL)")
    tables = Tables(database, key=("k",))
    for row, deletes in [((None, "a"), [0]), ((1, None), [0]), ((None, "a"), [1])]:
        with closing(tables.output()) as output, pytest.raises(StreamSystemError, match="must not be null"):
            output.write("out", tables.rows(row, deletes=deletes))
    too_long = pytest.raises(StreamSystemError, match=r"4 characters in `v`, and the column .* takes 3")
    with closing(tables.output()) as output, too_long:
        output.write("out", tables.rows((1, "abc ")))
    with closing(tables.output()) as output:
        output.write("out", tables.rows((1, "a\0")))
        with pytest.raises(StreamSystemError, match="0x00"):
            output.stage()
    assert database.staged() == 0
    tables.write((1, "abc"), (2, None), deletes=[0, 1])
    assert tables.found() == [(1, "abc")]


def test_rows_that_a_constraint_refuses_wait_until_it_is_gone(database):
    database.query("CREATE TABLE t (k bigint PRIMARY KEY, v text CHECK (v <> 'b'))")
    tables = Tables(database, key=("k",))
    with closing(tables.output()) as output:
        output.write("out", tables.rows((1, "a"), (2, "b")))
        parts = output.stage()
        with pytest.raises(StreamSystemError, match=r"violates check constraint.*start the app again"):
            output.publish(parts)
    assert (tables.found(), database.staged()) == ([], 2)
    database.query("ALTER TABLE t DROP CONSTRAINT t_v_check")
    with closing(tables.output(2)) as output:
        output.publish(parts)
    assert (tables.found(), database.staged()) == ([(1, "a"), (2, "b")], 0)


def test_parts_of_another_layout_are_published_as_they_were_staged(database):
    tables = Tables(database, key=("k",))
    tables.table.create(tables.columns, ())
    with closing(tables.output()) as output:
        output.write("out", tables.rows((1, "a")))
        parts = output.stage()
    edited = Tables(database, "k bigint, w int", key=("k",))
    database.query("ALTER TABLE t ADD COLUMN w int")
    with closing(edited.output(2)) as output:
        output.publish(parts)
    edited.write((1, 7))
    assert database.query("SELECT k, v, w FROM t") == [(1, "a", 7)]


def test_staged_rows_are_found_and_removed_by_their_app(database):
    tables = Tables(database)
    staged = StagedRows(database=tables.opened, app="default.a")
    assert staged.find(["out"]) == []
    tables.table.create(tables.columns, ())
    with closing(tables.output()) as output:
        output.write("out", tables.rows((1, "a")))
        parts = list(output.stage())
        assert staged.find(["out"]) == parts
        assert staged.find(["another"]) == StagedRows(database=tables.opened, app="default.b").find(["out"]) == []
        staged.remove(parts)
        staged.remove(parts)
        output.publish(parts)
    assert (tables.found(), staged.find(["out"])) == ([], [])


def test_a_staging_table_that_someone_removed_is_told(database):
    tables = Tables(database)
    tables.table.create(tables.columns, ())
    with closing(tables.output()) as output:
        output.write("out", tables.rows((1, "a")))
        parts = output.stage()
        database.query("DROP SCHEMA streamapp CASCADE")
        with pytest.raises(StreamSystemError, match=r"is gone: someone removed it.*begin a new run"):
            output.publish(parts)


def test_a_database_that_is_away_or_refuses_is_told(postgresql, database):
    tables = Tables(database)
    tables.table.create(tables.columns, ())
    with pytest.raises(StreamSystemError, match="authentication failed") as refused:
        Tables(database, password="wrong").table.load()
    assert not isinstance(refused.value, Unavailable)
    with closing(tables.output()) as output:
        output.write("out", tables.rows((1, "a")))
        postgresql.stop()
        try:
            with pytest.raises(Unavailable) as away:
                output.stage()
        finally:
            postgresql.start()
        assert not {PASSWORD, "wrong"} & {*str(away.value).split(), *str(refused.value).split()}
        output.publish(output.stage())
    assert tables.found() == [(1, "a")]


def test_a_connection_that_ends_between_staging_and_publication_is_made_again(database):
    tables = Tables(database)
    tables.table.create(tables.columns, ())
    with closing(tables.output()) as output:
        output.write("out", tables.rows((1, "a")))
        parts = output.stage()
        database.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'streamapp'")
        with pytest.raises(Unavailable):
            output.publish(parts)
        output.publish(parts)
    assert tables.found() == [(1, "a")]


def test_a_user_without_rights_is_told_which(database):
    tables = Tables(database)
    tables.table.create(tables.columns, ())
    database.query("CREATE ROLE reader LOGIN PASSWORD 'not-a-secret'; GRANT SELECT ON t TO reader")
    secrets = LocalSecrets(SECRET | {"STREAMAPP_SECRET_SHOP_USERNAME": "reader"})
    opened = open_database(PostgresqlSystem(uri=database.uri, secretName="shop"), secrets)
    refused = pytest.raises(StreamSystemError, match=r"permission denied for database .*has the rights")
    with closing(DatabaseOutput(opened, [tables.stream], PartOwner(app="a", writer="1", opened=5))) as output, refused:
        output.write("out", tables.rows((1, "a")))
    database.query("DROP OWNED BY reader; DROP ROLE reader")
