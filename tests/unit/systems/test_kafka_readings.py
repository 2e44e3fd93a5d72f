"""How far a partition was read: every record once, in order, up to its end, whatever comes twice or is missing."""

from confluent_kafka import Message as Record
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.partition_positions import Reading

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
def test_every_record_of_the_range_is_given_once_and_in_order(
    offsets: set[int], start: int, end: int | None, cuts: list[tuple[int, int]], limits: list[int]
) -> None:
    there = sorted(offset for offset in offsets if offset >= start)
    reading = Reading(ssp=SSP, offset=start, end=end)
    parts = []
    arrived = 0
    for (again, count), limit in zip(cuts, [*limits, *([1_000] * len(cuts))], strict=False):
        fetched = there[max(0, arrived - again) : arrived + count]
        arrived = min(arrived + count, len(there))
        reading.take([record(offset) for offset in fetched])
        parts.append(reading.give(limit))
    reading.take([record(offset) for offset in there])
    reading.reached(100)
    parts.append(reading.give(1_000))
    found = [part for part in parts if part is not None]
    given_out = [message.offset for part in found for message in part.messages]
    assert given_out == [offset for offset in there if end is None or offset < end]
    assert [part.offset for part in found[1:]] == [part.next_offset for part in found[:-1]]
    assert any(part.ended for part in found) == (end is not None)
    assert reading.held_bytes == 0


def test_an_end_that_is_a_gap_is_told_by_the_position() -> None:
    reading = Reading(ssp=SSP, offset=0, end=10)
    reading.take([record(3)])
    part = reading.give(100)
    assert part is not None
    assert (part.next_offset, part.ended) == (4, False)
    reading.reached(10)
    part = reading.give(100)
    assert part is not None
    assert (part.offset, part.next_offset, len(part.messages), part.ended) == (4, 10, 0, True)


def test_a_record_beyond_the_end_says_that_the_end_was_passed() -> None:
    reading = Reading(ssp=SSP, offset=0, end=10)
    reading.take([record(3), record(12)])
    part = reading.give(100)
    assert part is not None
    assert ([message.offset for message in part.messages], part.next_offset, part.ended) == ([3], 10, True)


def test_without_news_there_is_no_part() -> None:
    assert Reading(ssp=SSP, offset=5, end=None).give(10) is None
