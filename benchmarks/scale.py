"""A large app on paper, by the real classes: 1,000 processors, 100,000 tasks, intermediate streams of 1,000 partitions.

Job model, assignment, control messages and reports are made, encoded and read by the code that does so in an app, once,
and multiplied. What brokers do follows from the partitions that a transaction writes to (see docs/performance.md).
"""

import argparse
import random
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from benchmarks.control_traffic import Announcing, Counting
from streamapp_core.control import TaskWatermarks, decode
from streamapp_core.control.messages import Watermark
from streamapp_core.deployment.driver_reports import (
    DriverPhase,
    LocalityReport,
    ProgressReport,
    StateSize,
    StreamProgress,
)
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.job_model.job_model_shards import JobModelDocuments, read_pointer, read_shards
from streamapp_core.plan import plan
from streamapp_core.plan.plan import Plan
from streamapp_core.spec.parse import parse_document
from streamapp_core.ssp import Ssp
from streamapp_runtime.driver.run_record import RunRecord
from streamapp_runtime.driver.run_summary import summarize
from streamapp_runtime.processor.control_message_sender import ControlMessageSender
from streamapp_runtime.processor.driver_link import REPORT_SECONDS
from streamapp_runtime.processor.processor_report import Incarnation, PartitionReport, ProcessorReport, StateReport
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.record_keys import RecordKey
from streamapp_runtime.state.store_size import StoreSize
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter

STREAM, INPUT = "by-key", "events"
ROW_RATE = 1_000
"""Rows a second of each task."""
REGISTRATION_MS, PARTITION_MS, END_MS = 2.7, 0.45, 0.6
"""Milliseconds of a transaction at one broker: with one partition, for each further one, and its end."""
REPORTED_SECONDS, LEASE_SECONDS = 30, 10
"""The intervals at which a driver writes its progress and renews its lease."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The size of an app, and the seconds between its commits."""

    processors: int
    tasks: int
    partitions: int
    commit_seconds: float

    @property
    def of_processor(self) -> int:
        """The tasks of a processor."""
        return self.tasks // self.processors


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__)
    parser.add_argument("--processors", type=int, default=1_000)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--partitions", type=int, default=1_000, help="of the intermediate stream")
    parser.add_argument("--commit-seconds", type=float, default=1.0)
    options = parser.parse_args(arguments)
    shape = Shape(**vars(options))
    print(
        f"{shape.processors:,} processors, {shape.tasks:,} tasks, {shape.partitions:,} partitions of an intermediate "
        f"stream, commits every {shape.commit_seconds:g} s"
    )
    planned, model = _job_model(shape)
    _control(shape)
    _transactions(shape)
    _reports(shape, planned, model)


def _timed(action: Callable[[], T]) -> tuple[T, float]:
    """Return a result and the CPU seconds that it took."""
    began = time.process_time()
    found = action()
    return found, time.process_time() - began


def _planned(shape: Shape) -> Plan:
    """Return the plan of an app of this size: that of a small one, widened, as the planner has a limit."""
    spec: dict[str, Any] = {
        "systems": {"kafka": {"kafka": {"bootstrapServers": "kafka:9092"}}},
        "defaultSystem": "kafka",
        "streams": {
            INPUT: {"system": "kafka", "schema": "sensor string, value bigint", "key": "sensor"},
            "results": {"system": "kafka", "key": "sensor"},
            "totals": {"system": "kafka", "key": "value"},
        },
        "operators": [
            {"name": "kept", "from": INPUT, "aggregate": {"by": ["sensor"], "select": "count(*) as n"}},
            {"name": STREAM, "from": INPUT, "partitionBy": {"key": "value"}},
            {"name": "counted", "from": STREAM, "aggregate": {"by": ["value"], "select": "count(*) as n"}},
            {"name": "named", "from": "kept", "map": "sensor, n"},
            {"name": "sent", "from": "named", "sendTo": "results"},
            {"name": "shown", "from": "counted", "sendTo": "totals"},
        ],
        "processors": {"count": shape.processors},
        "job": {"intermediateStreamPartitions": 1},
    }
    app = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "large"}, "spec": spec}
    counts = {INPUT: shape.tasks, "results": shape.tasks, "totals": shape.partitions}
    small = plan(parse_document(app), dict.fromkeys(counts, 1)).plan
    assert small is not None
    for problem in plan(parse_document(app), counts).problems:
        print(f"the planner refuses it: {problem.message}")
    counts |= {STREAM: shape.partitions}
    streams = {
        name: replace(stream, partitions=counts[name], initial_partitions=counts[name])
        for name, stream in small.streams.items()
    }
    return replace(small, streams=streams)


def _job_model(shape: Shape) -> tuple[Plan, JobModel]:
    """Print what the job model takes: to decide, to write, to read, and after a processor has gone."""
    planned = _planned(shape)
    processors = {str(number): f"node-{number}" for number in range(shape.processors)}
    model, built = _timed(lambda: build_job_model(planned, None, processors))
    documents, written = _timed(lambda: JobModelDocuments.of(model, epoch=1))
    _, read = _timed(lambda: read_shards(read_pointer(documents.pointer), documents.shards))
    located = model.model_copy(
        update={
            "tasks": {
                name: task.model_copy(update={"location": processors[task.processor]})
                for name, task in model.tasks.items()
            }
        }
    )
    fewer = {id_: place for id_, place in processors.items() if id_ != "0"}
    after, changed = _timed(lambda: build_job_model(planned, located, fewer))
    moved = sum(task.processor != model.tasks[name].processor for name, task in after.tasks.items())
    kept = JobModelDocuments.of(located, epoch=1).shards.keys()
    new = JobModelDocuments.of(after, epoch=1).shards
    size = sum(map(len, documents.shards.values()))
    print(f"job model: {size / 1e6:.1f} MB in {len(documents.shards)} shards, CPU seconds: ", end="")
    print(f"assign and build {built:.1f}, write {written:.1f}, read {read:.1f}")
    print(
        f"  a processor less: {changed:.1f} CPU s, {moved:,} tasks move, {len(new.keys() - kept)} of {len(new)} shards "
        f"are new; each processor reads all: {size * shape.processors / 1e9:.1f} GB from the driver"
    )
    return planned, model


def _control(shape: Shape) -> None:
    """Print what watermarks take: a record from each processor to each partition, in each commit."""
    counting = Counting()
    names = [f"Partition {number}" for number in range(shape.tasks)]
    own = [Announcing(name) for name in names[: shape.of_processor]]
    writer = IntermediateWriter(counting, {STREAM: ("kafka", shape.partitions)}, {}, [task.name for task in own])
    sender = ControlMessageSender(writer, own, {STREAM: shape.tasks}, 0)
    for task in own:
        task.watermark = 1
    _, sending = _timed(lambda: sender.send(1))
    rounds = 1 / shape.commit_seconds
    messages = counting.messages[True] * shape.processors * rounds
    size = counting.size[True] * shape.processors * rounds
    data, data_size = _data(shape, counting, writer)
    tracemalloc.start()
    states = TaskWatermarks([(STREAM, 0)], producers={STREAM: names}, sources={}, now=0)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    (message,) = [decode(value, ssp=Ssp("kafka", STREAM, 0), offset=0) for value in counting.received[:1]]
    assert isinstance(message, Watermark)
    _, reading = _timed(lambda: _read(shape, states, counting.received[0]))
    readers = shape.partitions / shape.processors
    print(f"control messages: {messages:,.0f}/s, {size / 1e6:,.0f} MB/s, beside {data:,.0f}/s and ", end="")
    print(f"{data_size / 1e6:,.0f} MB/s of data ({ROW_RATE:,} rows/s of each task)")
    print(
        f"  a processor: {sending * rounds:.1%} of a core to send; {reading * rounds * readers:.1%} to read "
        f"{readers:g} partition(s), {held / 1e6:.0f} MB for each that it reads"
    )


def _read(shape: Shape, states: TaskWatermarks, value: bytes) -> None:
    """Read a round: the message of every processor."""
    for processor in range(shape.processors):
        message = decode(value, ssp=Ssp("kafka", STREAM, 0), offset=0)
        assert isinstance(message, Watermark)
        first = processor * shape.of_processor
        times = tuple((f"Partition {first + number}", 2) for number in range(shape.of_processor))
        states.apply(STREAM, 0, replace(message, timestamps=times))


def _data(shape: Shape, counting: Counting, writer: IntermediateWriter) -> tuple[float, float]:
    """Return messages and bytes of all data in a second: one processor's rows of a commit are encoded."""
    rows = int(shape.of_processor * ROW_RATE * shape.commit_seconds)
    random.seed(17)
    sensors = pa.array([f"sensor-{random.randint(0, 9_999_999):07d}" for _ in range(rows)])
    numbers = pa.array(range(rows), pa.int64())
    schema = pa.schema([("sensor", pa.string()), ("value", pa.int64()), EVENT_TIME_FIELD])
    writer.add(STREAM, pa.Table.from_arrays([sensors, numbers, numbers], schema=schema), RecordKey(("sensor",)))
    writer.flush()
    each = shape.processors / shape.commit_seconds
    return counting.messages[False] * each, counting.size[False] * each


def _transactions(shape: Shape) -> None:
    """Print what brokers do: a request and a marker for each partition that a transaction writes to."""
    written = shape.partitions + 2 * shape.of_processor
    each = shape.processors / shape.commit_seconds
    seconds = (REGISTRATION_MS + PARTITION_MS * (written - 1) + END_MS) / 1_000
    print(
        f"transactions: {each:,.0f}/s, each of {written:,} partitions: the intermediate stream's, and those of ", end=""
    )
    print(f"changelogs and outputs of {shape.of_processor} tasks")
    print(
        f"  brokers: {each * (written + 2):,.0f} requests/s of producers, {each * written:,.0f} markers/s; "
        f"each transaction waits {seconds:.2f} s for one broker, {seconds / 100:.3f} s for 100 of them"
    )


def _reports(shape: Shape, planned: Plan, model: JobModel) -> None:
    """Print what reports take: of processors to the driver, and of the driver to the Kubernetes operator."""
    of_processor: dict[str, list[str]] = {}
    for name, task in model.tasks.items():
        of_processor.setdefault(task.processor, []).append(name)
    reports = [_report(model, id_, names) for id_, names in of_processor.items()]
    encoded, encoding = _timed(lambda: [msgspec.json.encode(report) for report in reports])
    decoder = msgspec.json.Decoder(ProcessorReport)
    found, decoding = _timed(lambda: [decoder.decode(report) for report in encoded])
    record = RunRecord(run_id="r1", epoch=1, spec="", ends={}, files={}, made={}, outdated={})
    summary, merging = _timed(lambda: summarize(planned, record, found, 1.0))
    size, rate = sum(map(len, encoded)), 1 / REPORT_SECONDS
    print(f"reports: {size / len(encoded):,.0f} bytes, {shape.processors * rate:,.0f}/s, {size * rate / 1e6:.0f} MB/s")
    print(
        f"  the driver: {decoding * rate:.0%} of a core to decode them, {merging * rate:.0%} to merge them twice a "
        f"second; a processor: {encoding * rate / shape.processors:.2%} to encode"
    )
    now = datetime.now(UTC)
    progress = ProgressReport(
        run_id="r1",
        epoch=1,
        phase=DriverPhase.RUNNING,
        since=now,
        version=1,
        running=tuple(model.processors),
        streams={stream.name: StreamProgress(read=stream.read) for stream in summary.streams},
        state={name: StateSize(entries=size.entries, bytes=size.bytes) for name, size in summary.state_sizes.items()},
    )
    places: dict[str, list[int]] = {}
    for task in model.tasks.values():
        places.setdefault(f"node-{task.processor}", []).append(task.changelog_partition)
    locality = LocalityReport(run_id="r1", epoch=1, locations={place: tuple(sorted(n)) for place, n in places.items()})
    print(
        f"documents for the operator: progress {len(progress.model_dump_json()):,} bytes every {REPORTED_SECONDS} s, "
        f"locality {len(locality.model_dump_json()):,} bytes when tasks move, a lease every {LEASE_SECONDS} s"
    )


def _report(model: JobModel, id_: str, names: Sequence[str]) -> ProcessorReport:
    """Return the report of a processor that has run for a day."""
    partitions: dict[str, dict[int, PartitionReport]] = {}
    for name in names:
        for ssp in model.tasks[name].ssps:
            report = PartitionReport(rows=86_400_000, offset=123_456_789, ended=False)
            partitions.setdefault(ssp.stream, {})[ssp.partition] = report
    return ProcessorReport(
        incarnation=Incarnation(processor=id_, epoch=1, version=1, number=7),
        states={name: StateReport(kept=True, records=12_345, left=0) for name in names},
        opened=True,
        partitions=partitions,
        watermarks=dict.fromkeys(partitions, 1_790_000_000_000),
        written={"results": 123_456_789},
        commits=86_400,
        committed={stream: {number: at.offset for number, at in of.items()} for stream, of in partitions.items()},
        state_sizes={"kept": StoreSize(entries=1_000_000, bytes=100_000_000)},
    )


if __name__ == "__main__":
    main()
