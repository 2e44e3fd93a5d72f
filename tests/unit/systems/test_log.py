"""The embedded log: order and gaplessness whoever writes, atomic transactions, waiting, compaction."""

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.protocols import Fenced, Fetched, Message, StreamDescriptor, StreamSystemError, Transactional

STREAM = StreamDescriptor(name="s", system="log", address="app.s", format=StreamFormat.JSON)
OTHER = StreamDescriptor(name="o", system="log", address="app.o", format=StreamFormat.JSON)
OWNER = Transactional(id="run-0", epoch=1)
SSPS = [Ssp("log", "s", 0), Ssp("log", "s", 1), Ssp("log", "o", 0)]
FIRST, SECOND, THIRD = SSPS


class FakeTime:
    """A clock that only sleeping moves; `on_sleep` is called each time."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []
        self.on_sleep: Iterator[object] = iter(())

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds
        next(self.on_sleep, None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "state" / "log.db"
    create(path)
    return path


@pytest.fixture
def producer(path: Path) -> Iterator[LogProducer]:
    producer = LogProducer(path, [STREAM, OTHER], OWNER)
    yield producer
    producer.close()


def create(path: Path) -> None:
    admin = LogAdmin(path)
    admin.create({STREAM: 2, OTHER: 1})
    admin.close()


def reading(
    path: Path, starts: dict[Ssp, int], ends: dict[Ssp, int] | None = None, time: FakeTime | None = None
) -> LogConsumer:
    time = time or FakeTime()
    consumer = LogConsumer(path, [STREAM, OTHER], clock=time.clock, sleep=time.sleep)
    consumer.assign(starts, ends or {})
    return consumer


def poll(path: Path, starts: dict[Ssp, int], ends: dict[Ssp, int] | None = None) -> list[Fetched]:
    consumer = reading(path, starts, ends)
    fetched = list(consumer.poll(list(starts), 1_000, 0))
    consumer.close()
    return fetched


def values(path: Path, ssp: Ssp) -> list[bytes | None]:
    return [message.value for part in poll(path, {ssp: 0}) for message in part.messages]


def test_a_record_is_read_as_it_was_sent(path: Path, producer: LogProducer) -> None:
    producer.send(FIRST, b"v" * (1 << 20), key=b"k", timestamp=-5)
    producer.send(FIRST, None, key=b"k", timestamp=7)
    producer.send(THIRD, b"", timestamp=0)
    assert producer.commit() == {FIRST: 2, THIRD: 1}
    assert poll(path, dict.fromkeys(SSPS, 0)) == [
        Fetched(
            ssp=THIRD,
            offset=0,
            next_offset=1,
            messages=(Message(offset=0, timestamp=0, key=None, value=b""),),
        ),
        Fetched(
            ssp=FIRST,
            offset=0,
            next_offset=2,
            messages=(
                Message(offset=0, timestamp=-5, key=b"k", value=b"v" * (1 << 20)),
                Message(offset=1, timestamp=7, key=b"k", value=None),
            ),
        ),
    ]


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 2), st.sampled_from(SSPS)),
        st.tuples(st.sampled_from(["commit", "abort"]), st.integers(0, 2), st.none()),
        st.tuples(st.just("poll"), st.integers(0, 1), st.sets(st.sampled_from(SSPS), min_size=1)),
    ),
    max_size=60,
)


@given(operations=OPERATIONS, limits=st.tuples(st.integers(1, 5), st.integers(1, 5)))
def test_any_interleaving_keeps_order_and_leaves_no_gaps(
    operations: list[tuple[str, int, Ssp | set[Ssp]]], limits: tuple[int, int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        create(path)
        producers = [LogProducer(path, [STREAM, OTHER], Transactional(id=str(n), epoch=1)) for n in range(3)]
        consumers = [reading(path, dict.fromkeys(SSPS, 0)) for _ in range(2)]
        sent: list[list[tuple[Ssp, bytes]]] = [[], [], []]
        log: dict[Ssp, list[bytes]] = {ssp: [] for ssp in SSPS}
        seen: list[dict[Ssp, int]] = [dict.fromkeys(SSPS, 0) for _ in consumers]
        for number, (action, who, what) in enumerate(operations):
            if action == "send" and isinstance(what, Ssp):
                producers[who].send(what, b"%d" % number, timestamp=number)
                sent[who].append((what, b"%d" % number))
            elif action == "commit":
                for ssp, value in sent[who]:
                    log[ssp].append(value)
                assert producers[who].commit() == {ssp: len(log[ssp]) for ssp, _ in sent[who]}
                sent[who] = []
            elif action == "abort":
                producers[who].abort()
                sent[who] = []
            elif isinstance(what, set):
                fetched = consumers[who].poll(what, limits[who], 0)
                read = sum(len(part.messages) for part in fetched)
                assert read == min(limits[who], sum(len(log[ssp]) - seen[who][ssp] for ssp in what))
                for part in fetched:
                    assert part.offset == seen[who][part.ssp]
                    assert [message.offset for message in part.messages] == list(range(part.offset, part.next_offset))
                    found = [message.value for message in part.messages]
                    assert found == log[part.ssp][part.offset : part.next_offset]
                    seen[who][part.ssp] = part.next_offset
        for each in [*producers, *consumers]:
            each.close()


def test_producers_of_many_threads_take_turns(path: Path) -> None:
    def produce(name: int) -> None:
        producer = LogProducer(path, [STREAM, OTHER], Transactional(id=str(name), epoch=1))
        for number in range(0, 60, 2):
            for ssp in SSPS:
                producer.send(ssp, b"%d" % name, timestamp=number)
                producer.send(ssp, b"%d" % name, timestamp=number + 1)
            producer.commit()
        producer.close()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(produce, range(4)))
    for part in poll(path, dict.fromkeys(SSPS, 0)):
        assert [message.offset for message in part.messages] == list(range(240))
        for name in range(4):
            assert [m.timestamp for m in part.messages if m.value == b"%d" % name] == list(range(60))
        pairs = zip(part.messages[::2], part.messages[1::2], strict=True)
        assert all(first.value == second.value for first, second in pairs)


KILLED = """
import sys
from pathlib import Path
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogProducer
from streamapp_systems.log.database import connect, transaction
from streamapp_systems.protocols import StreamDescriptor, Transactional

path = Path(sys.argv[1])
stream = StreamDescriptor(name="s", system="log", address="app.s", format=StreamFormat.JSON)
producer = LogProducer(path, [stream], Transactional(id="killed", epoch=1))
producer.send(Ssp("log", "s", 0), b"committed", timestamp=0)
producer.commit()
connection = connect(path)
with transaction(connection, path, write=True):
    connection.execute("INSERT INTO records SELECT max(id) + 1, 0, NULL, zeroblob(10000000) FROM records")
    connection.execute("UPDATE shards SET next_offset = 2 WHERE next_offset = 1")
    print("in the middle", flush=True)
    sys.stdin.read()
"""


def test_a_killed_process_leaves_whole_transactions_only(path: Path, producer: LogProducer) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the middle\n"
        assert values(path, FIRST) == [b"committed"]
        process.kill()
    assert values(path, FIRST) == [b"committed"]
    producer.send(FIRST, b"next", timestamp=0)
    assert producer.commit() == {FIRST: 2}
    assert values(path, FIRST) == [b"committed", b"next"]


def test_nothing_is_visible_of_a_commit_that_failed(path: Path, producer: LogProducer) -> None:
    producer.send(FIRST, b"1", timestamp=0)
    producer.send(Ssp("log", "s", 2), b"2", timestamp=0)
    with pytest.raises(StreamSystemError, match=r"log\.s\[2\]: the log has no partition 2 of app\.s"):
        producer.commit()
    assert values(path, FIRST) == []
    producer.abort()
    assert producer.commit() == {}


def test_a_full_disk_loses_nothing_that_was_sent(path: Path, producer: LogProducer) -> None:
    producer._connection.execute("PRAGMA max_page_count = 20")
    for _ in range(1_000):
        producer.send(FIRST, b"v" * 10_000, timestamp=0)
    with pytest.raises(StreamSystemError, match=r"log\.db: .*SQLITE_FULL.*make room"):
        producer.commit()
    assert values(path, FIRST) == []
    producer._connection.execute("PRAGMA max_page_count = 10000")
    assert producer.commit() == {FIRST: 1_000}


def test_a_writer_that_never_ends_is_reported(path: Path) -> None:
    producer = LogProducer(path, [STREAM], OWNER, busy_seconds=0.01)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    producer.send(FIRST, b"1", timestamp=0)
    with pytest.raises(StreamSystemError, match="Another process holds its write lock"):
        producer.commit()
    blocker.close()
    assert producer.commit() == {FIRST: 1}
    producer.close()


def test_a_poll_waits_at_growing_intervals_until_something_is_committed(path: Path, producer: LogProducer) -> None:
    time = FakeTime()
    consumer = reading(path, {FIRST: 0}, time=time)
    time.on_sleep = (
        producer.commit() if number == 9 else producer.send(FIRST, b"", timestamp=0) for number in range(10)
    )
    (part,) = consumer.poll([FIRST], 100, 60)
    assert part.next_offset == 9
    assert time.sleeps == [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.05, 0.05, 0.05, 0.05]
    consumer.close()


def test_a_poll_gives_up_after_its_timeout(path: Path) -> None:
    time = FakeTime()
    consumer = reading(path, {FIRST: 0}, time=time)
    assert list(consumer.poll([FIRST], 100, 0.02)) == []
    assert sum(time.sleeps) == pytest.approx(0.02)
    consumer.close()


def test_a_bounded_partition_ends_once_and_keeps_nobody_waiting(path: Path, producer: LogProducer) -> None:
    for _ in range(3):
        producer.send(FIRST, b"", timestamp=0)
    producer.commit()
    time = FakeTime()
    consumer = reading(path, {FIRST: 1, SECOND: 0}, {FIRST: 2, SECOND: 0}, time)
    ended = [(part.ssp, part.next_offset, part.ended) for part in consumer.poll([FIRST, SECOND], 100, 60)]
    assert ended == [(FIRST, 2, True), (SECOND, 0, True)]
    assert list(consumer.poll([FIRST, SECOND], 100, 60)) == []
    assert time.sleeps == []
    consumer.close()


def test_a_poll_is_bounded_in_bytes_and_fair(path: Path, producer: LogProducer) -> None:
    for ssp in SSPS:
        for _ in range(20):
            producer.send(ssp, b"v" * (1 << 20), timestamp=0)
    producer.commit()
    consumer = reading(path, dict.fromkeys(SSPS, 0))
    polls = [[(part.ssp, len(part.messages)) for part in consumer.poll(SSPS, 1_000, 0)] for _ in range(4)]
    assert polls == [[(THIRD, 16)], [(FIRST, 16)], [(SECOND, 16)], [(THIRD, 4), (FIRST, 4), (SECOND, 4)]]
    consumer.close()


def test_reading_on_behind_the_end_of_a_log_is_refused(path: Path) -> None:
    with pytest.raises(StreamSystemError, match=r"log\.s\[0\]: reading is to go on at offset 1, but .* ends at 0"):
        poll(path, {FIRST: 1})


def test_a_stream_that_is_deleted_while_it_is_read_is_an_error(path: Path) -> None:
    consumer = reading(path, {FIRST: 0})
    admin = LogAdmin(path)
    admin.delete([STREAM])
    admin.create({STREAM: 2})
    with pytest.raises(StreamSystemError, match="was deleted"):
        consumer.poll([FIRST], 100, 0)
    admin.close()
    consumer.close()


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
            admin.purge([STREAM], {FIRST: below})
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
            admin.purge([STREAM], {FIRST: producer.commit()[FIRST]})
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


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no database, but long enough to be looked at" * 100)
    with pytest.raises(StreamSystemError, match=r"notes\.txt: .*correct the system's path"):
        LogAdmin(tmp_path / "notes.txt")


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (a)")
    other.close()
    with pytest.raises(StreamSystemError, match=r"other\.db is a database of another program"):
        LogAdmin(tmp_path / "other.db")


def test_a_log_of_a_newer_release_is_refused(path: Path) -> None:
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 3")
    newer.close()
    with pytest.raises(StreamSystemError, match=r"written by a newer release \(version 3, not 2\)"):
        LogAdmin(path)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StreamSystemError, match=r"SQLITE_CANTOPEN.*Check that the path is a file"):
        LogAdmin(tmp_path)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(StreamSystemError, match="its folder can't be made"):
        create(tmp_path / "state" / "log.db")


def test_a_log_may_be_made_by_many_at_once(tmp_path: Path) -> None:
    def make(_number: int) -> None:
        create(tmp_path / "log.db")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, range(16)))
    assert values(tmp_path / "log.db", FIRST) == []


def test_a_later_epoch_shuts_an_earlier_one_out(path: Path, producer: LogProducer) -> None:
    producer.send(FIRST, b"too late", timestamp=0)
    successor = LogProducer(path, [STREAM, OTHER], Transactional(id=OWNER.id, epoch=2))
    with pytest.raises(Fenced, match="run-0: epoch 2 has taken over from epoch 1"):
        producer.commit()
    successor.send(FIRST, b"mine", timestamp=0)
    successor.commit()
    with pytest.raises(Fenced):
        LogProducer(path, [STREAM], OWNER)
    successor.close()
    assert values(path, FIRST) == [b"mine"]


def test_within_an_epoch_the_last_one_that_opened_may_commit(path: Path, producer: LogProducer) -> None:
    producer.send(FIRST, b"too late", timestamp=0)
    successor = LogProducer(path, [STREAM, OTHER], OWNER)
    with pytest.raises(Fenced, match="run-0: a later producer of epoch 1 has taken over"):
        producer.commit()
    successor.send(FIRST, b"mine", timestamp=0)
    successor.commit()
    admin = LogAdmin(path)
    admin.fence([OWNER])
    admin.close()
    successor.send(FIRST, b"fenced", timestamp=0)
    with pytest.raises(Fenced):
        successor.commit()
    successor.close()
    assert values(path, FIRST) == [b"mine"]


def test_a_log_of_the_first_version_is_upgraded_with_its_fences(path: Path, producer: LogProducer) -> None:
    producer.close()
    older = sqlite3.connect(path)
    older.execute("ALTER TABLE fences DROP COLUMN turn")
    older.execute("UPDATE fences SET epoch = 7")
    older.execute("PRAGMA user_version = 1")
    older.commit()
    older.close()
    with pytest.raises(Fenced, match="epoch 7 has taken over"):
        LogProducer(path, [STREAM], OWNER)
    with closing(LogProducer(path, [STREAM], Transactional(id=OWNER.id, epoch=7))) as successor:
        successor.send(FIRST, b"mine", timestamp=0)
        successor.commit()
    assert values(path, FIRST) == [b"mine"]


def test_a_fence_is_for_its_ids_only(path: Path, producer: LogProducer) -> None:
    admin = LogAdmin(path)
    admin.fence([Transactional(id="run-1", epoch=7)])
    producer.send(FIRST, b"undisturbed", timestamp=0)
    producer.commit()
    admin.fence([Transactional(id=OWNER.id, epoch=2), Transactional(id="run-1", epoch=7)])
    with pytest.raises(Fenced):
        admin.fence([Transactional(id="new", epoch=1), Transactional(id="run-1", epoch=6)])
    producer.send(FIRST, b"fenced", timestamp=0)
    with pytest.raises(Fenced):
        producer.commit()
    admin.close()


def test_to_ask_a_log_does_not_make_it(tmp_path: Path) -> None:
    admin = LogAdmin(tmp_path / "log.db")
    assert admin.partitions([STREAM]) == {}
    admin.close()
    assert not (tmp_path / "log.db").exists()
