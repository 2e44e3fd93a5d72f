"""The cost of control messages: beside the data's messages and bytes in a large app, and as a share of the time here.

The large app is simulated: its processors commit by a schedule with phases and delays of their own. What one of them
sends goes through the code that sends it and is counted; one task receives all that comes for its partition. The share
of the time is that of the flights example on one processor in this process.
"""

import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from benchmarks.ours import document
from benchmarks.streaming import FLIGHTS
from benchmarks.streaming_profile import ProfiledHost, StageTimer
from streamapp_core.control import TaskWatermarks, decode, encode
from streamapp_core.control.messages import UserMessage, Watermark
from streamapp_core.ssp import Ssp
from streamapp_runtime.driver.run_app import run_app
from streamapp_runtime.driver.start_run import RunRequest
from streamapp_runtime.processor import decoding_input_source
from streamapp_runtime.processor.control_message_sender import ControlMessageSender
from streamapp_runtime.processor.processor import Processor
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.record_keys import RecordKey
from streamapp_runtime.tasks.task import Announcement, Task
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_systems.protocols import SentRecords

PROCESSORS, TASKS, PARTITIONS, RATE = 100, 10, 64, 10_000
"""Processors, tasks of each, partitions of the intermediate stream, rows a second of each task."""
COMMIT_SECONDS, WATERMARK_MILLISECONDS, SECONDS = 1.0, 200, 60
STREAM = "by-sensor"
BOOKKEEPING = [
    (TaskWatermarks, "apply"),
    (TaskWatermarks, "observe"),
    (TaskWatermarks, "advance_clock"),
    (TaskWatermarks, "watermark"),
    (TaskWatermarks, "idle"),
    (TaskWatermarks, "ended"),
    (TaskWatermarks, "snapshot"),
    (Task, "unannounced"),
    (ControlMessageSender, "has_unsent_ends"),
    (ControlMessageSender, "has_unsent"),
    (ControlMessageSender, "send"),
    (IntermediateWriter, "send_control"),
    (decoding_input_source, "decode"),
]


@dataclass(slots=True)
class Counting:
    """Takes the place of a producer: counts messages and bytes, and keeps what one partition gets."""

    messages: Counter[bool] = field(default_factory=Counter)
    size: Counter[bool] = field(default_factory=Counter)
    received: list[bytes] = field(default_factory=list)

    def send(self, ssp: Ssp, value: bytes, *, key: bytes, timestamp: int) -> None:  # noqa: ARG002 - the protocol's
        control = value[0] != encode(UserMessage(data=b""))[0]
        self.messages[control] += 1
        self.size[control] += len(key) + len(value)
        if control and ssp.partition == 0:
            self.received.append(value)

    def send_all(self, ssp: Ssp, records: SentRecords) -> None:
        for key, value in zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True):
            assert key is not None
            assert value is not None
            self.send(ssp, value, key=key, timestamp=0)


@dataclass(slots=True)
class Announcing:
    """A task of which only the watermark matters."""

    name: str
    watermark: int = 0
    announced: Announcement | None = None

    def unannounced(self, stream: str) -> Announcement | None:  # noqa: ARG002
        news = Announcement(watermark=self.watermark, idle=False)
        return None if news == self.announced else news

    def announce(self, stream: str, news: Announcement) -> None:  # noqa: ARG002
        self.announced = news


def main() -> None:
    _simulate()
    _measure()


def _simulate() -> None:
    """Count what all processors send in a minute, and the time that one partition of it takes its reader."""
    counting = Counting()
    names = [[f"Partition {p * TASKS + number}" for number in range(TASKS)] for p in range(PROCESSORS)]
    writer = IntermediateWriter(counting, {STREAM: ("kafka", PARTITIONS)}, {}, names[0])
    tasks = [[Announcing(name) for name in of_processor] for of_processor in names]
    count = PROCESSORS * TASKS
    rounds = [ControlMessageSender(writer, own, {STREAM: count}, WATERMARK_MILLISECONDS) for own in tasks]
    every = [name for of_processor in names for name in of_processor]
    states = TaskWatermarks([(STREAM, 0)], producers={STREAM: every}, sources={}, now=0)
    spent, lag = 0.0, 0
    for now, processor in _schedule():
        for task in tasks[processor]:
            task.watermark = max(task.watermark, now - random.randint(0, 500))
        rounds[processor].send(now)
        began = time.process_time()
        for value in counting.received:
            message = decode(value, ssp=Ssp("kafka", STREAM, 0), offset=0)
            assert isinstance(message, Watermark)
            states.apply(STREAM, 0, message)
        spent += time.process_time() - began
        counting.received.clear()
        lag = now - (states.watermark(STREAM) or 0)
    controls, size = counting.messages[True] / SECONDS, counting.size[True] / SECONDS
    messages, data_size = _data(counting, writer)
    share, app = spent / SECONDS, f"{count:,} tasks on {PROCESSORS} processors, {PARTITIONS} partitions"
    print(f"{app}, {count * RATE:,} rows/s, commits every second")
    print(f"  control: {controls:,.0f} messages/s ({controls * TASKS:,.0f} uncoalesced), {size:,.0f} bytes/s")
    print(f"  data: {messages:,.0f} messages/s, {data_size:,.0f} bytes/s; control: {size / data_size:.2%} of them")
    print(f"  a task that reads one partition: {share:.2%} of a core; its watermark is {lag} ms behind", flush=True)


def _schedule() -> Iterator[tuple[int, int]]:
    """Return the times of commits, in milliseconds, each with its processor."""
    random.seed(17)
    commits = []
    for processor in range(PROCESSORS):
        at = random.random() * COMMIT_SECONDS
        while at < SECONDS:
            commits.append((int(at * 1_000), processor))
            at += COMMIT_SECONDS + random.expovariate(50)
    return iter(sorted(commits))


def _data(counting: Counting, writer: IntermediateWriter) -> tuple[float, float]:
    """Return messages and bytes of all data in a second: one processor's rows of a commit are encoded."""
    rows = TASKS * int(RATE * COMMIT_SECONDS)
    sensors = pa.array([f"sensor-{random.randint(0, 99_999):06d}" for _ in range(rows)])
    numbers = pa.array(range(rows), pa.int64())
    schema = pa.schema([("sensor", pa.string()), ("value", pa.int64()), EVENT_TIME_FIELD])
    writer.add(STREAM, pa.Table.from_arrays([sensors, numbers, numbers], schema=schema), RecordKey(("sensor",)))
    writer.flush()
    return tuple(found[False] * PROCESSORS / COMMIT_SECONDS for found in (counting.messages, counting.size))


def _measure() -> None:
    """Measure the share of the processor's CPU time that goes into bookkeeping."""
    timer = StageTimer(time.thread_time)
    timer.install({"bookkeeping": BOOKKEEPING, "everything else": [(Processor, "run")]})
    for partitions in (8, 64):
        app = json.loads(document("flights", 1))
        app["spec"]["job"] = {"intermediateStreamPartitions": partitions, "commitInterval": "200ms"}
        timer.seconds.clear()
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / FLIGHTS.name).symlink_to(FLIGHTS)
            place = Path(folder)
            request = RunRequest(text=json.dumps(app), folder=place, state=place / "state", fresh=True, run_id="r1")
            run_app(request, lambda channel, *_: ProfiledHost(None, channel), lambda _: None)
        spent, total = timer.seconds["bookkeeping"], timer.seconds.total()
        print(f"flights, {partitions} tasks: bookkeeping {spent:.3f} of {total:.1f} CPU seconds, {spent / total:.1%}")


if __name__ == "__main__":
    main()
