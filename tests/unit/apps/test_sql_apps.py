"""Queries of `sql` operators find what DuckDB finds over all rows at once, whatever the partitions and commits are."""

import json
import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from support import apps
from support.random_queries import STREAMS, QueryMaker, RandomQuery

QUERIES = 12
START = datetime(2024, 5, 1, 9, tzinfo=UTC)


def rows_of(draw, names):
    """Draw the rows of a stream; each value may be null, but for the time."""
    for _ in range(draw.randint(5, 25)):
        values = [draw.choice([None, "a", "b", "B"]), *(draw.choice([None, -2, 0, 1, 2, 5]) for _ in names)]
        at = START + timedelta(milliseconds=draw.randint(0, 20_000))
        yield dict(zip(["k", *names, "at"], [*values, at.isoformat().replace("+00:00", "Z")], strict=True))


def write(folder, draw):
    """Write the rows of both streams into some files each."""
    for name, columns in (("left", ("g", "v")), ("right", ("h", "w"))):
        (folder / name).mkdir()
        files = draw.randint(1, 3)
        lines = [json.dumps(row) + "\n" for row in rows_of(draw, columns)]
        for number in range(files):
            (folder / name / f"{number}.json").write_text("".join(lines[number::files]))


def app_of(queries, draw):
    streams = {
        name: {"system": "files", "schema": schema, "eventTime": {"column": "at", "maxOutOfOrderness": "1m"}}
        for name, schema in STREAMS.items()
    }
    streams |= {f"out-{number}": {"system": "files", "name": f"out/{number}"} for number, _ in enumerate(queries)}
    steps = [{"name": f"q-{number}", "sql": query.spark} for number, query in enumerate(queries)]
    steps += [
        {"name": f"s-{number}", "from": f"q-{number}", "sendTo": f"out-{number}"} for number, _ in enumerate(queries)
    ]
    return {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "queries"},
        "spec": {
            "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": ".streamapp/log.db"}}},
            "defaultSystem": "log",
            "streams": streams,
            "operators": steps,
            "job": {"commitInterval": draw.choice(["20ms", "5s"]), "intermediateStreamPartitions": draw.randint(1, 3)},
            "processors": {"count": draw.randint(1, 2)},
        },
    }


def found(folder, query):
    """Read the rows of a query; of those with one key the last, unless it deletes the key."""
    rows = [json.loads(line) for part in apps.parts(folder) for line in part.read_text().splitlines()]
    if query.key is not None:
        rows = [
            row
            for row in {tuple(row[name] for name in query.key): row for row in rows}.values()
            if row.get("__op") != "d"
        ]
    return Counter(tuple(row[name] for name in query.columns) for row in rows)


def expected(database, query):
    names = ", ".join(query.columns)
    return Counter(database.execute(f"select {names} from ({query.duckdb})").fetchall())


@pytest.mark.parametrize("seed", range(8))
def test_random_queries_find_what_an_oracle_finds(tmp_path, seed):
    draw = random.Random(seed)
    write(tmp_path, draw)
    maker = QueryMaker(draw)
    assert_found([maker.query() for _ in range(QUERIES)], tmp_path, draw)


@pytest.mark.parametrize("seed", range(4))
def test_random_outer_joins_find_what_an_oracle_finds(tmp_path, seed):
    draw = random.Random(seed)
    write(tmp_path, draw)
    maker = QueryMaker(draw)
    assert_found([maker.outer_join() for _ in range(QUERIES)], tmp_path, draw)


@pytest.mark.parametrize("seed", range(2))
def test_left_joins_of_results_find_what_an_oracle_finds(tmp_path, seed):
    draw = random.Random(seed)
    write(tmp_path, draw)
    left = '(select k, count(*) as n, max(v) as most from "left" group by k) as a'
    right = '(select k, sum(w) as total, max(h) as most from "right" where h > 0 group by k) as b'
    both = f"from {left} left join {right} on a.k = b.k"
    cases = [
        (
            f"select a.k as s0, n as n0, b.k as s1, total as n1 {both}",
            {"s0": "s", "n0": "n", "s1": "s", "n1": "n"},
            "s0",
        ),
        (
            f"select a.k as s0, n as n0, total as n1 {both} and b.most = a.n and a.n > 1 where b.k is null or a.n > 2",
            {"s0": "s", "n0": "n", "n1": "n"},
            "s0",
        ),
        (
            f"select b.most as n0, count(*) as n1, sum(a.n) as n2 {both} and total > 0 group by b.most",
            {"n0": "n", "n1": "n", "n2": "n"},
            "n0",
        ),
    ]
    queries = [RandomQuery(query.replace('"', "`"), query, columns, (key,)) for query, columns, key in cases]
    assert_found(queries, tmp_path, draw)


def test_state_that_lives_longer_than_its_rows_changes_no_result(tmp_path):
    draw = random.Random(0)
    write(tmp_path, draw)
    places = 'row_number() over (partition by k order by v desc nulls first, g, "at") as n1'
    cases = [
        (
            'l.v as n0, r.w as n1 from "left" as l join "right" as r on l.k = r.k',
            ("l", "r"),
            {"n0": "n", "n1": "n"},
            None,
        ),
        (
            'k as s0, sum(v) as n0 from "left" as l group by k having sum(v) > 1',
            ("l",),
            {"s0": "s", "n0": "n"},
            ("s0",),
        ),
        ('distinct k as s0, v as n0 from "left" as l', ("l",), {"s0": "s", "n0": "n"}, None),
        (f'k as s0, v as n0, {places} from "left" as l', ("l",), {"s0": "s", "n0": "n", "n1": "n"}, ("s0", "n1")),
    ]
    queries = []
    for query, names, columns, key in cases:
        entries = ", ".join(f"'{name}' = '1h'" for name in names)
        texts = [f"select {query}", f"select /*+ STATE_TTL({entries}) */ {query}".replace('"', "`")]
        if "row_number" in query:
            texts = [f"select * from ({text}) where n1 <= 2" for text in texts]
        queries.append(RandomQuery(texts[1], texts[0], columns, key))
    assert_found(queries, tmp_path, draw)


NUMBERS = [
    ("cast(v as decimal(6,2)) + 0.25", "cast(w as decimal(8,3)) + 0.125"),
    ("v", "cast(w as decimal(4,1)) / 2"),
    ("cast(v as bigint) * 3000000000", "cast(w as decimal(12,2))"),
    ("cast(v as smallint)", "cast(w as bigint) * 3000000000"),
    ("cast(v as float) / 2", "cast(w as double) / 8"),
    ("cast(v as decimal(9,2)) + 0.25", "cast(w as double) / 8"),
]


def test_a_union_has_the_type_that_holds_the_numbers_of_all_branches(tmp_path):
    draw = random.Random(0)
    write(tmp_path, draw)
    queries = []
    for one, other in NUMBERS:
        union = f'select k as s0, {one} as n0 from "left" union all select upper(k), {other} from "right"'
        queries.append(RandomQuery(union.replace('"', "`"), union, {"s0": "s", "n0": "n"}))
        total = f"select s0, sum(n0) as n0, count(*) as n1 from ({union}) group by s0"
        queries.append(RandomQuery(total.replace('"', "`"), total, {"s0": "s", "n0": "n", "n1": "n"}, ("s0",)))
    assert_found(queries, tmp_path, draw)


def assert_found(queries, tmp_path, draw):
    summary = apps.run(app_of(queries, draw), tmp_path)
    assert summary.not_used == {}
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name, columns in STREAMS.items():
            types = {word.split()[0]: word.split()[1].replace("string", "varchar") for word in columns.split(", ")}
            database.execute(
                f"create table \"{name}\" as from read_json('{tmp_path / name}/*.json', columns = {types})"
            )
        differing = {
            query.spark: (rows - wanted, wanted - rows)
            for number, query in enumerate(queries)
            if (rows := found(tmp_path / "out" / str(number), query)) != (wanted := expected(database, query))
        }
    assert differing == {}
