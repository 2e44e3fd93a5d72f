"""Columns of records reach librdkafka as they are, in their order; what it does not take stays with the caller."""

import ctypes

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from hypothesis import given
from hypothesis import strategies as st

from streamapp_systems.native.kafka_writing import LibrdkafkaFunctions, produce_records, produce_with
from streamapp_systems.native.library import native_library
from streamapp_systems.native.librdkafka import handle_of, librdkafka
from support.machine import need

NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "client.id": "a b"}
POINTER, SIZE, INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
ARGUMENTS = (
    POINTER,
    INT,
    INT,
    INT,
    POINTER,
    INT,
    INT,
    INT,
    POINTER,
    SIZE,
    INT,
    POINTER,
    SIZE,
    INT,
    ctypes.c_int64,
    INT,
)
PAYLOADS = st.none() | st.binary(max_size=20)
RECORDS = st.lists(st.tuples(st.integers(-(2**62), 2**62), PAYLOADS, PAYLOADS), max_size=30)


@pytest.fixture(autouse=True)
def native():
    why = native_library().why_absent
    need(() if why is None else (why,))


class FakeClient:
    """Takes the place of librdkafka: keeps records, and refuses them from one on."""

    def __init__(self, most=1_000, knows_topic=True):
        self.records, self.handles, self._most, self._knows_topic = [], 0, most, knows_topic
        self._calls = (
            ctypes.CFUNCTYPE(INT, *ARGUMENTS)(self._produce),
            ctypes.CFUNCTYPE(POINTER, POINTER, ctypes.c_char_p, POINTER)(self._open),
            ctypes.CFUNCTYPE(None, POINTER)(self._close),
        )
        self.functions = LibrdkafkaFunctions(*(ctypes.cast(call, POINTER).value for call in self._calls))

    def _produce(self, client, *fields):
        flags, copy, kind, topic, at, partition, k, key, key_size, v, value, size, t, time, end = fields
        assert (client, flags, copy, at, k, v, t, end) == (77, 7, 2, 3, 5, 4, 8, 0)
        assert (kind, topic) == (2, 99) if self.handles else (kind, ctypes.string_at(topic)) == (1, b"topic")
        if len(self.records) == self._most:
            return -184
        payloads = [None if at is None else ctypes.string_at(at, n) for at, n in ((key, key_size), (value, size))]
        self.records.append((partition, time, *payloads))
        return 0

    def _open(self, client, topic, settings):
        assert (client, topic, settings) == (77, b"topic", None)
        self.handles += self._knows_topic
        return 99 if self._knows_topic else None

    def _close(self, handle):
        assert handle == 99
        self.handles -= 1


def columns(records, timed=True):
    return {
        "keys": pa.array([key for _, key, _ in records], pa.binary()),
        "values": pa.array([value for _, _, value in records], pa.binary()),
        "timestamps": np.array([time for time, _, _ in records], np.int64) if timed else 9,
    }


@given(RECORDS, st.booleans(), st.booleans(), st.integers(0, 30), st.data())
def test_records_arrive_as_they_are_up_to_the_first_that_is_refused(records, timed, known, most, data):
    client = FakeClient(most, known)
    begin = data.draw(st.integers(0, len(records)))
    sent = {name: all_ if isinstance(all_, int) else all_[begin:] for name, all_ in columns(records, timed).items()}
    taken = produce_with(client.functions, 77, "topic", 3, **sent)
    expected = [(3, max(time, 1) if timed else 9, key, value) for time, key, value in records[begin:]]
    assert client.records == expected[:taken]
    assert taken == min(most, len(expected))
    assert client.handles == 0


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=2, max_size=8), st.integers(0, 100), st.booleans())
def test_offsets_that_leave_the_data_are_refused_before_anything_is_sent(offsets, size, of_keys):
    client, count = FakeClient(), len(offsets) - 1
    numbers = np.zeros(len(offsets), np.int32)
    hostile = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(numbers), pa.py_buffer(bytes(size))])
    numbers[:] = offsets  # Arrow itself refuses them
    plain = pa.array([b"x"] * count, pa.binary())
    keys, values = (hostile, plain) if of_keys else (plain, hostile)
    well_formed = offsets[0] >= 0 and offsets[-1] <= size and offsets == sorted(offsets)
    if well_formed:
        assert produce_with(client.functions, 77, "topic", 0, keys=keys, values=values, timestamps=-3) == count
    else:
        with pytest.raises(ValueError, match="malformed: the offsets of a value are outside of its data"):
            produce_with(client.functions, 77, "topic", 0, keys=keys, values=values, timestamps=-3)
        assert client.records == []


def test_a_column_without_data_has_empty_values():
    client, empty, nothing = FakeClient(), pa.array([b"", b""], pa.binary()), pa.nulls(2, pa.binary())
    assert produce_with(client.functions, 77, "topic", 0, keys=nothing, values=empty, timestamps=-3) == 2
    assert client.records == [(0, 1, None, b"")] * 2


def test_the_installed_client_is_known_and_open_ones_have_handles():
    assert librdkafka() is not None
    with Producer(NOWHERE) as producer:
        assert librdkafka().rd_kafka_name(handle_of(producer)).startswith(b"a b#producer-")
    consumer = Consumer({**NOWHERE, "group.id": "g"})
    assert librdkafka().rd_kafka_name(handle_of(consumer)).startswith(b"a b#consumer-")
    consumer.close()
    assert handle_of(consumer) is None


@pytest.mark.parametrize(
    "settings, values, taken, error",
    [
        ({"queue.buffering.max.messages": 3}, [b"v"] * 10, 3, BufferError),
        ({"message.max.bytes": 2_000}, [b"v", b"", None, b"x" * 2_000, b"v"], 3, KafkaException),
        ({}, [b"v"] * 10_000, 10_000, None),
    ],
)
def test_what_the_client_refuses_stays_and_the_client_says_why(settings, values, taken, error):
    producer = Producer({**NOWHERE, **settings})
    sent = columns([(5, None, value) for value in values])
    assert produce_records(producer, "t", 0, **sent) == taken <= len(producer)
    if error is not None:
        with pytest.raises(error):
            producer.produce("t", values[taken], partition=0)
    producer.purge()
    producer.flush(10)
    assert len(producer) == 0
