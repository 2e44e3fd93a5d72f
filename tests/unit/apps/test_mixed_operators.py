"""Ordinary apps of several operators, in several tasks, against a query over all rows."""

from collections import Counter
from datetime import UTC, datetime

import duckdb
import pytest

from support import apps

COLUMNS = {
    "sold": "id int, k string, g string, d double, at timestamp",
    "paid": "pid int, pk string, pd double, at timestamp",
}
KEYS = ("a", "b", "B", "é", "x y", None)
DOUBLES = ("0.0", "-0.0", "nan", "1.5", None)
HOUR = 3_600


def second(n: int) -> int:
    """Rows come in the order of their times, some at the same, some at full hours."""
    return n * 555 // HOUR * HOUR if n % 5 == 0 else n * 555 // 7 * 7


SOLD = sorted(
    ((n, KEYS[n * 7 % 6], "pqr"[n % 3], DOUBLES[n * 3 % 5], second(n)) for n in range(50)), key=lambda row: row[-1]
)
PAID = sorted(((n, KEYS[n * 5 % 6], DOUBLES[n % 5], second(n) + 60) for n in range(45)), key=lambda row: row[-1])


def chain(*operators):
    return [{"name": name, "from": source, **config} for name, source, config in operators]


def joined(left, right, kind, within):
    return {"join": {"with": right[0], "on": {"left": left, "right": right[1]}, "type": kind, "within": within}}


def by(key):
    return {"partitionBy": {"key": key}}


SHUFFLED = (("s", "sold", by("k")), ("p0", "paid", {"map": "pid, pk, pd"}), ("p", "p0", by("pk")))
PLAIN = (("s0", "sold", {"map": "id, k, d"}), ("s", "s0", by("k")), *SHUFFLED[1:])
FULL = f"sold FULL JOIN paid ON k = pk AND abs(sold.t - paid.t) <= {HOUR}"


def sessions(by_, rows, gap):
    """Return the sessions of rows: key, beginning, end, number of rows."""
    far = f"CASE WHEN t - lag(t) OVER (PARTITION BY {by_} ORDER BY t) > {gap} THEN 1 ELSE 0 END AS far"
    numbered = f"SELECT *, sum(far) OVER (PARTITION BY {by_} ORDER BY t) AS n FROM (SELECT *, {far} FROM ({rows}))"
    return f"SELECT {by_}, min(t), max(t) + {gap}, count(*) FROM ({numbered}) GROUP BY {by_}, n"


CASES = {
    "streams of two splits, merged and counted by the hour": (
        chain(
            ("s", "sold", {"map": "id, k"}),
            ("p", "paid", {"map": "pid as id, pk as k"}),
            ("both", ["s", "p"], {"merge": {}}),
            ("again", "both", by("k")),
            ("n", "again", {"window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as n, max(id) as m"}}),
        ),
        f"""SELECT k, t // {HOUR} * {HOUR}, t // {HOUR} * {HOUR} + {HOUR}, count(*), max(id)
            FROM (SELECT id, k, t FROM sold UNION ALL SELECT pid, pk, t FROM paid) GROUP BY ALL""",
    ),
    "two columns that change their names, in sessions": (
        chain(
            ("s", "sold", by("k")),
            ("swapped", "s", {"map": "k as g, g as k"}),
            ("n", "swapped", {"window": {"session": "1h", "by": ["g", "k"], "select": "count(*) as n"}}),
        ),
        sessions("k, g", "SELECT * FROM sold", HOUR),
    ),
    "numbers that are equal and written in two ways, joined": (
        chain(
            ("s0", "sold", {"map": "id, d"}),
            ("s", "s0", by("d")),
            ("p0", "paid", {"map": "pid, pd"}),
            ("p", "p0", by("pd")),
            ("j", "s", joined("d", ("p", "pd"), "full", {"before": "30m", "after": "2h"})),
            ("plain", "j", {"map": "id, coalesce(cast(d + 0.0 as string), 'none') as d, pid"}),
        ),
        f"""SELECT id, CASE WHEN isnan(x) THEN 'NaN' ELSE coalesce(x::VARCHAR, 'none') END, pid
            FROM (SELECT id, coalesce(d, pd) + 0.0 AS x, pid
                  FROM sold FULL JOIN paid ON d = pd AND paid.t - sold.t BETWEEN -{HOUR} / 2 AND 2 * {HOUR})""",
    ),
    "rows without a partner, counted in windows": (
        chain(
            *PLAIN,
            ("j", "s", joined("k", ("p", "pk"), "full", "1h")),
            ("n", "j", {"window": {"tumbling": "2h", "by": ["k"], "select": "count(id) as i, count(pid) as p"}}),
        ),
        f"""SELECT coalesce(k, pk), greatest(sold.t, paid.t) // {2 * HOUR} * {2 * HOUR} AS w, w + {2 * HOUR}, count(id),
                   count(pid) FROM {FULL} GROUP BY ALL""",
    ),
    "windows of two streams, joined by when they begin": (
        chain(
            *SHUFFLED,
            ("sw", "s", {"window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as n"}}),
            ("sn", "sw", {"map": "k, window_start as begun, n"}),
            ("sb", "sn", by("begun")),
            ("pw", "p", {"window": {"tumbling": "1h", "by": ["pk"], "select": "count(*) as pn"}}),
            ("pn", "pw", {"map": "pk, window_start as begin, pn"}),
            ("pb", "pn", by("begin")),
            ("j", "sb", joined("begun", ("pb", "begin"), "full", "0ms")),
        ),
        f"""SELECT k, coalesce(a.w, b.w), a.n, pk, b.n
            FROM (SELECT k, t // {HOUR} * {HOUR} AS w, count(*) AS n FROM sold GROUP BY ALL) a
            FULL JOIN (SELECT pk, t // {HOUR} * {HOUR} AS w, count(*) AS n FROM paid GROUP BY ALL) b ON a.w = b.w""",
    ),
    "rows that every task has, regrouped, and again": (
        chain(
            ("b", "sold", {"broadcast": {}}),
            ("s", "b", by("k")),
            ("b2", "s", {"broadcast": {}}),
            ("g", "b2", by("g")),
            ("n", "g", {"window": {"sliding": "2h", "every": "1h", "by": ["g"], "select": "count(*) as n"}}),
            ("paid-sent", "paid", {"sendTo": "rest"}),
        ),
        f"""SELECT g, (t // {HOUR} - back) * {HOUR} AS w, w + {2 * HOUR}, count(*)
            FROM sold, (VALUES (0), (1)) AS b(back) GROUP BY ALL""",
    ),
}


@pytest.mark.parametrize("processors", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_many_tasks_find_what_a_query_over_all_rows_finds(tmp_path, case, processors):
    operators, sql = CASES[case]
    apps.write_stream(tmp_path, "sold", "id,k,g,d,at", *(lines(SOLD[n::3]) for n in range(3)))
    apps.write_stream(tmp_path, "paid", "pid,pk,pd,at", *(lines(PAID[n::2]) for n in range(2)))
    operators = [
        *operators,
        *chain(("sent", [o for o in operators if "sendTo" not in o][-1]["name"], {"sendTo": "out"})),
    ]
    used = {name: {"schema": COLUMNS[name]} for name in COLUMNS if any(name in o["from"] for o in operators)}
    outputs = {operator["sendTo"]: {} for operator in operators if "sendTo" in operator}
    job = {"commitInterval": "10ms" if processors > 1 else "1s", "intermediateStreamPartitions": 4}
    apps.run(apps.document(operators, processors=processors, job=job, **used, **outputs), tmp_path)
    found = Counter(tuple(map(plain, row)) for row in apps.rows(tmp_path / "out" / "out"))
    assert found == Counter(tuple(map(plain, row)) for row in expected(sql))


def lines(rows) -> list[str]:
    return [",".join("NULL" if value is None else str(value) for value in (*row[:-1], at(row[-1]))) for row in rows]


def at(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def plain(value) -> str:
    """Write a value as the query does: moments as seconds."""
    text = "" if value is None else str(value)
    return str(int(datetime.fromisoformat(text).timestamp())) if text.endswith("Z") else text


def expected(sql: str) -> list[tuple]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("CREATE TABLE sold (id INT, k TEXT, g TEXT, d DOUBLE, t BIGINT)")
        connection.execute("CREATE TABLE paid (pid INT, pk TEXT, pd DOUBLE, t BIGINT)")
        connection.executemany("INSERT INTO sold VALUES (?, ?, ?, ?, ?)", SOLD)
        connection.executemany("INSERT INTO paid VALUES (?, ?, ?, ?)", PAID)
        return connection.execute(sql).fetchall()
