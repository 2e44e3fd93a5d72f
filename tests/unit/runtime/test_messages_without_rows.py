"""Messages without rows end what brokers have forgotten to end (docs/kafka.md); readers find nothing in them."""

from types import SimpleNamespace

import pyarrow as pa

from streamapp_core.control.sequence_numbers import SequenceNumber
from streamapp_core.spec.job import OnError
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.decoding_input_source import DecodingInputSource
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_systems.protocols import FetchedBatch, Message, MessageTuple

SCHEMAS = {"by": pa.schema([("k", pa.int64()), EVENT_TIME_FIELD]), "again": pa.schema([EVENT_TIME_FIELD])}
STREAMS = {"by": ("kafka", 2), "again": ("kafka", 1)}


class Log(list):
    def send(self, ssp, value, *, key, timestamp):
        self.append((ssp, key, value, timestamp))


def sent_by(tasks, before=()):
    log = Log()
    writer = IntermediateWriter(log, STREAMS, SCHEMAS, tasks)
    for task, sent in before:
        writer.sent[task].restore(sent)
    writer.send_empty(7)
    return log


def read(log):
    fetched = [
        FetchedBatch(
            ssp=ssp,
            offset=5,
            next_offset=6,
            messages=MessageTuple([Message(offset=5, key=key, value=value, timestamp=at)]),
        )
        for ssp, key, value, at in log
    ]
    source = DecodingInputSource(
        {"kafka": SimpleNamespace(poll=lambda *_: fetched)},
        intermediate=SCHEMAS,
        shared={},
        external={},
        event_times={},
        on_error=OnError.FAIL,
        dead_letters=frozenset(),
        claims=SimpleNamespace(),
        later_starts={},
    )
    return list(source.poll([ssp for ssp, *_ in log], 10, 0.0))


def test_each_partition_gets_one_and_nobody_finds_rows_in_it():
    log = sent_by(["Partition 3", "Partition 1"])
    assert [(ssp, key, at) for ssp, key, _, at in log] == [
        (Ssp("kafka", "by", 0), b"1 Partition 1", 7),
        (Ssp("kafka", "by", 1), b"1 Partition 1", 7),
        (Ssp("kafka", "again", 0), b"1 Partition 1", 7),
    ]
    assert [(batch.ssp, batch.next_offset, batch.rows, batch.controls) for batch in read(log)] == [
        (ssp, 6, None, ()) for ssp, *_ in log
    ]


def test_each_task_that_has_sent_messages_sends_one():
    log = sent_by(["Partition 1", "Partition 3", "Partition 5"], [("Partition 3", {"by": [0, 8]})])
    by = [batch.sequence for batch in read(log) if batch.ssp.stream == "by"]
    assert by == [
        (SequenceNumber("Partition 1", 1, 5),),
        (SequenceNumber("Partition 1", 1, 5),),
        (SequenceNumber("Partition 3", 9, 5),),
    ]


def test_a_processor_without_tasks_sends_some_too_without_numbers_as_releases_before_did():
    log = sent_by([])
    assert [(ssp.stream, key) for ssp, key, *_ in log] == [("by", None), ("by", None), ("again", None)]
    assert [batch.sequence for batch in read(log)] == [()] * 3
