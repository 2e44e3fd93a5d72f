"""Values and rows that are too large for one record of a broker take several: between tasks and in state."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.control_codec import decode
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.operators import JoinType
from streamapp_core.ssp import Ssp
from streamapp_runtime.operators.interval_join import IntervalJoin
from streamapp_runtime.rows.arrow_ipc import decode_rows
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.state.chunked_values import CHUNK_BYTES, delete_chunks, get_chunks, put_chunks
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter

RECORD_BYTES = 1_000_000
"""The default limit of Kafka's clients for one record."""
SCHEMA = pa.schema([("k", pa.int64()), ("text", pa.string()), EVENT_TIME_FIELD])


class Log:
    def __init__(self):
        self.messages = []

    def send_all(self, ssp, records):
        assert records.timestamps is None
        for value in records.values.to_pylist():
            assert len(value) <= RECORD_BYTES
            self.messages.append((ssp, value))


def rows(widths):
    numbers = range(len(widths))
    return pa.table({"k": numbers, "text": ["x" * width for width in widths], EVENT_TIME_COLUMN: numbers}, SCHEMA)


@pytest.mark.parametrize(
    "widths", [[400] * 25_000, [10] * 9_000 + [300_000] * 7, [700_000] * 3, [0, 890_000, 0], [5] * 30]
)
def test_rows_between_tasks_fit_records_and_come_in_order(widths):
    log = Log()
    writer = IntermediateWriter(log, {"by": ("kafka", 1)}, {"by": SCHEMA}, ["Partition 0"])
    writer.add("by", rows(widths), None)
    writer.flush()
    tables = [decode_rows(decode(value, ssp=ssp, offset=0).data, SCHEMA, ssp, 0) for ssp, value in log.messages]
    assert {ssp for ssp, _ in log.messages} == {Ssp("kafka", "by", 0)}
    assert pa.concat_tables(tables).equals(rows(widths))
    assert len(tables) == 1 or sum(widths) > RECORD_BYTES // 2


@settings(deadline=None)
@given(st.lists(st.integers(0, 2 * CHUNK_BYTES + 2), min_size=1, max_size=4))
def test_a_value_of_any_size_comes_back_from_its_chunks_and_leaves_nothing(sizes):
    store = MemoryEnvironment().store("s")
    put_chunks(store, b"neighbour", b"here")
    for number, size in enumerate(sizes):
        value = bytes([number]) * size
        put_chunks(store, b"key", value)
        assert get_chunks(store, b"key") == value
        assert all(len(piece) <= CHUNK_BYTES for _, piece in store.scan())
    delete_chunks(store, b"key")
    assert get_chunks(store, b"key") is None
    assert list(store.scan()) == [(b"neighbour", b"here")]


def test_the_rows_that_a_join_keeps_fit_records_and_are_found_after_a_restart():
    environment, count = MemoryEnvironment(), 120_000
    left = pa.schema([("k", pa.int64()), ("a", pa.int64())])
    right = pa.schema([("k", pa.int64()), ("b", pa.int64())])
    numbers = pa.array(range(count))

    def join():
        kind, schemas = JoinType.LEFT, (left, right)
        return IntervalJoin(
            environment.store("j"), keys=(["k"], ["k"]), schemas=schemas, kind=kind, before=count, after=count
        )

    first = join()
    first.process_left(pa.table({"k": numbers, "a": numbers, EVENT_TIME_COLUMN: numbers}))
    first.process_right(pa.table({"k": numbers[:10], "b": numbers[:10], EVENT_TIME_COLUMN: numbers[:10]}))
    first.flush()
    assert all(len(value) <= RECORD_BYTES for _, value in environment.store("j").scan())
    second = join()
    pairs = second.process_right(pa.table({"k": numbers[10:], "b": numbers[10:], EVENT_TIME_COLUMN: numbers[10:]}))
    assert sorted(pairs.column("a").to_pylist()) == list(range(10, count))
    alone = second.advance_watermark(3 * count)
    second.flush()
    assert alone is None
    assert list(environment.store("j").scan()) == []
