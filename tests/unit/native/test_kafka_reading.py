"""Records come out of librdkafka's queues as they are, whatever is in them; each is given back to it once."""

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_systems.native import kafka_reading
from streamapp_systems.native.kafka_reading import QueueReader, ReadingFunctions
from streamapp_systems.native.library import native_library
from streamapp_systems.protocols import Message
from support.machine import need

BYTES = st.none() | st.binary(max_size=40)
NAMES = st.binary(max_size=9).filter(lambda name: 0 not in name)
HEADERS = st.lists(st.tuples(NAMES, BYTES), max_size=3)
TIMES = st.integers(-(1 << 63), (1 << 63) - 1)
ABSENT = -1

NATIVE = native_library().functions


@pytest.fixture(scope="module", autouse=True)
def _native():
    need(() if NATIVE else (native_library().why_absent,))


class KafkaMessage(ctypes.Structure):
    """`struct kafka_message`."""

    _fields_ = (
        ("error", ctypes.c_int32),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_void_p),
        ("payload_size", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_size", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("client", ctypes.c_void_p),
    )


class KafkaPlace(ctypes.Structure):
    """`struct kafka_place`."""

    _fields_ = (("topic", ctypes.c_void_p), ("partition", ctypes.c_int32), ("offset", ctypes.c_int64))


FETCH, ERROR, OTHER = 2, 8, 4
POINTER = ctypes.POINTER(ctypes.c_void_p)
KINDS = {
    "queue_poll": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int),
    "event_type": (ctypes.c_int, ctypes.c_void_p),
    "event_message_next": (ctypes.c_void_p, ctypes.c_void_p),
    "event_error": (ctypes.c_int32, ctypes.c_void_p),
    "event_error_string": (ctypes.c_void_p, ctypes.c_void_p),
    "event_topic_partition": (ctypes.c_void_p, ctypes.c_void_p),
    "event_destroy": (None, ctypes.c_void_p),
    "topic_partition_destroy": (None, ctypes.c_void_p),
    "message_timestamp": (ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p),
    "message_headers": (ctypes.c_int, ctypes.c_void_p, POINTER),
    "header_get_all": (
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_size_t,
        POINTER,
        POINTER,
        ctypes.POINTER(ctypes.c_size_t),
    ),
    "topic_name": (ctypes.c_void_p, ctypes.c_void_p),
}


class Queue:
    """A queue, and what librdkafka does with it. Events and topics are numbers; a text has memory of its own size."""

    def __init__(self):
        self.events, self.held, self.waits = {}, [], []
        self.next, self.topics = 1, {}
        self.destroyed, self.places = [], []
        self.calls = {name: ctypes.CFUNCTYPE(*kind)(getattr(self, name)) for name, kind in KINDS.items()}
        self.functions = ReadingFunctions(*(ctypes.cast(call, ctypes.c_void_p) for call in self.calls.values()))

    def put(self, topic, partition, *, key=None, value=None, offset=0, time=0, headers=(), error=0):
        """Add a record; or with an error and no topic an event of no partition."""
        name = None if topic is None else self.kept(topic + b"\0")
        if error:
            place = None if topic is None else KafkaPlace(name, partition, offset)
            self.events[len(self.events) + 1] = (ERROR, place, error, self.kept((value or b"") + b"\0"))
            return
        number = self.topics.setdefault(topic, (len(self.topics) + 1, name))[0]
        told = [(self.kept(name + b"\0"), self.kept(value), len(value or b"")) for name, value in headers]
        size, key_size = len(value or b""), len(key or b"")
        made = KafkaMessage(0, number, partition, self.kept(value), size, self.kept(key), key_size, offset, None)
        self.events[len(self.events) + 1] = (FETCH, made, time, told)

    def kept(self, content):
        if content is None:
            return None
        self.held.append(ctypes.create_string_buffer(content, max(len(content), 1)))
        return ctypes.addressof(self.held[-1])

    def queue_poll(self, queue, milliseconds):
        self.waits.append(milliseconds)
        if self.next not in self.events:
            return None
        self.next += 1
        return self.next - 1

    def event_type(self, event):
        return self.events[event][0]

    def event_message_next(self, event):
        return ctypes.addressof(self.events[event][1])

    def event_error(self, event):
        return self.events[event][2]

    def event_error_string(self, event):
        return self.events[event][3]

    def event_topic_partition(self, event):
        place = self.events[event][1]
        if place is None:
            return None
        self.places.append(ctypes.addressof(place))
        return self.places[-1]

    def event_destroy(self, event):
        self.destroyed.append(event)

    def topic_partition_destroy(self, place):
        self.places.remove(place)

    def told(self, message):
        return next(event for event in self.events.values() if event[1] and ctypes.addressof(event[1]) == message)

    def message_timestamp(self, message, kind):
        return self.told(message)[2]

    def message_headers(self, message, headers):
        headers[0] = message
        return 0 if self.told(message)[3] else ABSENT

    def header_get_all(self, headers, at, name, value, size):
        told = self.told(headers)[3]
        if at >= len(told):
            return ABSENT
        name[0], value[0], size[0] = told[at]
        return 0

    def topic_name(self, topic):
        return next(address for number, address in self.topics.values() if number == topic)

    def reader(self):
        return QueueReader(NATIVE, self.functions, 1)


@st.composite
def records(draw):
    topic, partition = draw(st.sampled_from([b"a", b"b"])), draw(st.integers(0, 2))
    error = draw(st.sampled_from([0, 0, 0, 0, -191, 3]))
    return {
        "topic": topic,
        "partition": partition,
        "key": draw(BYTES),
        "value": draw(BYTES),
        "offset": draw(st.integers(0, 1 << 62)),
        "time": draw(TIMES),
        "headers": draw(HEADERS) if not error else (),
        "error": error,
    }


def read_as(headers):
    try:
        return tuple((name.decode(), value) for name, value in headers)
    except UnicodeDecodeError:
        return None


@given(given=st.lists(records(), max_size=25), most=st.integers(1, 30))
def test_each_partition_has_its_records_in_order_and_all_are_given_back(given, most):
    queue = Queue()
    for record in given:
        queue.put(**record)
    reader = queue.reader()
    found, events = {}, []
    while (taken := reader.take(most, 0)).taken:
        for (topic, partition), columns in taken.records:
            told = zip(columns, map(columns.headers, range(len(columns))), strict=True)
            found.setdefault((topic.encode(), partition), []).extend(told)
        events += [(each.topic.encode(), each.partition, each.offset, each.code, each.reason) for each in taken.events]
        assert queue.destroyed == list(range(1, queue.next))
        assert not queue.places
    wanted = {}
    for record in given:
        if not record["error"]:
            message = Message(record["offset"], record["time"], record["key"], record["value"])
            wanted.setdefault((record["topic"], record["partition"]), []).append((message, read_as(record["headers"])))
    assert found == wanted
    assert events == [
        (each["topic"], each["partition"], each["offset"], each["error"], until_zero(each["value"] or b""))
        for each in given
        if each["error"]
    ]


def until_zero(text):
    return text.partition(b"\0")[0].decode(errors="replace")


def test_only_the_first_one_is_waited_for():
    queue = Queue()
    for offset in range(3):
        queue.put(b"a", 0, offset=offset)
    assert queue.reader().take(100, 250).taken == 3
    assert queue.waits == [250, 0, 0, 0]


def test_an_error_may_be_of_no_partition():
    queue = Queue()
    queue.put(None, -1, error=-195, value=b"all brokers are down")
    (event,) = queue.reader().take(5, 0).events
    assert (event.topic, event.partition, event.code, event.reason) == (None, -1, -195, "all brokers are down")


def test_a_record_may_be_an_error_itself():
    queue = Queue()
    queue.put(b"a", 4, value=b"x", offset=9)
    queue.events[1][1].error = 3
    taken = queue.reader().take(5, 0)
    (event,) = taken.events
    assert (taken.records, event.topic, event.partition, event.offset, event.code) == ([], "a", 4, 9, 3)


def test_events_that_nobody_knows_are_given_back_and_passed_over():
    queue = Queue()
    queue.events[1] = (OTHER, None, 0, None)
    queue.put(b"a", 0, value=b"x")
    taken = queue.reader().take(5, 0)
    assert (taken.taken, [columns.values for _, columns in taken.records]) == (1, [[b"x"]])
    assert queue.destroyed == [1, 2]


def runs_of(queue, count):
    taken, runs, found = (kafka_reading._TakenEvent * count)(), (kafka_reading._MessageRun * count)(), ctypes.c_int64()
    answer = NATIVE.streamapp_take_messages(
        ctypes.byref(queue.functions), None, 0, taken, ctypes.c_int64(count), runs, ctypes.byref(found)
    )
    assert answer == count
    return taken, runs[: found.value]


def test_a_run_ends_before_its_columns_are_too_large():
    queue = Queue()
    for size in (400 << 20, 100 << 20, 100 << 20, 600 << 20, 1):
        queue.put(b"a", 0, value=b"")
        queue.events[len(queue.events)][1].payload_size = size  # it is only counted
    _, runs = runs_of(queue, 5)
    assert [run.count for run in runs] == [2, 1, 1, 1]
    parts = kafka_reading._parts([*runs, *runs])
    assert [[run.first for run in part] for part in parts] == [[0, 2, 3, 4, 0, 2], [3, 4]]


@pytest.mark.parametrize(
    "rows, row, count, room",
    [
        (2, 0, 3, 99),
        (3, -1, 1, 99),
        (3, 4, 1, 99),
        (3, 1, 3, 99),
        (3, 0, -1, 99),
        (3, 0, 3, 5),
        (3, 0, 3, -1),
        (3, 0, 3, 1 << 40),
    ],
)
def test_what_has_no_room_is_refused(rows, row, count, room):
    queue = Queue()
    for _ in range(3):
        queue.put(b"a", 0, value=b"xyz", key=b"k", headers=[(b"n", b"v")])
    taken, _ = runs_of(queue, 3)
    whole = [(ctypes.c_int64 * rows)(), (ctypes.c_int64 * rows)()]
    ends = [(ctypes.c_int32 * (rows + 1))() for _ in range(3)]
    data = [(ctypes.c_uint8 * max(min(room, 99), 0))() for _ in range(3)]
    columns = [
        kafka_reading._FilledColumn(ctypes.addressof(offsets), ctypes.addressof(bytes_), None, room)
        for offsets, bytes_ in zip(ends, data, strict=True)
    ]
    into = kafka_reading._MessageColumns(rows, *map(ctypes.addressof, whole), *columns)
    answer = NATIVE.streamapp_copy_messages(
        ctypes.byref(queue.functions), taken, ctypes.c_int64(count), ctypes.byref(into), ctypes.c_int64(row)
    )
    assert answer == -1
