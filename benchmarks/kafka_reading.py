"""The CPU that reading from Kafka takes, as columns by the native library and as the client's objects, by turns.

The values are used as decoders use them: as one column. Time is that of this process, with the threads of the client,
and that of the reading thread alone.
"""

import time
from contextlib import closing
from itertools import islice
from statistics import median

import pyarrow as pa
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from benchmarks.kafka_load import fill
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.kafka import Cluster, KafkaAdmin, KafkaConsumer
from streamapp_systems.kafka.native_records import open_records
from streamapp_systems.kafka.record_source import ClientRecords
from streamapp_systems.protocols import Messages, StreamDescriptor

_ROWS, _TURNS, _POLLED = 1_000_000, 5, 50_000
_SOURCES = {"columns": open_records, "objects": ClientRecords}


def main() -> None:
    with Broker(kafka_jars(default_cache())) as broker:
        fill(broker.bootstrap_servers, "readings", _ROWS, seed=17)
        cluster = Cluster(name="kafka", bootstrap_servers=broker.bootstrap_servers)
        names = list(islice(_SOURCES, 2)) * _TURNS
        found = [(name, _read(cluster, name)) for name in names]
    for name in _SOURCES:
        whole, thread = (median(times[which] for each, times in found if each == name) for which in range(2))
        print(f"{name}: {whole / _ROWS * 1e6:.2f} microseconds of CPU a row, {thread / _ROWS * 1e6:.2f} of our thread")


def _read(cluster: Cluster, source: str) -> tuple[float, float]:
    """Read all, and return the CPU seconds of the process and of this thread."""
    stream = StreamDescriptor(name="in", system="kafka", address="readings", format=StreamFormat.JSON, keyed=True)
    with closing(KafkaAdmin(cluster)) as admin:
        ends = admin.end_offsets([stream])
    with closing(KafkaConsumer(cluster, [stream], _SOURCES[source])) as consumer:
        process, thread = time.process_time(), time.thread_time()
        consumer.assign(dict.fromkeys(ends, 0), ends)
        rows = _poll_all(consumer, set(ends))
        used = time.process_time() - process, time.thread_time() - thread
    assert rows >= _ROWS
    return used


def _poll_all(consumer: KafkaConsumer, waiting: set[Ssp]) -> int:
    rows = 0
    while waiting:
        for batch in consumer.poll(sorted(waiting), _POLLED, 1.0):
            rows += len(_value_column(batch.messages)) if len(batch.messages) else 0
            if batch.ended:
                waiting.discard(batch.ssp)
    return rows


def _value_column(messages: Messages) -> pa.BinaryArray:
    column = getattr(messages, "value_column", None)
    return pa.array(messages.values, pa.binary()) if column is None else column
