"""Runs the vectors of `control.json`."""

import pytest

from streamapp_core import control
from streamapp_core.control import (
    ControlSnapshot,
    EndOfStream,
    SourceTiming,
    TaskWatermarks,
    UserMessage,
    Watermark,
    expected_producers,
)
from streamapp_core.graph import build_graph, feeding_streams
from streamapp_core.spec.parse import parse_document
from streamapp_core.ssp import Ssp

SOMEWHERE = Ssp("kafka", "by", 0)


def run(vector):
    KINDS[vector["kind"]](vector)


def codec(vector):
    record, message = bytes.fromhex(vector["hex"]), message_of(vector["message"])
    assert control.encode(message) == record
    assert control.decode(record, ssp=SOMEWHERE, offset=0) == message


def decode(vector):
    record = bytes.fromhex(vector["hex"])
    if "error" not in vector:
        assert control.decode(record, ssp=SOMEWHERE, offset=0) == message_of(vector["message"])
        return
    system, stream, partition = vector["ssp"]
    with pytest.raises(getattr(control, vector["error"])) as refused:
        control.decode(record, ssp=Ssp(system, stream, partition), offset=vector["offset"])
    for part in (*vector["ssp"], vector["offset"]):
        assert str(part) in str(refused.value)


def message_of(fields):
    if fields["type"] == "user":
        return UserMessage(data=bytes.fromhex(fields["data"]))
    common = {
        "version": fields["version"],
        "task_count": fields["taskCount"],
        "idle": fields.get("idle", False),
    }
    entries = fields.get("entries", [fields])
    if fields["type"] == "watermark":
        return Watermark(timestamps=tuple((e["taskName"], e["timestamp"]) for e in entries), **common)
    return EndOfStream(tasks=tuple(e["taskName"] for e in entries), **common)


def producers(vector):
    feeds = feeding_streams(build_graph(spec_of(vector)))
    tasks = {task: [Ssp(*ssp) for ssp in ssps] for task, ssps in vector["tasks"].items()}
    found = expected_producers(feeds, tasks)
    assert {stream: set(names) for stream, names in found.items()} == {
        stream: set(names) for stream, names in vector["expect"].items()
    }


def spec_of(vector):
    """Make a whole spec of a vector's operators: streams that operators send to have no schema."""
    inputs = {name: {"system": "log", "schema": "k string, v string"} for name in vector["streams"]}
    outputs = {operator["sendTo"]: {"system": "log"} for operator in vector["operators"] if "sendTo" in operator}
    document = {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "vector"},
        "spec": {
            "systems": {"log": {"log": {"path": "log"}}},
            "defaultSystem": "log",
            "streams": {name: {"format": "json", **stream} for name, stream in (inputs | outputs).items()},
            "tables": vector.get("tables", {}),
            "operators": vector["operators"],
        },
    }
    parsed = parse_document(document)
    assert not parsed.problems
    return parsed.app.spec


def states(vector):
    book = Book(vector)
    for step in vector["steps"]:
        getattr(book, step["op"])(step)
        book.check(step.get("expect", {}))


class Book:
    """The bookkeeping of a task that does the steps of a vector."""

    def __init__(self, vector):
        self.vector = vector
        self.now = 0
        self.producers = dict(vector.get("producers", {}))
        self.states = self.new_states()

    def new_states(self):
        return TaskWatermarks(
            [(stream, partition) for stream, partition in self.vector["ssps"]],
            producers=self.producers,
            sources={
                stream: SourceTiming(
                    max_out_of_orderness=timing["maxOutOfOrderness"], idle_timeout=timing.get("idleTimeout")
                )
                for stream, timing in self.vector.get("sources", {}).items()
            },
            now=self.now,
        )

    def watermark(self, step):
        timestamps = tuple((entry["task"], entry["timestamp"]) for entry in step.get("entries", [step]))
        self.states.apply(step["stream"], step["partition"], Watermark(timestamps=timestamps, **self.common(step)))

    def endOfStream(self, step):  # noqa: N802
        tasks = tuple(entry["task"] for entry in step.get("entries", [step]))
        self.states.apply(step["stream"], step["partition"], EndOfStream(tasks=tasks, **self.common(step)))

    def common(self, step):
        return {"task_count": step.get("taskCount", 1), "idle": step.get("idle", False)}

    def source(self, step):
        self.states.observe(step["stream"], step["partition"], step["eventTime"])

    def sourceEnd(self, step):  # noqa: N802
        self.states.end(step["stream"], step["partition"])

    def clock(self, step):
        self.now = step["now"]
        for stream, partition in self.states.silent_partitions(self.now):
            self.states.confirm_read(stream, partition, self.now)
        self.states.advance_clock(self.now)

    def restart(self, _step):
        written = self.states.snapshot().model_dump_json()
        self.states = self.new_states()
        self.states.restore(ControlSnapshot.model_validate_json(written))

    def model(self, step):
        self.producers |= step["producers"]
        self.states.update_producers(step["producers"])

    def check(self, expect):
        operators = self.vector.get("operators", {})
        for stream, watermark in expect.get("watermark", {}).items():
            assert self.states.watermark(stream) == watermark
        for stream, ended in expect.get("ended", {}).items():
            assert self.states.ended(stream) is ended
        for operator, watermark in expect.get("operatorWatermark", {}).items():
            assert self.states.watermark(*operators[operator]) == watermark
        for operator, ended in expect.get("operatorEnded", {}).items():
            assert self.states.ended(*operators[operator]) is ended
        assert self.states.all_ended is expect.get("allEnded", self.states.all_ended)


KINDS = {"codec": codec, "decode": decode, "states": states, "producers": producers}
