"""Random graphs with joins, windows, shuffles and diamonds, stopped and started again: they find what DuckDB finds.

DuckDB has all rows at once and knows no tasks, watermarks or shuffles. Every run comes to its end, so the end of the
streams arrives everywhere; no row is late, so no watermark overtakes one; and none that is told goes back until the run
is stopped: what it told may not have been committed.
"""

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamapp_runtime.sql_engine import SqlEngine
from support import apps

START = datetime(2024, 2, 28, 22, tzinfo=UTC)
WITHIN = timedelta(hours=1)
HOUR = WITHIN // timedelta(milliseconds=1)
ROWS = {"schema": "id int, k string, g string, v int, at timestamp"}
OTHERS = {"schema": "key string, w int, at timestamp"}
BASE = "id, k, g, v"

KEYS = st.sampled_from(["a", "b", "ü", "long key"])
SECONDS = st.integers(-3 * 3600, 3 * 3600)
ROW = st.tuples(st.integers(0, 999), st.none() | KEYS, KEYS, st.none() | st.integers(-50, 50), SECONDS)
OTHER = st.tuples(st.none() | KEYS, st.integers(1, 9), SECONDS)

JOINS = [
    ("inner", "all"),
    ("left", "all"),
    ("inner", "keyed"),
    ("left", "keyed"),
    ("right", "keyed"),
    ("full", "keyed"),
]
STEPS = st.lists(st.sampled_from(["filter", "swap", "shuffle", "diamond", *JOINS]), max_size=4)
ENDS = {
    "tumbling": ({"window": {"tumbling": "1h"}}, f"SELECT *, t // {HOUR} * {HOUR} AS s, s + {HOUR} AS e FROM x"),
    "sliding": (
        {"window": {"sliding": "2h", "every": "1h"}},
        f"SELECT *, (t // {HOUR} - back) * {HOUR} AS s, s + {2 * HOUR} AS e FROM x, (VALUES (0), (1)) AS b(back)",
    ),
    "session": (
        {"window": {"session": "1h"}},
        f"""SELECT *, min(t) OVER (PARTITION BY k, n) AS s, max(t) OVER (PARTITION BY k, n) + {HOUR} AS e FROM
            (SELECT *, sum(far) OVER (PARTITION BY k ORDER BY t) AS n FROM
             (SELECT *, CASE WHEN t - lag(t) OVER (PARTITION BY k ORDER BY t) > {HOUR} THEN 1 ELSE 0 END AS far
              FROM x))""",
    ),
    "aggregate": ({"aggregate": {}}, "SELECT *, 0 AS s, 0 AS e FROM x"),
}
RESULTS = "count(*) as n, sum(v) as total, count(distinct id) as ids"
ENGINE = SqlEngine()


class Graph:
    """Operators, and beside them the query over the same rows: columns of `BASE` and the event time `t`."""

    def __init__(self, steps, end):
        self.operators, self.last = [], "rows"
        self._add("base", map=BASE)
        self.query = f"SELECT {BASE}, t FROM rows"
        for number, step in enumerate(steps):
            self._joined(number, *step) if isinstance(step, tuple) else getattr(self, f"_{step}")(number)
        self._add("last-keyed", partitionBy={"key": "k"})
        ((kind, config),) = ENDS[end][0].items()
        self._add("result", **{kind: {**config, "by": ["k"], "select": RESULTS}})
        self._add("sent", sendTo="out")
        bounds = "" if kind == "aggregate" else f"{_text('s')}, {_text('e')}, "
        windows = ENDS[end][1].replace("FROM x", f"FROM ({self.query})")
        self.query = f"SELECT k, {bounds}{RESULTS} FROM ({windows}) GROUP BY k, s, e"

    def _add(self, name, source=None, **config):
        self.operators.append({"name": name, "from": source or self.last, **config})
        self.last = name

    def _filter(self, number):
        self._add(f"filter-{number}", filter="v > 0 or v is null")
        self.query = f"SELECT * FROM ({self.query}) WHERE v > 0 OR v IS NULL"

    def _swap(self, number):
        self._add(f"swap-{number}", map="id, g as k, k as g, v")
        self.query = f"SELECT id, g AS k, k AS g, v, t FROM ({self.query})"

    def _shuffle(self, number):
        self._add(f"shuffle-{number}", partitionBy={"key": "g"})

    def _diamond(self, number):
        top = self.last
        self._add(f"left-{number}", top, filter="v > 10")
        self._add(f"right-{number}", top, partitionBy={"key": "k"})
        self._add(f"both-{number}", [f"left-{number}", f"right-{number}"], merge={})
        self.query = f"SELECT * FROM ({self.query}) WHERE v > 10 UNION ALL SELECT * FROM ({self.query})"

    def _joined(self, number, kind, spread):
        """Join with the other stream, keyed or as a whole, and put what it brings into the columns there are."""
        self._add(f"keyed-{number}", partitionBy={"key": "k"})
        top = self.last
        spreads = {"broadcast": {}} if spread == "all" else {"partitionBy": {"key": "key"}}
        self._add(f"others-{number}", "others", map="key, w")
        self._add(f"spread-{number}", **spreads)
        on = {"left": "k", "right": "key"}
        self._add(f"join-{number}", top, join={"with": self.last, "on": on, "type": kind, "within": "1h"})
        self._add(f"joined-{number}", map="id, k, g, coalesce(v, 0) + coalesce(w, 0) as v")
        self.query = f"""
            SELECT l.id, coalesce(l.k, r.key) AS k, l.g, coalesce(l.v, 0) + coalesce(r.w, 0) AS v,
                   greatest(l.t, r.t) AS t
            FROM ({self.query}) AS l {kind} JOIN others AS r ON l.k = r.key AND abs(l.t - r.t) <= {HOUR}"""


def _text(time):
    return f"strftime(make_timestamp({time} * 1000), '%Y-%m-%dT%H:%M:%SZ')"


def document(graph, intermediate, processors):
    job = {"intermediateStreamPartitions": intermediate}
    used = {"others": OTHERS} if any("join" in operator for operator in graph.operators) else {}
    return apps.document(graph.operators, job=job, processors=processors, rows=ROWS, out={}, **used)


def lay_out(folder, name, header, rows, files):
    """Write rows to files, each in the order of its event times: none is late."""
    ordered = sorted(rows, key=lambda row: row[-1])
    lines = [",".join("NULL" if value is None else str(value) for value in [*row[:-1], _at(row)]) for row in ordered]
    apps.write_stream(folder, name, header, *(lines[number::files] for number in range(files)))


def _at(row):
    return (START + timedelta(seconds=row[-1])).isoformat()


def table(names, rows):
    values = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    values[-1] = [int((START.timestamp() + seconds) * 1000) for seconds in values[-1]]
    texts = {"k", "g", "key"}
    kinds = [pa.string() if name in texts else pa.int64() for name in names]
    return pa.table([pa.array(column, kind) for column, kind in zip(values, kinds, strict=True)], names=names)


def run(app, folder, stops, told):
    """Run an app to its end, though some of its starts are stopped after so many looks; `told` gets what each saw."""
    for looks in stops:
        told.append([])
        with suppress(apps.Stop):
            apps.run(app, folder, fresh=False, listener=stopping(looks, told[-1]))
    told.append([])
    return apps.run(app, folder, fresh=False, listener=told[-1].append)


def stopping(looks, told):
    left = iter(range(looks - 1))

    def listener(summary):
        told.append(summary)
        if next(left, None) is None:
            raise apps.Stop

    return listener


def never_back(summaries):
    """Tell whether no watermark that was told is lower than one before it."""
    known = {}
    for summary in summaries:
        for stream in summary.streams:
            if stream.watermark is not None:
                if stream.watermark < known.get(stream.name, stream.watermark):
                    return False
                known[stream.name] = stream.watermark
    return True


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(
    steps=STEPS,
    end=st.sampled_from(sorted(ENDS)),
    rows=st.lists(ROW, min_size=1, max_size=40),
    others=st.lists(OTHER, min_size=1, max_size=20),
    files=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    intermediate=st.integers(1, 4),
    processors=st.integers(1, 3),
    stops=st.lists(st.integers(1, 3), max_size=2),
)
def test_many_tasks_find_what_is_in_all_rows(
    tmp_path_factory, steps, end, rows, others, files, intermediate, processors, stops
):
    folder, graph, told = tmp_path_factory.mktemp("app"), Graph(steps, end), []
    lay_out(folder, "rows", "id,k,g,v,at", rows, files[0])
    lay_out(folder, "others", "key,w,at", others, files[1])
    summary = run(document(graph, intermediate, processors), folder, stops, told)

    sources = {"rows": table(["id", "k", "g", "v", "t"], rows), "others": table(["key", "w", "t"], others)}
    expected = ENGINE.query(graph.query, **{name: rows for name, rows in sources.items() if name in graph.query})
    found = apps.rows(folder / "out" / "out")
    if end == "aggregate":
        found = apps.last_per_key(folder / "out" / "out", 1).values()
    texts = (tuple("" if value is None else str(value) for value in row.values()) for row in expected.to_pylist())
    assert Counter(found) == Counter(texts)
    assert not any("late" in counts for counts in summary.not_used.values())
    assert all(stream.ended == stream.partitions for stream in summary.streams)
    assert all(map(never_back, told))
