"""Behaviour of Kafka's clients: of the real ones on a real broker, and so of the simulated ones.

Each `check_*` takes the topics of a test, whose clients are real or simulated, and an admin of theirs.
"""

from contextlib import closing

import pytest

from streamapp_systems.protocols import Fenced, StreamSystemError
from support.kafka import DEADLINE, ssp_of, values_of, write


def check_keys_values_timestamps_and_tombstones_come_back(topics, admin):
    stream = topics.create("s", 2, keyed=True)
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"v", key=b"k", timestamp=1_700_000_000_123)
        producer.send(ssp_of(stream), None, key=b"k", timestamp=5)
        producer.send(ssp_of(stream, 1), b"", key=b"", timestamp=-7)
        assert producer.commit() == {ssp_of(stream): 2, ssp_of(stream, 1): 1}
    parts = topics.read(stream)
    records = [tuple(message) for part in parts[ssp_of(stream)] for message in part.messages]
    assert records == [(0, 1_700_000_000_123, b"k", b"v"), (1, 5, b"k", None)]
    assert [tuple(message) for part in parts[ssp_of(stream, 1)] for message in part.messages] == [(0, 1, b"", b"")]


def check_each_partition_keeps_its_order_over_transactions(topics, admin):
    stream = topics.create("s", 3)
    with topics.producer(stream) as producer:
        for number in range(9_000):
            producer.send(ssp_of(stream, number % 3), b"%d" % number, timestamp=1)
            if number % 2_000 == 1_999:
                producer.commit()
        producer.commit()
    for ssp, values in topics.values(stream).items():
        assert values == [b"%d" % number for number in range(ssp.partition, 9_000, 3)]


def check_reading_goes_on_at_the_offset_that_a_commit_gave(topics, admin):
    stream = topics.create()
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"1", timestamp=1)
        after = producer.commit()
        producer.send(ssp_of(stream), b"2", timestamp=1)
        producer.commit()
    assert topics.values(stream, starts=after) == {ssp_of(stream): [b"2"]}


def check_nothing_is_visible_before_the_commit_or_after_an_abort(topics, admin):
    stream = topics.create()
    with topics.producer(stream) as producer:
        for _ in range(3_000):
            producer.send(ssp_of(stream), b"dropped", timestamp=1)
        with topics.consumer({ssp_of(stream): 0}, {}, stream) as consumer:
            assert consumer.poll([ssp_of(stream)], 10_000, 0.3) == []
        producer.abort()
        assert producer.commit() == {}
        producer.send(ssp_of(stream), b"kept", timestamp=1)
        producer.commit()
    assert topics.values(stream) == {ssp_of(stream): [b"kept"]}


def check_a_closed_producer_has_aborted(topics, admin):
    stream = topics.create()
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"dropped", timestamp=1)
    assert topics.values(stream) == {ssp_of(stream): []}


def check_a_later_owner_shuts_an_earlier_one_out(topics, admin):
    stream = topics.create()
    with topics.producer(stream) as zombie:
        zombie.send(ssp_of(stream), b"zombie", timestamp=1)
        with topics.producer(stream, epoch=2) as producer:
            with pytest.raises(Fenced, match=r"producer .*writer: .*A later producer has taken over"):
                zombie.commit()
            with pytest.raises(Fenced):
                zombie.send(ssp_of(stream), b"zombie", timestamp=1)
            producer.send(ssp_of(stream), b"mine", timestamp=1)
            producer.commit()
    assert topics.values(stream) == {ssp_of(stream): [b"mine"]}


def check_fenced_ids_can_not_commit_what_they_have_sent(topics, admin):
    stream = topics.create()
    with topics.producer(stream, name="a") as first, topics.producer(stream, name="b") as second:
        for _ in range(2_000):
            first.send(ssp_of(stream), b"a", timestamp=1)
        second.send(ssp_of(stream), b"b", timestamp=1)
        admin.fence([topics.owner("a", 2), topics.owner("b", 2), topics.owner("never-used", 2)])
        for zombie in (first, second):
            with pytest.raises(Fenced):
                zombie.commit()
    assert topics.values(stream) == {ssp_of(stream): []}


def check_a_partition_that_is_not_there_is_not_written(topics, admin):
    stream = topics.create("s", 2)
    with topics.producer(stream, topics.stream("gone")) as producer:
        with pytest.raises(StreamSystemError, match=rf"kafka\.s\[2\]: .* no partition 2 of topic {stream.address}"):
            producer.send(ssp_of(stream, 2), b"", timestamp=1)
        with pytest.raises(StreamSystemError, match=r"kafka\.gone\[0\]: .* Create the topic first"):
            producer.send(ssp_of(topics.stream("gone")), b"", timestamp=1)
        with pytest.raises(StreamSystemError, match="not given when the producer was opened; there were gone, s"):
            producer.send(ssp_of(topics.stream("other")), b"", timestamp=1)


def send_and_commit(producer, stream, records):
    """Send records, of which a client may refuse some at once, and commit."""
    for value, key in records:
        producer.send(ssp_of(stream), value, key=key, timestamp=1)
    producer.commit()


def check_after_a_refused_record_the_transaction_can_only_be_aborted(topics, admin):
    refused = [(b"x" * 2_000_000, b"k", r"max\.message\.bytes"), (b"x", None, "the record has no key")]
    for number, (value, key, advice) in enumerate(refused):
        stream = topics.create(f"s{number}", keyed=True)
        with topics.producer(stream) as producer:
            producer.send(ssp_of(stream), b"before", key=b"k", timestamp=1)
            for records in ([(value, key)], []):
                with pytest.raises(StreamSystemError, match=advice):
                    send_and_commit(producer, stream, records)
            producer.abort()
            with pytest.raises(StreamSystemError, match=advice):
                producer.send(ssp_of(stream), b"after", key=b"k", timestamp=1)
        with topics.producer(stream) as producer:
            producer.send(ssp_of(stream), b"after", key=b"k", timestamp=1)
            producer.commit()
        assert topics.values(stream) == {ssp_of(stream): [b"after"]}


def check_a_bounded_partition_ends_though_its_last_offsets_hold_nothing(topics, admin):
    stream = topics.create()
    write(topics, stream, [b"1", b"2"], aborted=3_000)
    ends = topics.ends(stream)
    assert ends[ssp_of(stream)] > 3_000
    parts = topics.read(stream)[ssp_of(stream)]
    assert values_of(parts) == [b"1", b"2"]
    assert [part.ended for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].next_offset == ends[ssp_of(stream)]


def check_a_bound_between_records_holds_while_more_are_there(topics, admin):
    stream = topics.create()
    write(topics, stream, [b"%d" % number for number in range(2_000)])
    end = {ssp_of(stream): 1_234}
    assert topics.values(stream, ends=end)[ssp_of(stream)] == [b"%d" % number for number in range(1_234)]


def check_a_partition_that_is_read_already_ends_at_once_and_is_then_silent(topics, admin):
    stream = topics.create("s", 2)
    write(topics, stream, [b"1"])
    ends = topics.ends(stream)
    with topics.consumer(ends, ends, stream) as consumer:
        (first, second) = consumer.poll(list(ends), 10, DEADLINE)
        assert first.ended
        assert second.ended
        assert consumer.poll(list(ends), 10, DEADLINE) == ()


def check_parts_follow_each_other_without_a_break(topics, admin):
    stream = topics.create("s", 3)
    for partition in range(3):
        write(topics, stream, [b"%d" % number for number in range(3_000)], aborted=10, partition=partition)
    for parts in topics.read(stream, max_rows=500).values():
        assert [part.offset for part in parts] == [0, *(part.next_offset for part in parts[:-1])]
        for part in parts:
            assert all(part.offset <= message.offset < part.next_offset for message in part.messages)


def check_one_poll_brings_no_more_rows_than_asked(topics, admin):
    stream = topics.create("s", 4)
    for partition in range(4):
        write(topics, stream, [b"x"] * 4_000, partition=partition)
    parts = topics.read(stream, max_rows=700)
    assert {len(values_of(found)) for found in parts.values()} == {4_000}
    assert all(len(part.messages) <= 700 for found in parts.values() for part in found)


def check_reading_from_0_begins_with_what_is_still_there(topics, admin):
    stream = topics.create()
    write(topics, stream, [b"1", b"2", b"3"])
    admin.delete_records([stream], {ssp_of(stream): 2})
    assert topics.values(stream) == {ssp_of(stream): [b"3"]}


def check_records_that_were_deleted_before_they_were_read_are_missed_by_name(topics, admin):
    stream = topics.create()
    write(topics, stream, [b"1", b"2", b"3"])
    admin.delete_records([stream], {ssp_of(stream): 2})
    for start in (1, 100):
        with (
            pytest.raises(
                StreamSystemError, match=rf"kafka\.s\[0\]: .* at offset {start}, but .* holds 2 to 4: .* new"
            ),
            topics.consumer({ssp_of(stream): start}, {}, stream),
        ):
            pass


def check_a_partition_that_is_not_there_is_not_read(topics, admin):
    stream = topics.create()
    with closing(topics.clients.open_consumer([stream, topics.stream("gone")])) as consumer:
        with pytest.raises(StreamSystemError, match=rf"kafka\.s\[1\]: .* no partition 1 of topic {stream.address}"):
            consumer.assign({ssp_of(stream, 1): 0}, {})
        with pytest.raises(StreamSystemError, match=r"kafka\.gone\[0\]: .* Create the topic first"):
            consumer.assign({ssp_of(topics.stream("gone")): 0}, {})


def check_a_missing_stream_is_absent(topics, admin):
    there = topics.create("there", 3)
    assert admin.partitions([there, topics.stream("gone")]) == {"there": 3}
    assert admin.end_offsets([topics.stream("gone")]) == {}


def check_creating_again_changes_nothing(topics, admin):
    stream = topics.create("s", 2)
    admin.create({stream: 2, topics.stream("t"): 1})
    assert admin.partitions([stream, topics.stream("t")]) == {"s": 2, "t": 1}


def check_another_count_is_refused_by_name_and_nothing_is_made(topics, admin):
    stream = topics.create("s", 2)
    with pytest.raises(StreamSystemError, match=rf"stream s: topic {stream.address} has 2 partitions .* not 3"):
        admin.create({topics.stream("t"): 1, stream: 3})
    assert admin.partitions([topics.stream("t")]) == {}


def check_deleted_streams_are_gone_and_deleting_again_is_no_error(topics, admin):
    stream = topics.create()
    admin.delete([stream, topics.stream("gone")])
    assert admin.partitions([stream]) == {}
    admin.delete([stream])


def check_an_end_lies_before_an_open_transaction(topics, admin):
    stream = topics.create("s", 2)
    write(topics, stream, [b"1"])
    with topics.producer(stream) as producer:
        for _ in range(10):
            producer.send(ssp_of(stream), b"open", timestamp=1)
        producer._flush()
        assert admin.end_offsets([stream]) == {ssp_of(stream): 2, ssp_of(stream, 1): 0}
        assert admin.written_offsets([stream])[ssp_of(stream)] > 2


def check_a_name_kafka_does_not_allow_is_refused_by_name(topics, admin):
    stream = topics.stream("no spaces")
    with pytest.raises(StreamSystemError, match=r"no spaces can't be .*"):
        admin.create({stream: 1})


def check_purged_records_are_gone_and_offsets_stay(topics, admin):
    stream = topics.create("s", 2)
    with topics.producer(stream) as producer:
        for partition in range(2):
            for number in range(5):
                producer.send(ssp_of(stream, partition), b"%d" % number, timestamp=1)
        producer.commit()
    ends = admin.end_offsets([stream])
    for _ in range(2):
        admin.delete_records([stream, topics.stream("gone")], {ssp_of(stream): 3, ssp_of(topics.stream("gone")): 1})
    assert topics.values(stream) == {
        ssp_of(stream): [b"3", b"4"],
        ssp_of(stream, 1): [b"0", b"1", b"2", b"3", b"4"],
    }
    assert admin.end_offsets([stream]) == ends


def check_a_stream_that_is_recreated_is_another_one(topics, admin):
    stream = topics.create()
    before = admin.identities([stream, topics.stream("gone")])
    assert before["s"]
    assert before["gone"] == ""
    admin.delete([stream])
    admin.create({stream: 1})
    assert admin.identities([stream])["s"] not in ("", before["s"])


def check_streams_grow_and_keep_what_they_hold(topics, admin):
    stream = topics.create()
    write(topics, stream, [b"1"])
    for _ in range(2):
        admin.expand(stream, 3)
    assert admin.partitions([stream]) == {"s": 3}
    write(topics, stream, [b"2"], partition=2)
    assert topics.values(stream) == {ssp_of(stream): [b"1"], ssp_of(stream, 1): [], ssp_of(stream, 2): [b"2"]}
    with pytest.raises(StreamSystemError, match=r"can't be expanded to 2 partitions"):
        admin.expand(stream, 2)
    with pytest.raises(StreamSystemError, match=r"can't be expanded to 2 partitions"):
        admin.expand(topics.stream("gone"), 2)


def check_a_stream_that_is_deleted_under_its_reader_is_missed(topics, admin):
    stream = topics.create()
    write(topics, stream, [b"1"])
    with topics.consumer({ssp_of(stream): 0}, {}, stream) as consumer:
        (part,) = consumer.poll([ssp_of(stream)], 10, DEADLINE)
        assert values_of([part]) == [b"1"]
        admin.delete([stream])
        with pytest.raises(StreamSystemError, match=r"was deleted while it was read"):
            poll_on(consumer, ssp_of(stream))


def poll_on(consumer, ssp):
    """Poll for a while, whatever comes."""
    for _ in range(60):
        consumer.poll([ssp], 10, 1.0)
