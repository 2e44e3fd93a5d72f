"""What is visible, and when: all of a transaction or nothing of it, and nothing of a producer that was replaced."""

import os
import signal
import subprocess
import sys

from support.kafka import ssp_of

ENDLESS_TRANSACTION = """
import sys
from support.kafka import Topics, cluster_at, ssp_of
address, prefix = sys.argv[1:]
topics = Topics(cluster_at(address), "")
topics.prefix = prefix
stream = topics.stream()
with topics.producer(stream) as producer:
    for number in range(5_000):
        producer.send(ssp_of(stream), b"zombie %d" % number, timestamp=1)
    producer._flush()
    print("sent", flush=True)
    sys.stdin.read()
"""


def test_of_a_killed_producer_nothing_is_visible(kafka, topics):
    stream = topics.create()
    command = [sys.executable, "-c", ENDLESS_TRANSACTION, kafka.bootstrap_servers, topics.prefix]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout.readline() == "sent\n"
        process.send_signal(signal.SIGKILL)
    with topics.producer(stream, epoch=2) as producer:
        producer.send(ssp_of(stream), b"mine", timestamp=1)
        assert producer.commit()[ssp_of(stream)] > 5_000
    assert topics.values(stream) == {ssp_of(stream): [b"mine"]}


def test_more_than_fits_the_producers_memory_is_written_all_the_same(topics):
    stream = topics.create()
    with topics.producer(stream) as producer:
        for number in range(100):
            producer.send(ssp_of(stream), b"%2d" % number * 400_000, timestamp=1)
        producer.commit()
    assert [value[:2] for value in topics.values(stream)[ssp_of(stream)]] == [b"%2d" % number for number in range(100)]
