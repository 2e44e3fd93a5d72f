"""The embedded log: order and gaplessness whoever writes, atomic transactions, waiting."""

import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import FetchedBatch, Message, StreamSystemError, TransactionOwner
from support.logs import FIRST, OTHER, OWNER, SECOND, SSPS, STREAM, THIRD, FakeTime, create, poll, reading, values


def test_a_record_is_read_as_it_was_sent(path: Path, producer: LogProducer) -> None:
    producer.send(FIRST, b"v" * (1 << 20), key=b"k", timestamp=-5)
    producer.send(FIRST, None, key=b"k", timestamp=7)
    producer.send(THIRD, b"", timestamp=0)
    assert producer.commit() == {FIRST: 2, THIRD: 1}
    assert poll(path, dict.fromkeys(SSPS, 0)) == [
        FetchedBatch(
            ssp=THIRD,
            offset=0,
            next_offset=1,
            messages=(Message(offset=0, timestamp=0, key=None, value=b""),),
        ),
        FetchedBatch(
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
        producers = [LogProducer(path, [STREAM, OTHER], TransactionOwner(id=str(n), epoch=1)) for n in range(3)]
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
        producer = LogProducer(path, [STREAM, OTHER], TransactionOwner(id=str(name), epoch=1))
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
from streamapp_systems.log.log_database import connect, transaction
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner

path = Path(sys.argv[1])
stream = StreamDescriptor(name="s", system="log", address="app.s", format=StreamFormat.JSON)
producer = LogProducer(path, [stream], TransactionOwner(id="killed", epoch=1))
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


def test_a_poll_ends_after_its_timeout(path: Path) -> None:
    time = FakeTime()
    consumer = reading(path, {FIRST: 0}, time=time)
    assert list(consumer.poll([FIRST], 100, 0.02)) == []
    assert sum(time.sleeps) == pytest.approx(0.02)
    consumer.close()


def test_what_is_assigned_again_is_read_again_though_nothing_was_committed(path: Path, producer: LogProducer) -> None:
    producer.send(FIRST, b"", timestamp=0)
    producer.commit()
    consumer = reading(path, {FIRST: 0})
    read = [len(consumer.poll([FIRST], 100, 0)) for _ in range(3)]
    consumer.assign({FIRST: 0}, {})
    assert [*read, len(consumer.poll([FIRST], 100, 0))] == [1, 0, 0, 1]
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
