"""Random small apps on random rows: one task on one processor finds what many tasks on several processors find."""

from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import apps
from support.split import halves

COLUMNS = ("id", "k", "g", "v", "at")
START = datetime(2024, 2, 28, 22, tzinfo=UTC)
KEYS = st.sampled_from(["", "a", "b", "ü", "long key"])

ROW = st.tuples(
    st.integers(0, 999),
    st.none() | KEYS,
    KEYS,
    st.none() | st.integers(-50, 50),
    st.none() | st.integers(-(3 * 3600), 3 * 3600),
)
TABLE_ROWS = st.dictionaries(KEYS, st.integers(0, 9), max_size=4)

STEPS = st.lists(
    st.sampled_from(
        [
            ("filter", {"filter": "v > 0 or v is null"}),
            ("map", {"map": "id, g as k, k as g, v * 2 as v, at"}),
            ("by", {"partitionBy": {"key": "k"}}),
            ("explode", {"flatMap": "id, k, explode(split(g, ' ')) as g, v, at"}),
            ("diamond", {"merge": {}}),
            ("join", {"joinTable": {"table": "sizes", "on": "k", "type": "left"}}),
            ("inner", {"joinTable": {"table": "sizes", "on": "g", "type": "inner"}}),
        ]
    ),
    max_size=4,
)
ENDS = st.sampled_from(["plain", "window", "windows of windows", "aggregate", "both"])


def app(steps, end, intermediate, processors):
    operators, source, joined = [], "rows", False

    def add(name, config):
        nonlocal source
        operators.append({"name": name, "from": source, **config})
        source = name

    for number, (kind, config) in enumerate(steps):
        if kind in ("join", "inner"):
            if joined:
                continue
            joined = True
        if kind in ("map", "explode"):
            joined = False
        if kind == "diamond":
            top = source
            add(f"left-{number}", {"filter": "v > 10"})
            source = top
            add(f"right-{number}", {"filter": "id < 500 or v is null"})
            source = [f"left-{number}", f"right-{number}", top]
        add(f"{kind}-{number}", config)
    if end != "plain":
        add("keyed", {"partitionBy": {"key": "k"}})
    keyed = source
    if end in ("aggregate", "both"):
        add("running", {"aggregate": {"by": ["k"], "select": "count(*) as n, sum(v) as s, min(v) as low, avg(v) as m"}})
        add("totals-out", {"sendTo": "totals"})
        source = keyed
    if end in ("window", "both", "windows of windows"):
        add("per-hour", {"window": {"tumbling": "1h", "by": ["k", "g"], "select": "count(*) as n, max(v) as top"}})
        add("hourly-out", {"sendTo": "hourly"})
        source = "per-hour"
    if end == "windows of windows":
        add("by-group", {"partitionBy": {"key": "g"}})
        add("per-day", {"window": {"tumbling": "1d", "by": ["g"], "select": "sum(n) as n, count(*) as hours"}})
        add("daily-out", {"sendTo": "daily"})
    if end == "plain":
        add("plain-out", {"sendTo": "plain"})
    used = {operator["sendTo"] for operator in operators if "sendTo" in operator}
    tables = any("joinTable" in operator for operator in operators)
    nulls = {"csv": {"nullValue": "NULL"}}  # else null and the empty text were one key to who reads the results
    schema = "id int, k string, g string, v int, at timestamp"
    time = {"column": "at", "maxOutOfOrderness": "1d"}
    rows = {"system": "files", "format": "csv", "schema": schema, "eventTime": time, **nulls}
    names = {"system": "files", "name": "names.csv", "format": "csv", "schema": "k string, size int", "broadcast": True}
    spec = {
        "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}},
        "defaultSystem": "log",
        "streams": {
            "rows": rows,
            **({"names": names | nulls} if tables else {}),
            **{name: {"system": "files", "name": f"out/{name}", "format": "csv", **nulls} for name in sorted(used)},
        },
        "tables": {"sizes": {"key": "k", "sideInputs": ["names"]}} if tables else {},
        "operators": operators,
        "job": {"intermediateStreamPartitions": intermediate, "commitInterval": "50ms", "watermarkInterval": "1ms"},
        "processors": {"count": processors},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def text(row):
    """Write a row as the file has it: nulls bare, texts quoted."""
    values = [*row[:4], None if row[4] is None else (START + timedelta(seconds=row[4])).isoformat()]
    forms = (f'"{value}"' if column in ("k", "g") else value for column, value in zip(COLUMNS, values, strict=True))
    return ",".join("NULL" if value is None else str(form) for value, form in zip(values, forms, strict=True))


def lay_out(folder, rows, names, files):
    (folder / "rows").mkdir(parents=True)
    for number in range(files):
        lines = [",".join(COLUMNS), *(text(row) for row in rows[number::files])]
        (folder / "rows" / f"{number}.csv").write_text("\n".join(lines) + "\n")
    lines = ["k,size", *(f'"{key}",{size}' for key, size in names.items())]
    (folder / "names.csv").write_text("\n".join(lines) + "\n")


def results(folder):
    found = {name: apps.row_counts(folder / "out" / name) for name in ("plain", "hourly", "daily")}
    return found, apps.last_per_key(folder / "out" / "totals", 1)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=STEPS,
    end=ENDS,
    rows=st.lists(ROW, max_size=40),
    names=TABLE_ROWS,
    files=st.integers(1, 4),
    intermediate=st.integers(2, 5),
    processors=st.integers(1, 3),
    split=st.booleans(),
)
def test_many_tasks_find_what_one_finds(
    tmp_path_factory, steps, end, rows, names, files, intermediate, processors, split
):
    """Also those of two apps with a stream between them."""
    one, many = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("many")
    lay_out(one, rows, names, 1)
    lay_out(many, rows, names, files)
    alone = apps.run(app(steps, end, 1, 1), one)
    document = app(steps, end, intermediate, processors)
    if split and end != "plain":
        together = run_halves(document, {"rows": files, "names": 1}, many)
    else:
        together = [apps.run(document, many)]
    assert results(many) == results(one)
    assert alone.not_used == {name: counts for summary in together for name, counts in summary.not_used.items()}
    assert all(stream.ended == stream.partitions for summary in together for stream in summary.streams)


def run_halves(document, counts, folder):
    """Run an app as two, the first one in a folder inside the other's."""
    first, second = halves(document, counts, "keyed")
    first["metadata"]["name"] = "first"
    first["spec"]["systems"] = {"files": {"file": {"path": ".."}}, "log": {"log": {"path": "../log.db"}}}
    (folder / "first").mkdir()
    return [apps.run(first, folder / "first"), apps.run(second, folder)]
