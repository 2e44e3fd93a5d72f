"""The position of reading in a partition: every record once, in order, up to its end, even if fetched twice."""

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Message as Record
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.partition_positions import PartitionPosition
from streamapp_systems.kafka.record_runs import RecordMessages
from streamapp_systems.protocols import MessageColumns

SSP = Ssp("k", "s", 0)


def record(offset: int) -> Record:
    return Record(topic="s", partition=0, offset=offset, timestamp=(1, 7), key=None, value=b"%d" % offset, error=None)


def objects(offsets: list[int]) -> RecordMessages:
    return RecordMessages([record(offset) for offset in offsets])


def columns(offsets: list[int]) -> MessageColumns:
    return MessageColumns(
        offset_column=np.array(offsets, np.int64),
        timestamp_column=np.full(len(offsets), 7, np.int64),
        key_column=pa.nulls(len(offsets), pa.binary()),
        value_column=pa.array([b"%d" % offset for offset in offsets], pa.binary()),
    )


both_forms = pytest.mark.parametrize("run", [objects, columns])


@both_forms
@given(
    offsets=st.sets(st.integers(0, 60)),
    start=st.integers(0, 20),
    end=st.none() | st.integers(0, 70),
    cuts=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30))),
    limits=st.lists(st.integers(0, 10)),
)
def test_every_record_of_the_range_is_returned_once_and_in_order(run, offsets, start, end, cuts, limits) -> None:
    there = sorted(offset for offset in offsets if offset >= start)
    position = PartitionPosition(ssp=SSP, offset=start, end=end)
    batches = []
    arrived = 0
    for (again, count), limit in zip(cuts, [*limits, *([1_000] * len(cuts))], strict=False):
        fetched = there[max(0, arrived - again) : arrived + count]
        arrived = min(arrived + count, len(there))
        if fetched:
            position.buffer(run(fetched))
        batches.append(position.drain(limit))
    if there:
        position.buffer(run(there))
    position.advance_to(100)
    batches.append(position.drain(1_000))
    found = [batch for batch in batches if batch is not None]
    returned = [message for batch in found for message in batch.messages]
    wanted = [offset for offset in there if end is None or offset < end]
    assert [(message.offset, message.value) for message in returned] == [(at, b"%d" % at) for at in wanted]
    assert [batch.offset for batch in found[1:]] == [batch.next_offset for batch in found[:-1]]
    assert any(batch.ended for batch in found) == (end is not None)
    assert (position.buffered_bytes, position.buffered_rows) == (0, 0)


@both_forms
def test_an_end_that_is_a_gap_is_known_by_the_position(run) -> None:
    position = PartitionPosition(ssp=SSP, offset=0, end=10)
    position.buffer(run([3]))
    batch = position.drain(100)
    assert batch is not None
    assert (batch.next_offset, batch.ended) == (4, False)
    position.advance_to(10)
    batch = position.drain(100)
    assert batch is not None
    assert (batch.offset, batch.next_offset, len(batch.messages), batch.ended) == (4, 10, 0, True)


@both_forms
def test_a_record_beyond_the_end_says_that_the_end_was_passed(run) -> None:
    position = PartitionPosition(ssp=SSP, offset=0, end=10)
    position.buffer(run([3, 12]))
    batch = position.drain(100)
    assert batch is not None
    assert ([message.offset for message in batch.messages], batch.next_offset, batch.ended) == ([3], 10, True)


def test_without_news_there_is_no_batch() -> None:
    assert PartitionPosition(ssp=SSP, offset=5, end=None).drain(10) is None
