"""An app runs without the native library, with the same results, and its log says so."""

import json
import logging

from streamapp_systems.native.library import native_library, without_native_library
from support import apps

APP = {
    "apiVersion": "streamapp.dev/v1alpha1",
    "kind": "StreamApp",
    "metadata": {"name": "counts"},
    "spec": {
        "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}},
        "defaultSystem": "log",
        "streams": {
            "in": {"system": "files", "name": "in.json", "format": "json", "schema": "k string, n bigint"},
            "out": {"system": "files", "format": "json", "changes": "final"},
        },
        "operators": [
            {"name": "by", "from": "in", "partitionBy": {"key": "k"}},
            {"name": "totals", "from": "by", "aggregate": {"by": ["k"], "select": "count(*) as c, sum(n) as s"}},
            {"name": "sent", "from": "totals", "sendTo": "out"},
        ],
    },
}
REASON = "runs slower without the native library: STREAMAPP_NATIVE is off"


def totals(folder):
    folder.mkdir()
    (folder / "in.json").write_text("".join(f'{{"k": "k{n % 7}", "n": {n}}}\n' for n in range(100)))
    apps.run(APP, folder)
    lines = [line for file in (folder / "out").glob("part-*.json") for line in file.read_text().splitlines()]
    return sorted((row["k"], row["c"], row["s"]) for row in map(json.loads, lines))


def test_results_are_the_same_without_the_library_and_the_log_says_why(tmp_path, caplog):
    assert native_library().functions is not None
    caplog.set_level(logging.INFO, "streamapp.processor")
    expected = [(f"k{k}", len(range(k, 100, 7)), sum(range(k, 100, 7))) for k in range(7)]
    assert totals(tmp_path / "with") == expected
    assert REASON not in caplog.text
    with without_native_library():
        assert totals(tmp_path / "without") == expected
    assert REASON in caplog.text
