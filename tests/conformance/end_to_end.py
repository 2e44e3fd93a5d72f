"""Runs the vectors of `windows.json` through whole apps: their rows come from streams of a log, results go to one.

All vectors of a kind are one app, each with its own streams and operator, and their steps are taken side by side: the
records of a step are written when all of the step before has been read and its results have been committed. So the
order of steps is what the vector says; within a step a row may be read before or after another.

Watermarks: event times are allowed so much disorder that rows never move a watermark where it matters. A marker, a row
that far ahead which a filter drops, moves it to where the vector wants it. The inputs have no end, so `end` is a marker
for the end of time. A restart of one vector restarts the app, which must change nothing for the others.

Vectors that end, and for which it makes no difference how rows and watermarks follow each other, also run on streams
that have an end: all their rows are there from the start, and only the sum of their results is compared.
"""

import json
import re
from collections import Counter
from contextlib import closing
from datetime import datetime, timedelta

import pyarrow as pa

from conformance.windows import EPOCH, counted, last_per_key
from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.partitioning import partition_numbers
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from support import apps

PARTITIONS = 2
DISORDER = timedelta(days=10_000)
AHEAD = DISORDER // timedelta(milliseconds=1)
END = END_OF_TIME // 2


class VectorInApp:
    """A vector, its streams and operators, what was written to them, and what must have come out."""

    def __init__(self, number, vector, *, bounded=False):
        self.vector = vector
        self.name = f"v{number}"
        self.bounded = bounded
        ((self.kind, self.config),) = vector["operator"].items()
        on = self.config.get("on")
        if self.kind == "join":
            left, right = (on["left"], on["right"]) if isinstance(on, dict) else (on, on)
            self.inputs = {
                "left": (vector["leftSchema"], vector["leftEventTime"], left),
                "right": (vector["rightSchema"], vector["rightEventTime"], right),
            }
        else:
            self.inputs = {"rows": (vector["schema"], vector.get("eventTime"), on or self.config["by"][0])}
        self.expected = []

    def stream(self, part):
        return f"{self.name}-{part}"

    def streams(self):
        """Declare the streams: rows with a time of their own and a mark, results, and what fills the table."""
        form = {"system": "log", "partitions": PARTITIONS}
        timed = {"eventTime": {"column": "time", "maxOutOfOrderness": f"{DISORDER.days}d"}}
        declared = {self.stream("out"): {**form, "partitions": 1}}
        for part, (schema, _, key) in self.inputs.items():
            columns = f"{schema}, time bigint, mark boolean"
            declared[self.stream(part)] = {**form, "schema": columns, "key": key, "bounded": self.bounded, **timed}
        if self.kind == "joinTable":
            schema = self.vector["tableSchema"]
            declared[self.stream("table")] = {**form, "schema": schema, "key": parse_schema(schema).names[0]}
        return declared

    def tables(self):
        if self.kind != "joinTable":
            return {}
        key, *others = parse_schema(self.vector["tableSchema"]).names
        table = {"key": key, "value": ", ".join(others), "sideInputs": [self.stream("table")]}
        return {f"{self.name}-kept": table}

    def operators(self):
        made, kept = [], {}
        for part, (schema, _, _) in self.inputs.items():
            rows = {"name": f"{self.name}-{part}-all", "from": self.stream(part), "filter": "mark is null"}
            kept[part] = f"{self.name}-{part}-kept"
            columns = {"name": kept[part], "from": rows["name"], "map": ", ".join(parse_schema(schema).names)}
            made += [rows, columns]
        first, *second = kept.values()
        config = {**self.config, **({"with": second[0]} if second else {})}
        if self.kind == "joinTable":
            config["table"] = f"{self.name}-kept"
        made.append({"name": self.name, "from": first, self.kind: config})
        return [*made, {"name": f"{self.name}-sent", "from": self.name, "sendTo": self.stream("out")}]

    def records(self, step):
        """Give what a step writes, as (stream, partition, key, value)."""
        for part, (_, time, key) in self.inputs.items():
            rows = step.get(part, [])
            keys = [row[key] for row in rows]
            for row, partition in zip(rows, _partitions(keys), strict=True):
                moments = {name: _moment(value) for name, value in row.items() if name in self._moments(part)}
                value = {**row, **moments, "time": None if time is None else row[time], "mark": None}
                yield self.stream(part), partition, None, value
            watermark = END if step.get("end") else step.get("watermark")
            if watermark is not None and time is not None and not self.bounded:
                for partition in range(PARTITIONS):
                    yield self.stream(part), partition, None, {"time": watermark + AHEAD, "mark": True}
        changes = step.get("table", [])
        names = parse_schema(self.vector["tableSchema"]).names if changes else ()
        for change, partition in zip(changes, _partitions([change["key"] for change in changes]), strict=True):
            row = None if change["row"] is None else {names[0]: change["key"], **change["row"]}
            yield self.stream("table"), partition, str(change["key"]).encode(), row

    def expect(self, step):
        self.expected += step.get("emits", [])

    def agree(self, found):
        """Tell if all that must have come out has; what must not is an error at once."""
        rows = [{name: _milliseconds(value) for name, value in row.items()} for row in found]
        expected = self.expected
        if self.kind == "aggregate":  # a batch may be read in pieces: each gives a row of its keys
            rows, expected = (last_per_key(some, self.config["by"]) for some in (rows, expected))
            return counted(rows) == counted(expected)
        assert not counted(rows) - counted(expected), (self.vector["name"], rows)
        return counted(rows) == counted(expected)

    def _moments(self, part):
        """Name the columns with times, which vectors have as milliseconds."""
        return {column.name for column in parse_schema(self.inputs[part][0]).columns if str(column.type) == "timestamp"}


class Vectors:
    """The app of some vectors, and its log."""

    def __init__(self, folder, vectors, *, bounded=False):
        self.folder = folder
        self.vectors = [VectorInApp(number, vector, bounded=bounded) for number, vector in enumerate(vectors)]
        self.declared = {name: spec for vector in self.vectors for name, spec in vector.streams().items()}
        self.written = Counter()
        self.epoch = 0
        with closing(LogAdmin(folder / "log.db")) as admin:
            admin.create({_descriptor(name): spec["partitions"] for name, spec in self.declared.items()})

    def document(self):
        spec = {
            "systems": {"log": {"log": {"path": "log.db"}}},
            "streams": self.declared,
            "tables": {name: table for vector in self.vectors for name, table in vector.tables().items()},
            "operators": [operator for vector in self.vectors for operator in vector.operators()],
            "job": {"commitInterval": "50ms", "watermarkInterval": "1ms"},
            "processors": {"count": 2},
        }
        return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}

    def follow(self):
        """Take the steps, starting the app again where a vector says so; check what comes out after each."""
        self.step, self.summary = -1, None
        while self.step < self.steps:
            apps.run_until(self.folder, self.document(), self._next, told=self._note)
        self._check_late()

    def to_the_end(self):
        """Write all rows first, run to the end of the streams, and check what came out."""
        for step in range(self.steps):
            self._write(step)
        self.summary = apps.run(self.document(), self.folder)
        assert self._disagreeing() == []
        self._check_late()

    @property
    def steps(self):
        return max(len(vector.vector["steps"]) for vector in self.vectors)

    def _note(self, summary):
        self.summary = summary

    def _next(self):
        """Go to the next step if this one is done; True if the app must stop now."""
        read = {stream.name: stream.read for stream in self.summary.streams}
        if any(read.get(name, 0) != count for name, count in self.written.items()) or self._disagreeing():
            return False
        self.step += 1
        return self.step == self.steps or self._write(self.step)

    def _write(self, number):
        """Write the records of a step; True if it is a restart for some vector."""
        steps = [(v, v.vector["steps"][number]) for v in self.vectors if number < len(v.vector["steps"])]
        self.epoch += 1
        streams = [_descriptor(name) for name in self.declared]
        owner = TransactionOwner(id="source", epoch=self.epoch)
        with closing(LogProducer(self.folder / "log.db", streams, owner)) as producer:
            for vector, step in steps:
                vector.expect(step)
                for stream, partition, key, value in vector.records(step):
                    self.written[stream] += 1
                    data = None if value is None else json.dumps(value).encode()
                    producer.send(Ssp("log", stream, partition), data, key=key, timestamp=0)
            producer.commit()
        return any("restart" in step for _, step in steps)

    def _disagreeing(self):
        names = [vector.stream("out") for vector in self.vectors]
        ssps = [Ssp("log", name, 0) for name in names]
        found = {name: [] for name in names}
        with closing(LogConsumer(self.folder / "log.db", [_descriptor(name) for name in names])) as consumer:
            consumer.assign(dict.fromkeys(ssps, 0), {})
            for fetched in consumer.poll(ssps, 100_000, 0):
                found[fetched.ssp.stream] += [json.loads(message.value) for message in fetched.messages]
        return [v.vector["name"] for v in self.vectors if not v.agree(found[v.stream("out")])]

    def _check_late(self):
        for vector in self.vectors:
            late = self.summary.not_used.get(vector.name, {}).get("late", 0)
            assert late == vector.vector["late"], vector.vector["name"]


def ends_alike(vector):
    """Tell if a vector ends, and finds the same however its rows and watermarks follow each other."""
    ordered = vector["late"] or "joinTable" in vector["operator"]
    return not ordered and any("end" in step for step in vector["steps"])


def _descriptor(name):
    return StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.JSON)


def _partitions(keys):
    return partition_numbers(pa.chunked_array([pa.array(keys)]), PARTITIONS).tolist() if keys else []


def _moment(milliseconds):
    return None if milliseconds is None else (EPOCH + timedelta(milliseconds=milliseconds)).isoformat()


def _milliseconds(value):
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", value):
        return round((datetime.fromisoformat(value) - EPOCH) / timedelta(milliseconds=1))
    return value
