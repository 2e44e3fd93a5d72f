"""Headers of records, those of hostile producers too."""

import socket
import struct

import pytest

from support.kafka_record_batches import encode_records

PRODUCE, VERSION = 0, 3


@pytest.fixture
def topics(topics_of_each_source):
    return topics_of_each_source


def produce(cluster, topic, batch):
    """Ask a broker to append a batch to partition 0, as no client would write it."""

    def text(content):
        return struct.pack(">h", len(content)) + content

    data = struct.pack(">iii", 1, 0, len(batch)) + batch
    request = struct.pack(">hhi", PRODUCE, VERSION, 1) + text(b"test")
    request += struct.pack(">hhii", -1, -1, 10_000, 1) + text(topic.encode()) + data
    host, port = cluster.bootstrap_servers.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        assert connection.recv(4)


def test_headers_are_read_with_their_records_and_names_that_are_no_text_harm_no_record(topics):
    stream = topics.create()
    headers = [(b"trace", b"\xff"), (b"none", None), (b"trace", b"2")]
    records = [(b"first", headers), (b"second", [(b"\xff\xfe", b"x")]), (b"third", [])]
    produce(topics.cluster, stream.address, encode_records(records))
    (parts,) = topics.read(stream).values()
    (messages,) = [part.messages for part in parts if part.messages]
    assert messages.values == [b"first", b"second", b"third"]
    assert [messages.headers(at) for at in range(3)] == [
        (("trace", b"\xff"), ("none", None), ("trace", b"2")),
        None,
        (),
    ]
    later = messages.between(1, 3)
    assert (later.values, later.headers(1)) == ([b"second", b"third"], ())
