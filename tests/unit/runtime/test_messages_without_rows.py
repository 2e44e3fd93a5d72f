"""Messages without rows end what brokers have forgotten to end (docs/kafka.md); readers find nothing in them."""

from types import SimpleNamespace

import pyarrow as pa

from streamapp_core.spec.job import OnError
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.decoding_input_source import DecodingInputSource
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_systems.protocols import FetchedBatch, Message, MessageTuple

SCHEMAS = {"by": pa.schema([("k", pa.int64()), EVENT_TIME_FIELD]), "again": pa.schema([EVENT_TIME_FIELD])}
STREAMS = {"by": ("kafka", 2), "again": ("kafka", 1)}


class Log(list):
    def send(self, ssp, value, *, timestamp):
        self.append((ssp, value, timestamp))


def test_each_partition_gets_one_and_nobody_finds_rows_in_it():
    log = Log()
    IntermediateWriter(log, STREAMS, SCHEMAS).send_empty(7)
    assert [(ssp, at) for ssp, _, at in log] == [
        (Ssp("kafka", "by", 0), 7),
        (Ssp("kafka", "by", 1), 7),
        (Ssp("kafka", "again", 0), 7),
    ]
    fetched = [
        FetchedBatch(
            ssp=ssp,
            offset=5,
            next_offset=6,
            messages=MessageTuple([Message(offset=5, key=None, value=value, timestamp=at)]),
        )
        for ssp, value, at in log
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
    batches = list(source.poll([ssp for ssp, _, _ in log], 10, 0.0))
    assert [(batch.ssp, batch.next_offset, batch.rows, batch.controls) for batch in batches] == [
        (ssp, 6, None, ()) for ssp, _, _ in log
    ]
