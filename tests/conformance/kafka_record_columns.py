"""Behaviour of Kafka's producers with columns of many records: of real ones, natively or not, and of simulated ones.

Each `check_*` takes the topics of a test, whose clients are real or simulated.
"""

import pytest

from streamapp_systems.protocols import Fenced, SentRecords, StreamSystemError
from support.kafka import ssp_of

COUNT = 5_003


def check_many_records_come_back_as_they_were_sent_in_their_order(topics):
    stream = topics.create("s", 2)
    keys = [(None, b"", b"key %d" % number)[number % 3] for number in range(COUNT)]
    values = [(b"value %d" % number, b"", None, b"\x00\xff")[number % 4] for number in range(COUNT)]
    times = [(-7, 0, 5, 1_600_000_000_123)[number % 4] for number in range(COUNT)]
    records = SentRecords.of(timestamps=times, keys=keys, values=values)
    with topics.producer(stream) as producer:
        producer.send_all(ssp_of(stream), records[:3_000])
        producer.send(ssp_of(stream), b"between", key=b"b", timestamp=9)
        producer.send_all(ssp_of(stream, 1), records[:2])
        producer.send_all(ssp_of(stream), records[3_000:])
        producer.send_all(ssp_of(stream), SentRecords.of(timestamps=None, keys=keys[:5], values=values[:5]))
        assert producer.commit() == {ssp_of(stream): COUNT + 6, ssp_of(stream, 1): 2}
    parts = topics.read(stream)
    found = [message for part in parts[ssp_of(stream)] for message in part.messages]
    expected = list(zip([max(time, 1) for time in times], keys, values, strict=True))
    assert [tuple(message)[1:] for message in found[:-5]] == [
        *expected[:3_000],
        (9, b"b", b"between"),
        *expected[3_000:],
    ]
    assert [(message.key, message.value) for message in found[-5:]] == [(key, value) for _, key, value in expected[:5]]
    assert all(message.timestamp > times[3] for message in found[-5:])
    assert [message.offset for message in found] == list(range(COUNT + 6))


def check_one_of_many_records_that_is_too_large_fails_all_of_them(topics):
    stream = topics.create()
    values = [b"x"] * 1_000 + [b"x" * 2_000_000] + [b"x"] * 1_000
    with topics.producer(stream) as producer:
        for _ in range(2):
            with pytest.raises(StreamSystemError, match=r"max\.message\.bytes"):
                send_and_commit(producer, stream, values)
        producer.abort()
    assert topics.values(stream) == {ssp_of(stream): []}


def check_one_that_sends_many_records_is_fenced_by_a_later_owner(topics):
    stream = topics.create()
    with topics.producer(stream) as zombie:
        zombie.send_all(ssp_of(stream), SentRecords.of(timestamps=None, keys=[None] * 2, values=[b"zombie"] * 2))
        with topics.producer(stream, epoch=2) as producer:
            send_and_commit(producer, stream, [b"mine"] * 2_000)
        with pytest.raises(Fenced):
            send_and_commit(zombie, stream, [b"zombie"] * 2_000)
    assert topics.values(stream) == {ssp_of(stream): [b"mine"] * 2_000}


def send_and_commit(producer, stream, values):
    records = SentRecords.of(timestamps=None, keys=[None] * len(values), values=values)
    producer.send_all(ssp_of(stream), records)
    producer.commit()
