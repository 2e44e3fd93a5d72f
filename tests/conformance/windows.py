"""Runs the vectors of `windows.json` on values: one operator, given batches and watermarks."""

import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import parse_schema
from streamapp_core.spec.base import parse_duration
from streamapp_core.spec.operators import JoinType, TableJoinType
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.interval_join import IntervalJoin
from streamapp_runtime.operators.join_table import JoinTable
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.operators.session_window import SessionWindow
from streamapp_runtime.rows.event_time_column import add_event_time, without_event_time
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.tables.lookup_table import LookupTable
from streamapp_runtime.tables.table_changes import SqlChangeExtractor
from streamapp_systems.arrow_types import arrow_schema

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run(vector):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(vector, Path(folder))
        for step in vector["steps"]:
            found, told = plain(bench.take(step)), step.get("emits", [])
            if "aggregate" in vector["operator"]:  # several rows of a key may come: the last one counts
                found = last_per_key(found, vector["operator"]["aggregate"]["by"])
            assert counted(found) == counted(told), step
        assert bench.late + bench.operator.counters().get("late", 0) == vector["late"]
        bench.environment.close()
        bench.engine.close()


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
        if kind == "join":
            self.columns = {
                side: arrow_schema(parse_schema(self.vector[f"{side}Schema"])) for side in ("left", "right")
            }
            on, within = config["on"], parse_duration(config["within"])
            self.operator = IntervalJoin(
                store,
                keys=(on["left"], on["right"]) if isinstance(on, dict) else (on, on),
                schemas=(self.columns["left"], self.columns["right"]),
                kind=JoinType(config["type"]),
                before=within,
                after=within,
            )
            return
        schema = parse_schema(self.vector["schema"])
        self.columns = arrow_schema(schema)
        if kind == "joinTable":
            self.table_schema = arrow_schema(parse_schema(self.vector["tableSchema"]))
            self.key, *others = self.table_schema.names
            query = f"SELECT {', '.join([self.key, self.key, *others])} FROM rows"
            filling = SqlChangeExtractor(self.engine, query, 1)
            self.table = LookupTable(store, filling, self.table_schema.field(self.key).type, self.table_schema)
            self.operator = JoinTable(self.table, config["on"], others, TableJoinType(config["type"]))
            return
        aggregation = check_aggregate(config["select"], config["by"], schema)
        if kind == "aggregate":
            self.operator = Aggregate(self.engine, store, aggregation)
        elif "session" in config:
            self.operator = SessionWindow(self.engine, store, aggregation, parse_duration(config["session"]))
        else:
            length = parse_duration(config.get("tumbling") or config["sliding"])
            step = parse_duration(config.get("every") or config["tumbling"])
            self.operator = AlignedWindow(self.engine, store, aggregation, length=length, step=step)

    def restart(self):
        self.operator.flush()
        self.environment.commit()
        self.late += self.operator.counters().get("late", 0)
        self.environment.close()
        self.open()
        return None if self.watermark is None else self.operator.advance_watermark(self.watermark)

    def rows(self, rows, schema, event_time, process):
        if not rows:
            return None
        columns = {field.name: [row[field.name] for row in rows] for field in schema}
        typed = {name: pa.array(values, _wire_type(schema.field(name))) for name, values in columns.items()}
        table = pa.table({name: values.cast(schema.field(name).type) for name, values in typed.items()})
        return process(add_event_time(table, [event_time] if event_time else ()))

    def fill(self, changes):
        rows = [{self.key: change["key"], **(change["row"] or {})} for change in changes]
        table = add_event_time(pa.Table.from_pylist(rows, schema=self.table_schema), ())
        self.table.fill(with_deleted_column(table, [change["row"] is None for change in changes]))

    def take(self, step):
        if "rows" in step:
            return self.rows(step["rows"], self.columns, self.vector.get("eventTime"), self.operator.process)
        for side in {"left", "right"} & step.keys():
            process = getattr(self.operator, f"process_{side}")
            return self.rows(step[side], self.columns[side], self.vector[f"{side}EventTime"], process)
        if "table" in step:
            return self.fill(step["table"])
        if "restart" in step:
            return self.restart()
        watermark = END_OF_TIME if step.get("end") else step["watermark"]
        if self.watermark is not None and watermark <= self.watermark:
            return None
        self.watermark = watermark
        return self.operator.advance_watermark(watermark)


def _wire_type(field):
    """Times come as milliseconds."""
    return pa.timestamp("ms", tz="UTC") if pa.types.is_timestamp(field.type) else field.type


def plain(table):
    """Give rows as dictionaries, times as milliseconds."""
    if table is None:
        return []
    return [
        {
            name: round((value - EPOCH) / timedelta(milliseconds=1)) if isinstance(value, datetime) else value
            for name, value in row.items()
        }
        for row in without_event_time(table).to_pylist()
    ]


def last_per_key(rows, by):
    return list({tuple(row[name] for name in by): row for row in rows}.values())


def counted(rows):
    return Counter(tuple(sorted(row.items())) for row in rows)
