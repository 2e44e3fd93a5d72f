"""Windows that emit early: every value was right for a part of the rows, the last ones for all, and sums follow."""

import random
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from support import apps

ROWS, FILES, HOURS, KEYS = 12_000, 3, 6, 5


def app(every, processors, window):
    csv = {"system": "files", "format": "csv"}
    hourly = {**window, "by": ["k"], "select": "count(*) as n, sum(v) as total", "emit": {"every": every}}
    spec = {
        "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}},
        "defaultSystem": "log",
        "streams": {
            "in": {**csv, "schema": "k int, v int, at timestamp", "eventTime": {"column": "at"}},
            "hours": {**csv, "name": "out/hours"},
            "sums": {**csv, "name": "out/sums"},
        },
        "operators": [
            {"name": "by-k", "from": "in", "partitionBy": {"key": "k"}},
            {"name": "hourly", "from": "by-k", "window": hourly},
            {"name": "hours-out", "from": "hourly", "sendTo": "hours"},
            {"name": "sum", "from": "hourly", "aggregate": {"by": ["k"], "select": "sum(n) as n, sum(total) as total"}},
            {"name": "sums-out", "from": "sum", "sendTo": "sums"},
        ],
        "job": {"commitInterval": "10ms", "watermarkInterval": "1ms"},
        "processors": {"count": processors},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def write_rows(folder):
    """Write rows of a few hours, in the order of their times, to some files; return their keys, values and hours."""
    random_ = random.Random(3)
    rows = []
    (folder / "in").mkdir()
    for number in range(FILES):
        lines = ["k,v,at"]
        for place in range(ROWS // FILES):
            key, value, second = random_.randrange(KEYS), random_.randrange(9), place * HOURS * 3600 * FILES // ROWS
            lines.append(f"{key},{value},2024-05-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z")
            rows.append((key, value, second // 3600))
        (folder / "in" / f"{number}.csv").write_text("\n".join(lines) + "\n")
    return rows


@pytest.mark.parametrize(("processors", "every"), [(1, "0ms"), (2, "2ms")])
def test_every_early_value_is_right_for_some_rows_and_the_last_for_all(tmp_path, processors, every):
    rows = write_rows(tmp_path)
    apps.run(app(every, processors, {"tumbling": "1h"}), tmp_path)
    found = defaultdict(list)
    for key, start, _, n, total in apps.rows(tmp_path / "out/hours"):
        found[int(key), int(start[11:13])].append((int(n), int(total)))
    counts, totals = Counter((k, hour) for k, _, hour in rows), Counter()
    for key, value, hour in rows:
        totals[key, hour] += value
    assert {group: values[-1] for group, values in found.items()} == {g: (counts[g], totals[g]) for g in counts}
    assert sum(map(len, found.values())) > len(found)
    for values in found.values():
        assert all(n <= more and total <= greater for (n, total), (more, greater) in pairwise(values))
    sums = {}
    for op, key, n, total in ((row[-1], *row[:-1]) for row in apps.rows(tmp_path / "out/sums")):
        assert op == "u"
        assert int(n) >= sums.get(key, (0, 0))[0]
        sums[key] = int(n), int(total)
    expected = {
        str(k): (sum(k == key for key, *_ in rows), sum(v for key, v, _ in rows if k == key)) for k in range(KEYS)
    }
    assert sums == expected


def test_results_wait_for_their_time_and_only_what_has_changed_is_emitted(tmp_path):
    """Within a day nothing is due early; so what is written is what windows emit at their end."""
    rows = write_rows(tmp_path)
    apps.run(app("1d", 1, {"sliding": "2h", "every": "1h"}), tmp_path)
    written = apps.rows(tmp_path / "out/hours")
    groups = {(key, hour + later) for key, _, hour in rows for later in (0, 1)}
    assert len(written) == len({row[:3] for row in written}) == len(groups)
