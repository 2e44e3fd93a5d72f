"""What `streamapp state` prints of stores: decoded rows of every kind of operator and of tables."""

import json

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from support import apps, log_messages
from unit.docs import pages

FUNCTION = """
class Counts:
    def process(self, rows, state):
        for key, day in set(zip(rows['k'].to_pylist(), rows['day'].to_pylist())):
            state.put((key, day), {"rows": (state.get((key, day)) or {"rows": 0})["rows"] + 1})
            state.set_timer((key, day), 1_714_521_690_000)
        return rows.slice(0, 0).select(["k", "__event_time"])
"""
ORDERS = [("a", 1, 1), ("a", 2, 2), ("b", 3, 3), ("a", 4, 10)]
"""Keys, numbers, and seconds: the last one is where the watermark is."""
OTHERS = [("a", 5, 1), ("b", 6, 4), ("a", 7, 9)]
PRICES = [("p", "x", 5), ("q", "x", 7), ("r", "y", 9), ("q", "y", 8)]
"""Keys, groups and prices, the later of which replace earlier ones."""


WITHOUT_TIMES = ("top", "fewer", "best", "moving", "ordered", "paired", "all-pairs", "versions")
"""Operators with rows of orders: some of their columns are left out here."""


def document():
    select, on = "count(*) as n", {"left": "k", "right": "j"}
    made = {
        "counted": {"aggregate": {"by": ["k"], "select": select}},
        "hourly": {"window": {"tumbling": "1h", "by": ["k"], "select": select}},
        "visits": {"window": {"session": "5s", "by": ["k"], "select": select}},
        "top": {"topN": {"by": ["k"], "orderBy": "n desc", "n": 2, "rank": "place"}},
        "fewer": {"topN": {"by": ["k"], "orderBy": "n", "n": 1, "ttl": "5s"}},
        "best": {"window": {"tumbling": "1h", "by": ["k"], "topN": {"orderBy": "n desc", "n": 1}}},
        "once": {"dedup": {"by": ["k", "day"]}},
        "latest": {"dedup": {"by": ["k"], "keep": "last"}},
        "near": {"dedup": {"by": ["k"], "within": "1m"}},
        "moving": {"over": {"by": ["k"], "rows": 2, "select": "sum(n) as s"}},
        "ordered": {"sorted": {}},
        "paired": {"join": {"with": "renamed", "on": on, "within": "1m"}},
        "all-pairs": {"join": {"with": "renamed", "on": on}},
        "versions": {"join": {"with": "renamed", "on": on, "asOf": True}},
        "function": {"process": {"function": "counts:Counts", "schema": "k string", "state": {"key": ["k", "day"]}}},
        "found": {"joinTable": {"table": "newest", "on": "k", "type": "left"}},
        "given": {"joinTable": {"table": "price", "on": "k", "type": "left"}},
    }
    of_prices = {
        "per-group": {"from": "by-group", "aggregate": {"by": ["g"], "select": "sum(price) as s"}},
        "dearest": {"from": "by-group", "topN": {"by": ["g"], "orderBy": "price desc", "n": 1}},
        "twice": {"from": "prices", "join": {"with": "doubled", "on": {"left": "p", "right": "q"}}},
    }
    steps = {name: {"from": "orders"} | step for name, step in made.items()} | of_prices
    operators = [
        {"name": "renamed", "from": "others", "map": "k as j, m"},
        {"name": "timeless", "from": "others", "map": "k, m"},
        {"name": "kept", "from": "timeless", "sendToTable": "newest"},
        {"name": "by-group", "from": "prices", "partitionBy": {"key": "g"}},
        {"name": "doubled", "from": "prices", "map": "p as q, price * 2 as double"},
        *({"name": name} | step for name, step in steps.items()),
        *({"name": f"{name}-sent", "from": name, "sendTo": f"{name}-rows"} for name in steps),
    ]
    timed = {"system": "log", "format": "json", "key": "k", "eventTime": {"column": "at"}}
    prices = {
        "system": "log",
        "format": "json",
        "schema": "p string, g string, price decimal(10,2)",
        "key": "p",
        "changes": "upsert",
    }
    made = apps.document(
        operators,
        tables={
            "newest": {"key": "k", "schema": "k string, m int"},
            "price": {"key": "p", "sideInputs": ["price-changes"], "persistent": True},
        },
        job={"intermediateStreamPartitions": 1},
        orders=timed | {"schema": "k string, n int, day date, at timestamp"},
        others=timed | {"schema": "k string, m int, at timestamp"},
        prices=prices,
        **{"price-changes": prices | {"name": "prices"}},
        **{f"{name}-rows": {} for name in steps},
    )
    made["spec"]["pyFiles"] = ["counts.py"]
    return made


def send(folder, stream, rows, epoch=1):
    """Write rows with their keys, the values of their first columns."""
    records = [log_messages.LogRecord(json.dumps(row).encode(), str(next(iter(row.values()))).encode()) for row in rows]
    log_messages.write(folder, stream, 1, records, epoch=epoch)


def at(second):
    return f"2024-05-01T00:00:{second:02d}.000Z"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Run the app until it has read everything, and stop it."""
    folder = tmp_path_factory.mktemp("state")
    orders = [{"k": k, "n": n, "day": "2024-05-01", "at": at(second)} for k, n, second in ORDERS]
    send(folder, "orders", orders)
    send(folder, "others", [{"k": k, "m": m, "at": at(second)} for k, m, second in OTHERS])
    send(folder, "prices", [dict(zip(("p", "g", "price"), row, strict=True)) for row in PRICES])
    (folder / "counts.py").write_text(FUNCTION)
    (folder / "app.yaml").write_text(json.dumps(document()))

    def read_all():
        behind = CliRunner().invoke(app, ["lag", str(folder / "app.yaml")]).stdout
        return "app: 0 offsets behind" in behind

    apps.run_until(folder, document(), read_all)
    return folder


def state(folder, *arguments, code=0):
    result = CliRunner().invoke(app, ["state", str(folder / "app.yaml"), *arguments])
    assert result.exit_code == code, result.output
    return result.output


def rows(folder, *arguments):
    """Return kinds, times and rows."""
    lines = map(json.loads, state(folder, *arguments, "--output", "json").splitlines())
    return [(line["kind"], line.get("time"), line["row"]) for line in lines]


def values(found):
    """Return the values of rows alone, by kind."""
    kinds = dict.fromkeys(kind for kind, _, _ in found)
    return {kind: [tuple(row.values()) for one, _, row in found if one == kind] for kind in kinds}


PAGE = pages.read("state.md")
DAY, FIRST, LAST = "2024-05-01", "2024-05-01T00:00:00Z", "2024-05-01T01:00:00Z"
LEFT, RIGHT = [("a", 1), ("a", 2), ("a", 4), ("b", 3)], [("a", 5), ("a", 7), ("b", 6)]


@pytest.mark.parametrize(
    "name, expected",
    {
        "counted": {"groups": [("a", 3), ("b", 1)]},
        "hourly": {"open windows": [("a", FIRST, LAST, 3), ("b", FIRST, LAST, 1)]},
        "visits": {"open sessions": [("a", "2024-05-01T00:00:10Z", "2024-05-01T00:00:15Z", 1)]},
        "top": {"first rows": [("a", 4, 1), ("a", 2, 2), ("b", 3, 1)]},
        "fewer": {"first rows": [("a", 1)]},
        "best": {"first rows of open windows": [("a", 4, FIRST, LAST), ("b", 3, FIRST, LAST)]},
        "once": {"keys": [("a", DAY), ("b", DAY)]},
        "latest": {"keys": [("a",), ("b",)]},
        "near": {"keys": [("a",), ("b",)]},
        "moving": {"rows that wait": [("a", 4)], "rows of frames": [("a", 2), ("b", 3)]},
        "ordered": {"rows that wait": [("a", 4)]},
        "paired": {"left rows": LEFT, "right rows": RIGHT},
        "all-pairs": {"left rows": LEFT, "right rows": RIGHT},
        "versions": {"left rows": [("a", 4)], "right rows": [("a", 7)], "last versions": [("a", 5), ("b", 6)]},
        "function": {"values": [("a", DAY, {"rows": 1}), ("b", DAY, {"rows": 1})], "timers": [("a", DAY), ("b", DAY)]},
        "newest": {"rows": [("a", "a", 7), ("b", "b", 6)]},
        "price": {"rows": [("p", "p", "x", 5.0), ("q", "q", "y", 8.0), ("r", "r", "y", 9.0)]},
        "per-group": {"groups": [("x", 5.0), ("y", 17.0)]},
        "dearest": {"rows": [("p", "x", 5.0), ("q", "y", 8.0), ("r", "y", 9.0)]},
        "twice": {
            "left rows": [("p", "x", 5.0), ("q", "y", 8.0), ("r", "y", 9.0)],
            "right rows": [("p", 10.0), ("q", 16.0), ("r", 18.0)],
        },
        "by-group": {"places of keys": [("p", "x"), ("q", "y"), ("r", "y")]},
    }.items(),
)
def test_the_rows_of_each_kind_of_store(folder, name, expected):
    assert all(f"`{kind}`" in PAGE for kind in expected)
    without = {"day", "at"} if name in WITHOUT_TIMES else set()
    found = [
        (kind, time, {field: value for field, value in row.items() if field not in without})
        for kind, time, row in rows(folder, name)
    ]
    assert {kind: sorted(some, key=repr) for kind, some in values(found).items()} == {
        kind: sorted(some, key=repr) for kind, some in expected.items()
    }


def test_rows_are_found_by_their_keys_and_some_are_shown(folder):
    assert values(rows(folder, "paired", "b")) == {
        "left rows": [("b", 3, DAY, at(3)[:-5] + "Z")],
        "right rows": [("b", 6)],
    }
    assert rows(folder, "function", "a", DAY) == [
        ("values", None, {"k": "a", "day": DAY, "value": {"rows": 1}}),
        ("timers", "2024-05-01T00:01:30.000Z", {"k": "a", "day": DAY}),
    ]
    assert rows(folder, "moving", "a") == []
    assert len(rows(folder, "top", "--rows", "2")) == 2
    assert "top: the first 2 rows" in state(folder, "top", "--rows", "2")
    shown = state(folder, "function", "b", DAY)
    assert '{"rows":1}' in shown
    assert "function: 2 rows" in shown
    assert "counted: no rows" in state(folder, "counted", "c")
    assert "the key of function is k, day: give 2, not 1" in state(folder, "function", "a", code=1)
    assert "the key of function is k, day: a is no value of day" in state(folder, "function", DAY, "a", code=1)


def test_what_has_no_state_is_answered_with_what_has(folder, tmp_path):
    assert "renamed keeps no state; those with state are all-pairs, best, by-group" in state(folder, "renamed", code=1)
    assert "there is no operator or table count; did you mean `counted`?" in state(folder, "count", code=1)
    assert "there is no operator or table zzz; those" in state(folder, "zzz", code=1)
    assert "orders is a stream: `streamapp peek` shows its records" in state(folder, "orders", code=1)
    elsewhere = state(folder, "price", "--state-dir", str(tmp_path), code=1)
    assert "its store is where the app runs" in elsewhere
    assert "`streamapp peek` shows price-changes" in elsewhere
    (tmp_path / "app.yaml").write_text((folder / "app.yaml").read_text())
    assert "there is no run: system log has no job model in default.app._coordinator" in state(tmp_path, "top", code=1)
