"""The sources of a client's records: which one is taken, and what goes by the client's own queue."""

import os
import subprocess
import sys
import time

import pytest
from confluent_kafka import Consumer, KafkaError
from confluent_kafka import Message as Record

from streamapp_systems.kafka.native_records import NativeRecords, open_records
from streamapp_systems.kafka.record_source import ClientRecords
from streamapp_systems.native.kafka_reading import QueueEvent, TakenRecords
from streamapp_systems.native.library import SWITCH, native_library
from streamapp_systems.protocols import StreamSystemError
from support.machine import need

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}


class Own:
    """A client whose own queue has this record."""

    def __init__(self, record=None):
        self.record = record

    def poll(self, seconds):
        return self.record


class Taken:
    """A queue that has this."""

    def __init__(self, **taken):
        self.taken = TakenRecords(**taken)

    def take(self, most, milliseconds):
        return self.taken


@pytest.fixture
def client():
    problems = []
    client = Consumer({**NOBODY, "error_cb": problems.append})
    yield client, problems
    client.close()


def test_an_open_client_is_read_by_the_native_library(client):
    need(() if native_library().functions else (native_library().why_absent,))
    source = open_records(client[0])
    assert isinstance(source, NativeRecords)
    source.close()


def test_without_the_library_objects_are_read():
    code = (
        "from confluent_kafka import Consumer; from streamapp_systems.kafka.native_records import open_records; "
        f"print(type(open_records(Consumer({NOBODY}))).__name__)"
    )
    environment = {**os.environ, SWITCH: "off"}
    command = [sys.executable, "-c", code]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert told.strip() == ClientRecords.__name__


@pytest.mark.parametrize("open_source", [open_records, ClientRecords])
def test_problems_of_brokers_reach_python_while_records_are_waited_for(client, open_source):
    consumer, problems = client
    source = open_source(consumer)
    deadline = time.monotonic() + 60
    while not problems and time.monotonic() < deadline:
        assert source.receive(100).count == 0
        assert source.wait(0.01).count == 0
    source.close()
    assert {problem.code() for problem in problems} <= {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}
    assert problems


def test_events_of_both_queues_are_told():
    event = QueueEvent(topic="t", partition=3, offset=7, code=KafkaError._PARTITION_EOF, reason="end")
    own = Record(topic=None, partition=-1, offset=-1001, error=KafkaError(KafkaError._TRANSPORT, "away"))
    received = NativeRecords(Own(own), Taken(taken=1, events=[event])).receive(10)
    assert received.count == 2
    assert [(event.place, event.offset, event.error.code(), event.error.str()) for event in received.events] == [
        (("t", 3), 7, KafkaError._PARTITION_EOF, "end"),
        ((None, None), None, KafkaError._TRANSPORT, "away"),
    ]


def test_a_record_that_comes_by_the_client_s_own_queue_is_not_lost_in_silence():
    record = Record(topic="t", partition=3, offset=7, key=None, value=b"x", timestamp=(1, 7), error=None)
    source = NativeRecords(Own(record), Taken(taken=0))
    with pytest.raises(
        StreamSystemError, match=r"topic t, partition 3: the record at offset 7 .* STREAMAPP_NATIVE=off"
    ):
        source.receive(10)


def test_a_topic_that_is_missed_is_a_problem_which_may_pass():
    missed = QueueEvent(topic="t", partition=3, offset=0, code=KafkaError.UNKNOWN_TOPIC_OR_PART, reason="gone")
    end = QueueEvent(topic="t", partition=4, offset=7, code=KafkaError._PARTITION_EOF, reason="end")
    received = NativeRecords(Own(), Taken(taken=2, events=[missed, end])).receive(10)
    assert (received.count, [event.place for event in received.events]) == (1, [("t", 4)])
    assert [problem.code() for problem in received.problems] == [KafkaError.UNKNOWN_TOPIC_OR_PART]
