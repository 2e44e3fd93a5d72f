"""The maintenance of the embedded log: compaction, purging, and streams that come, grow and go."""

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError
from support.logs import FIRST, OTHER, OWNER, SECOND, SSPS, STREAM, THIRD, create, poll, reading, values

KEYED = st.lists(st.tuples(st.sampled_from([None, b"", b"a", b"b"]), st.sampled_from([None, b"1", b"2"])), max_size=12)


@given(records=KEYED, tombstones_before=st.integers(0, 13))
def test_compaction_keeps_the_last_record_of_each_key(
    records: list[tuple[bytes | None, bytes | None]], tombstones_before: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        create(path)
        producer = LogProducer(path, [STREAM, OTHER], OWNER)
        for offset, (key, value) in enumerate(records):
            producer.send(FIRST, value, key=key, timestamp=offset)
        producer.send(SECOND, b"", key=b"a", timestamp=0)
        producer.commit()
        last = {key: offset for offset, (key, _) in enumerate(records)}
        kept = [
            (offset, key, value)
            for offset, (key, value) in enumerate(records)
            if key is None or (last[key] == offset and (value is not None or offset >= tombstones_before))
        ]
        admin = LogAdmin(path)
        assert admin.compact(STREAM, tombstones_before=tombstones_before) == len(kept) + 1
        for ends in ({}, {FIRST: len(records)}):
            fetched = poll(path, {FIRST: 0}, ends)
            assert [(m.offset, m.key, m.value) for part in fetched for m in part.messages] == kept
            assert sum(part.next_offset - part.offset for part in fetched) == len(records)
        assert admin.end_offsets([STREAM])[FIRST] == len(records)
        assert values(path, SECOND) == [b""]
        admin.close()
        producer.close()


@pytest.mark.parametrize("below", [0, 1, 1_500, 2_000, 9_000])
def test_purged_records_are_gone_and_offsets_stay(path: Path, producer: LogProducer, below: int) -> None:
    for ssp in (FIRST, SECOND):
        for offset in range(2_000):
            producer.send(ssp, b"%d" % offset, timestamp=0)
    producer.commit()
    with closing(LogAdmin(path)) as admin:
        for _ in range(2):
            admin.delete_records([STREAM], {FIRST: below})
    producer.send(FIRST, b"new", timestamp=0)
    assert producer.commit() == {FIRST: 2_001}
    with closing(reading(path, {FIRST: 0, SECOND: 0})) as consumer:
        found = {part.ssp: [m.offset for m in part.messages] for part in consumer.poll([FIRST, SECOND], 10_000, 0)}
    assert found == {FIRST: [*range(min(below, 2_000), 2_001)], SECOND: [*range(2_000)]}


def test_a_log_whose_records_are_purged_does_not_grow(path: Path, producer: LogProducer) -> None:
    sizes = []
    with closing(LogAdmin(path)) as admin:
        for _ in range(20):
            producer.send(FIRST, bytes(200_000), timestamp=0)
            admin.delete_records([STREAM], {FIRST: producer.commit()[FIRST]})
            sizes.append(path.stat().st_size)
    assert sizes[-1] <= max(sizes[:10])


def test_streams_are_created_once_with_one_count(path: Path) -> None:
    admin = LogAdmin(path)
    new = StreamDescriptor(name="n", system="log", address="n", format=StreamFormat.ARROW)
    admin.create({STREAM: 2, new: 3})
    assert admin.partitions([STREAM, new]) == {"s": 2, "n": 3}
    late = StreamDescriptor(name="l", system="log", address="l", format=StreamFormat.ARROW)
    with pytest.raises(StreamSystemError, match=r"app\.s has 2 partitions in log .*, not 3"):
        admin.create({late: 1, STREAM: 3})
    assert admin.partitions([late]) == {}
    admin.close()


def test_an_expanded_stream_keeps_what_it_holds(path: Path, producer: LogProducer) -> None:
    producer.send(SECOND, b"1", timestamp=0)
    producer.commit()
    admin = LogAdmin(path)
    admin.expand(STREAM, 4)
    assert admin.end_offsets([STREAM]) == {Ssp("log", "s", p): int(p == 1) for p in range(4)}
    with pytest.raises(StreamSystemError, match=r"has 4 partitions .* can't be expanded to 2"):
        admin.expand(STREAM, 2)
    admin.close()


def test_deleted_streams_are_gone_and_others_stay(path: Path, producer: LogProducer) -> None:
    for ssp in SSPS:
        producer.send(ssp, b"1", timestamp=0)
    producer.commit()
    admin = LogAdmin(path)
    admin.delete([STREAM])
    admin.delete([STREAM])
    assert admin.partitions([STREAM, OTHER]) == {"o": 1}
    admin.create({STREAM: 2})
    assert values(path, FIRST) == []
    assert values(path, THIRD) == [b"1"]
    admin.close()


def test_to_ask_a_log_does_not_make_it(tmp_path: Path) -> None:
    admin = LogAdmin(tmp_path / "log.db")
    assert admin.partitions([STREAM]) == {}
    admin.close()
    assert not (tmp_path / "log.db").exists()
