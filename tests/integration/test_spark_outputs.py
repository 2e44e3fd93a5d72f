"""Outputs that only Spark writes: of what a driver has not noted before it died, nothing is there twice."""

import json
import signal
from collections import Counter
from pathlib import Path

import duckdb
import pytest
import yaml
from deltalake import DeltaTable
from pyarrow import orc
from tools.kafka.jars import default_cache, kafka_jars
from tools.machine import lacking

from streamapp_runtime.fail_points import VARIABLE, FailPoint, Moment
from support import apps, crashes
from support.machine import need

ROOT = Path(__file__).parents[2]
WRITER = """
import pathlib

def write(rows, chain, number):
    rows.write.mode("overwrite").parquet(str(pathlib.Path(__file__).parent / "by_function" / f"{chain}-{number}"))
"""
NESTED = '{"k": %d, "tags": ["a", null], "at": "2024-05-01T08:00:00.000001Z"}\n'


@pytest.fixture(autouse=True)
def _spark(tmp_path, monkeypatch):
    need(lacking()["integration"])
    jars = kafka_jars(default_cache(), ROOT / "tools" / "delta" / "pom.xml").glob("*.jar")
    (tmp_path / "spark-defaults.conf").write_text(f"spark.jars {','.join(map(str, jars))}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))


def lay_out(folder, **systems):
    """Write a bounded app that sends the same rows to a stream of each system."""
    document = apps.document([{"name": f"to-{name}", "from": "rows", "sendTo": name} for name in systems])
    document["spec"]["streams"] = {
        "rows": {"system": "files", "format": "json", "schema": "k bigint, tags array<string>, at timestamp"},
        **{name: {"system": name, "name": f"{folder}/{name}"} for name in systems},
    }
    document["spec"]["systems"] |= {
        name: {"spark": {"path": "staged", "commitEvery": "10s", **spark}} for name, spark in systems.items()
    }
    (folder / "rows").mkdir()
    (folder / "rows" / "1.json").write_text("".join(NESTED % key for key in range(1_000)))
    (folder / "app.yaml").write_text(yaml.safe_dump(document))


def end(folder, **environment):
    return crashes.end(crashes.start(folder, "--host", "in-process", **environment))


def test_a_generation_that_was_written_and_not_noted_is_there_once(tmp_path):
    (tmp_path / "writer.py").write_text(WRITER)
    lay_out(
        tmp_path,
        a={"format": "delta"},
        b={"format": "parquet", "write": "writer:write"},
        c={"format": "orc", "delivery": "atLeastOnce"},
    )
    for noted in (1, 2):  # what was written last is not noted
        died, output = end(tmp_path, **{VARIABLE: f"{FailPoint.OUTPUT_NOTE}:{Moment.BEFORE}:{noted}"})
        assert died == -signal.SIGKILL, output
    code, output = end(tmp_path)
    assert code == 0, output
    once = Counter(range(1_000))
    table = DeltaTable(tmp_path / "a").to_pyarrow_table()
    assert Counter(table.column("k").to_pylist()) == once
    assert table.slice(0, 1).to_pylist()[0]["tags"] == ["a", None]
    assert [kept["number"] for kept in _transactions(tmp_path / "a")] == [1]
    written = duckdb.sql(f"SELECT k, epoch_us(\"at\") FROM '{tmp_path}/by_function/*/*.parquet'").fetchall()
    assert Counter(key for key, _ in written) == once
    assert {moment for _, moment in written} == {1_714_550_400_000_001}
    parts = [orc.read_table(part).column("k").to_pylist() for part in (tmp_path / "c").glob("*.orc")]
    assert Counter(key for part in parts for key in part) == once


def _transactions(table):
    logs = (table / "_delta_log").glob("*.json")
    actions = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    return [{"number": action["txn"]["version"]} for action in actions if "txn" in action]
