"""The CPU that results take on their way to Kafka's client, natively and without the native library.

Both ways are taken by turns in one process, and medians of all turns are printed: those of machines with other work are
still comparable. The client knows no broker: what its own threads and the network take is not in here, what its reports
of what became of records cost is.
"""

import gc
import random
import time
from collections.abc import Callable
from contextlib import nullcontext
from statistics import median

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer

from streamapp_systems.file.json_writing import json_texts
from streamapp_systems.kafka.record_sending import send_records
from streamapp_systems.native.library import without_native_library
from streamapp_systems.protocols import SentRecords

_ROWS, _ROUNDS, _KEYS = 20_000, 25, 100_000
_CLIENT = {"bootstrap.servers": "127.0.0.1:1", "log_level": "0", "queue.buffering.max.messages": "1000000"}


def main() -> None:
    gc.set_threshold(100_000, 20, 20)  # as in a worker
    draw = random.Random(7)
    rows = {"count": _counts(draw), "8 columns": _eight_columns(draw)}
    values = json_texts(rows["count"]).view(pa.binary())
    keys, times = rows["count"].column("sensor").view(pa.binary()), np.arange(1, _ROWS + 1)
    actions: dict[str, Callable[[], object]] = {
        **{f"JSON of rows, {name}": lambda batch=batch: json_texts(batch) for name, batch in rows.items()},
        "records with times": lambda: _send(SentRecords(timestamps=times, keys=keys, values=values)),
        "records without times": lambda: _send(SentRecords(timestamps=None, keys=keys, values=values)),
    }
    for what, action in actions.items():
        turns = [(_seconds(action, native=True), _seconds(action, native=False)) for _ in range(_ROUNDS)]
        native, other = (median(turn[way] for turn in turns) / _ROWS * 1e6 for way in range(2))
        times_as_fast = median(turn[1] / turn[0] for turn in turns)
        print(f"{what}: {native:.3f} microseconds a row, without the native library {other:.3f} ({times_as_fast:.1f}x)")


def _seconds(action: Callable[[], object], *, native: bool) -> float:
    with nullcontext() if native else without_native_library():
        began = time.process_time()
        action()
        return time.process_time() - began


def _send(records: SentRecords) -> None:
    producer = Producer(_CLIENT)
    for start in range(0, len(records), 5_000):
        send_records(producer, "results", 0, records[start : start + 5_000])
    producer.purge()
    while len(producer):
        producer.poll(0.01)


def _counts(draw: random.Random) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "sensor": [f"sensor-{draw.randrange(_KEYS):06}" for _ in range(_ROWS)],
            "readings": [draw.randrange(80) for _ in range(_ROWS)],
            "total": [draw.randrange(80_000) for _ in range(_ROWS)],
            "at": [1_700_000_000_000 + draw.randrange(10**9) for _ in range(_ROWS)],
        }
    )


def _eight_columns(draw: random.Random) -> pa.RecordBatch:
    times = [1_714_550_400_000_000 + draw.randrange(10**12) for _ in range(_ROWS)]
    return pa.record_batch(
        {
            "id": [draw.randrange(10**6) for _ in range(_ROWS)],
            "customer": [f"customer {draw.randrange(10**4)}" for _ in range(_ROWS)],
            "amount": [round(draw.random() * 100, 2) for _ in range(_ROWS)],
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "kind": [draw.choice("AB") for _ in range(_ROWS)],
            "count": pa.array([draw.randrange(100) for _ in range(_ROWS)], pa.int32()),
            "paid": [draw.random() < 0.5 for _ in range(_ROWS)],
            "note": [f"some text of a note {draw.randrange(10**6)}" for _ in range(_ROWS)],
        }
    )
