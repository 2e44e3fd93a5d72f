"""Offsets that brokers were asked for: a client that got no answer in time says so by an offset below 0."""

import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka.admin import OffsetSpec

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.kafka.kafka_client import request_with_retry
from streamapp_systems.kafka.topic_offsets import NOT_FOUND, read_offsets
from streamapp_systems.protocols import StreamDescriptor, Unavailable

STREAM = StreamDescriptor(name="s", system="kafka", address="topic", format=StreamFormat.JSON)


class Requests:
    """Requests of an admin whose client answers with one offset after the other, and with the last one from then on."""

    cluster = SimpleNamespace(timeout=0.5)

    def __init__(self, *offsets):
        self.offsets, self.client = list(offsets), self

    def deadline(self):
        return time.monotonic() + self.cluster.timeout

    def describe_expected(self, streams, deadline):
        return {"topic": SimpleNamespace(partitions=["one"])}

    def list_offsets(self, wanted, **_):
        offset = self.offsets.pop(0) if len(self.offsets) > 1 else self.offsets[0]
        return {at: _answered(SimpleNamespace(offset=offset)) for at in wanted}

    def request(self, ask, keys, deadline, transient, error_in):
        return request_with_retry(ask, keys, deadline, transient, permanent=lambda: False, error_in=error_in)

    def fail(self, what, error, needs):
        raise Unavailable(f"{what}: {error.str()}")


def _answered(answer):
    future = Future()
    future.set_result(answer)
    return future


def test_no_answer_is_no_empty_partition():
    with pytest.raises(Unavailable, match=r"kafka\.s\[0\] \(topic topic\): its end can't be read: no answer"):
        read_offsets(Requests(-1001), [STREAM], OffsetSpec.latest(), "end")


def test_an_answer_is_the_offset():
    assert read_offsets(Requests(7), [STREAM], OffsetSpec.latest(), "end") == {Ssp("kafka", "s", 0): 7}


def test_a_leader_that_gives_no_answer_is_asked_again():
    assert read_offsets(Requests(-1001, 7), [STREAM], OffsetSpec.latest(), "end") == {Ssp("kafka", "s", 0): 7}


def test_a_time_behind_all_records_is_an_answer_where_it_is_asked_for():
    requests, time_ = Requests(-1001, NOT_FOUND), OffsetSpec.for_timestamp(7)
    assert read_offsets(requests, [STREAM], time_, "time", lowest=NOT_FOUND) == {Ssp("kafka", "s", 0): NOT_FOUND}
    with pytest.raises(Unavailable):
        read_offsets(Requests(NOT_FOUND), [STREAM], OffsetSpec.latest(), "end")
