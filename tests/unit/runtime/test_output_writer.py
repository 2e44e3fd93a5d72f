"""Rows that were gathered for an output arrive as they came, partition by partition, whatever their columns."""

import json

import pyarrow as pa
import pytest

from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.writing.output_writer import OutputWriter
from support.plan_documents import accepted, document

NOW = 99
OPERATORS = [{"name": "sent", "from": "in", "sendTo": "out"}]


class Log:
    def __init__(self):
        self.records = {}

    def send_all(self, ssp, records):
        assert records.timestamps is not None
        self.records.setdefault(ssp.partition, []).extend(records.rows(NOW))


def rows(column, keys, times):
    times = pa.array(times, pa.int64())
    return pa.table({"k": keys, column: range(len(keys)), EVENT_TIME_COLUMN: times})


def output(key, partitions=3):
    out = {"system": "log"} if key is None else {"system": "log", "key": key}
    app = document(OPERATORS, streams={"in": "k string, n bigint", "out": out})
    return accepted(app, {"in": 1, "out": partitions}).streams["out"]


@pytest.mark.parametrize("count", [3, 30_000])
def test_rows_of_a_key_keep_their_order_when_their_columns_change(count):
    log = Log()
    writer, stream, keys = OutputWriter(log, lambda: NOW), output("k"), [f"k{n % 7}" for n in range(count)]
    for column in ("n", "m", "n"):
        writer.add(stream, rows(column, keys, range(count)), spread=5)
    writer.flush()
    writer.flush()
    found = {}
    for records in log.records.values():
        for _, key, value in records:
            found.setdefault(key.decode(), []).append(json.loads(value))
    own = {key: [n for n in range(count) if keys[n] == key] for key in set(keys)}
    assert found == {
        key: [{"k": key, column: n} for column in ("n", "m", "n") for n in numbers] for key, numbers in own.items()
    }


def test_without_a_key_the_rows_of_a_task_go_to_its_own_partition_and_have_a_time():
    log = Log()
    writer, stream = OutputWriter(log, lambda: NOW), output(None)
    for spread in (4, 2, 4):
        writer.add(stream, rows("n", ["x", "y"], [7, None]), spread=spread)
    writer.flush()
    times = {partition: [(time, key) for time, key, _ in records] for partition, records in log.records.items()}
    assert times == {1: [(7, None), (NOW, None)] * 2, 2: [(7, None), (NOW, None)]}
