"""The position of reading in a partition: every record once, in order, up to its end, even if fetched twice."""

from confluent_kafka import Message as Record
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.partition_positions import PartitionPosition

SSP = Ssp("k", "s", 0)


def record(offset: int) -> Record:
    return Record(topic="s", partition=0, offset=offset, timestamp=(1, 7), key=None, value=b"%d" % offset, error=None)


@given(
    offsets=st.sets(st.integers(0, 60)),
    start=st.integers(0, 20),
    end=st.none() | st.integers(0, 70),
    cuts=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30))),
    limits=st.lists(st.integers(0, 10)),
)
def test_every_record_of_the_range_is_returned_once_and_in_order(
    offsets: set[int], start: int, end: int | None, cuts: list[tuple[int, int]], limits: list[int]
) -> None:
    there = sorted(offset for offset in offsets if offset >= start)
    position = PartitionPosition(ssp=SSP, offset=start, end=end)
    batches = []
    arrived = 0
    for (again, count), limit in zip(cuts, [*limits, *([1_000] * len(cuts))], strict=False):
        fetched = there[max(0, arrived - again) : arrived + count]
        arrived = min(arrived + count, len(there))
        position.buffer([record(offset) for offset in fetched])
        batches.append(position.drain(limit))
    position.buffer([record(offset) for offset in there])
    position.advance_to(100)
    batches.append(position.drain(1_000))
    found = [batch for batch in batches if batch is not None]
    returned = [message.offset for batch in found for message in batch.messages]
    assert returned == [offset for offset in there if end is None or offset < end]
    assert [batch.offset for batch in found[1:]] == [batch.next_offset for batch in found[:-1]]
    assert any(batch.ended for batch in found) == (end is not None)
    assert position.buffered_bytes == 0


def test_an_end_that_is_a_gap_is_known_by_the_position() -> None:
    position = PartitionPosition(ssp=SSP, offset=0, end=10)
    position.buffer([record(3)])
    batch = position.drain(100)
    assert batch is not None
    assert (batch.next_offset, batch.ended) == (4, False)
    position.advance_to(10)
    batch = position.drain(100)
    assert batch is not None
    assert (batch.offset, batch.next_offset, len(batch.messages), batch.ended) == (4, 10, 0, True)


def test_a_record_beyond_the_end_says_that_the_end_was_passed() -> None:
    position = PartitionPosition(ssp=SSP, offset=0, end=10)
    position.buffer([record(3), record(12)])
    batch = position.drain(100)
    assert batch is not None
    assert ([message.offset for message in batch.messages], batch.next_offset, batch.ended) == ([3], 10, True)


def test_without_news_there_is_no_batch() -> None:
    assert PartitionPosition(ssp=SSP, offset=5, end=None).drain(10) is None
