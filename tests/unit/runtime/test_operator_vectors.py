"""The window vectors whose operators exist here, on values: one operator, given batches and watermarks."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import parse_schema
from streamapp_core.spec.base import parse_duration
from streamapp_core.spec.operators import TableJoinType
from streamapp_runtime.operators.aggregate import Aggregate
from streamapp_runtime.operators.join_table import JoinTable
from streamapp_runtime.operators.window import TumblingWindow
from streamapp_runtime.rows.event_time import stamp, without_event_time
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.tables.table import Table
from streamapp_systems.arrow_types import arrow_schema

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KINDS = {"window": "tumbling", "aggregate": "by", "joinTable": "on"}


def vectors():
    for vector in json.loads((Path(__file__).parents[2] / "vectors" / "windows.json").read_text()):
        ((kind, config),) = vector["operator"].items()
        if KINDS.get(kind) in config:
            yield pytest.param(vector, id=vector["name"])


class Bench:
    """One operator with its state, which outlives a restart."""

    def __init__(self, vector, folder):
        self.vector = vector
        self.folder = folder
        self.engine = SqlEngine()
        self.late = 0
        self.watermark = None
        self.open()

    def open(self):
        self.environment = LmdbEnvironment(self.folder)
        store = self.environment.store("operator")
        ((kind, config),) = self.vector["operator"].items()
        schema = parse_schema(self.vector["schema"])
        self.columns = arrow_schema(schema)
        if kind == "joinTable":
            self.table_schema = arrow_schema(parse_schema(self.vector["tableSchema"]))
            self.table = Table(self.engine, store, "SELECT k, k, seats FROM rows", pa.string(), self.table_schema)
            self.operator = JoinTable(self.table, config["on"], ["seats"], TableJoinType(config["type"]))
            return
        aggregation = check_aggregate(config["select"], config["by"], schema)
        if kind == "aggregate":
            self.operator = Aggregate(self.engine, store, aggregation)
        else:
            self.operator = TumblingWindow(self.engine, store, aggregation, parse_duration(config["tumbling"]))

    def restart(self):
        self.operator.flush()
        self.environment.commit()
        self.late += self.operator.counters().get("late", 0)
        self.environment.close()
        self.open()
        return None if self.watermark is None else self.operator.advance(self.watermark)

    def rows(self, rows):
        times = {"at": lambda ms: None if ms is None else EPOCH + timedelta(milliseconds=ms)}
        converted = [{name: times.get(name, lambda v: v)(value) for name, value in row.items()} for row in rows]
        table = stamp(pa.Table.from_pylist(converted, schema=self.columns), self.vector.get("eventTime"))
        return self.operator.process(table) if rows else None

    def fill(self, changes):
        rows = [{"k": change["key"], **change["row"]} for change in changes]
        self.table.fill(stamp(pa.Table.from_pylist(rows, schema=self.table_schema), None))

    def take(self, step):
        if "rows" in step:
            return self.rows(step["rows"])
        if "table" in step:
            return self.fill(step["table"])
        if "restart" in step:
            return self.restart()
        watermark = END_OF_TIME if step.get("end") else step["watermark"]
        if self.watermark is not None and watermark <= self.watermark:
            return None
        self.watermark = watermark
        return self.operator.advance(watermark)


def plain(table):
    if table is None:
        return Counter()
    table = without_event_time(table)
    rows = []
    for row in table.to_pylist():
        values = {
            name: round((value - EPOCH) / timedelta(milliseconds=1)) if isinstance(value, datetime) else value
            for name, value in row.items()
        }
        rows.append(tuple(sorted(values.items())))
    return Counter(rows)


def expected(rows):
    return Counter(tuple(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("vector", list(vectors()))
def test_an_operator_gives_out_what_the_vector_says(vector, tmp_path):
    bench = Bench(vector, tmp_path)
    for step in vector["steps"]:
        assert plain(bench.take(step)) == expected(step.get("emits", [])), step
    assert bench.late + bench.operator.counters().get("late", 0) == vector["late"]
    bench.environment.close()
    bench.engine.close()
