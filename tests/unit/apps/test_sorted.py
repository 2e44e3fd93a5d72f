"""Rows that come out of order are written in the order of their event times, with all partitions and commits."""

import random
from collections import defaultdict

import pytest

from support import apps

FILES, ROWS, DISORDER = 3, 600, 60


@pytest.mark.parametrize(("processors", "commit_interval"), [(1, "1s"), (2, "10ms")])
def test_rows_of_a_key_are_written_in_the_order_of_their_times(tmp_path, processors, commit_interval):
    random_ = random.Random(5)
    rows = [(number % 4, number, place) for place in range(FILES) for number in range(place, ROWS, FILES)]
    (tmp_path / "in").mkdir()
    for place in range(FILES):
        mine = sorted((row for row in rows if row[2] == place), key=lambda row: row[1] + random_.randrange(DISORDER))
        lines = [f"{key},2024-05-01T00:{number // 60:02}:{number % 60:02}Z" for key, number, _ in mine]
        (tmp_path / "in" / f"{place}.csv").write_text("\n".join(["k,at", *lines]) + "\n")
    csv = {"system": "files", "format": "csv"}
    time = {"column": "at", "maxOutOfOrderness": f"{DISORDER}s"}
    spec = {
        "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}},
        "defaultSystem": "log",
        "streams": {"in": {**csv, "schema": "k int, at timestamp", "eventTime": time}, "out": csv},
        "operators": [
            {"name": "by-k", "from": "in", "partitionBy": {"key": "k"}},
            {"name": "in-order", "from": "by-k", "sorted": {}},
            {"name": "sent", "from": "in-order", "sendTo": "out"},
        ],
        "job": {"commitInterval": commit_interval, "watermarkInterval": "1ms"},
        "processors": {"count": processors},
    }
    app = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}
    assert apps.run(app, tmp_path).not_used == {}
    written = defaultdict(list)
    for key, at in apps.rows(tmp_path / "out"):
        written[key].append(at)
    assert sum(map(len, written.values())) == ROWS
    assert len(written) == 4
    assert all(times == sorted(set(times)) for times in written.values())
