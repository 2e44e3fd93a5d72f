"""Topics, producers and consumers for tests with a real broker."""

import re
import time
import uuid
from contextlib import closing, contextmanager

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.kafka import Cluster, KafkaAdmin, KafkaConsumer, KafkaProducer
from streamapp_systems.kafka.native_records import open_records
from streamapp_systems.kafka.record_source import ClientRecords
from streamapp_systems.protocols import SentRecords, StreamDescriptor, TransactionOwner

SYSTEM = "kafka"
DEADLINE = 120.0
"""Seconds until a test that waits for something fails."""
PATIENT = {"broker.session.timeout.ms": 3_600_000}
"""Settings of a broker that nobody kills: it may stand still, as on a busy machine, and no controller declares it dead.
The only broker's partitions are without a leader then, and such brokers forget transactions (docs/kafka.md)."""
TRANSACTION_BYTES = 10 << 20
"""Bytes that a transaction of a test takes at most: brokers abort one that takes longer than 15 s."""


def cluster_at(address, timeout=30.0, **settings):
    return Cluster(name=SYSTEM, bootstrap_servers=address, settings=settings, timeout=timeout)


SOURCES = {"columns": open_records, "objects": ClientRecords}
"""The ways in which consumers take records from their clients."""


class RealClients:
    """Opens the clients of a real cluster."""

    def __init__(self, cluster, source="columns"):
        self.cluster = cluster
        self.source = SOURCES[source]

    def open_admin(self):
        return KafkaAdmin(self.cluster)

    def open_consumer(self, streams):
        return KafkaConsumer(self.cluster, streams, self.source)

    def open_producer(self, streams, owner):
        return KafkaProducer(self.cluster, streams, owner)


class Topics:
    """The topics of one test: names that no other test has, in this run or another."""

    def __init__(self, cluster, test, clients=None):
        self.cluster = cluster
        self.clients = clients or RealClients(cluster)
        self.prefix = f"{re.sub('[^a-z0-9]+', '-', test.lower())[:100]}-{uuid.uuid4().hex[:8]}"

    def stream(self, name="s", *, keyed=False):
        return self.named(f"{self.prefix}.{name}", name, keyed=keyed)

    def named(self, topic, name="s", *, keyed=False):
        return StreamDescriptor(name=name, system=SYSTEM, address=topic, format=StreamFormat.JSON, keyed=keyed)

    def create(self, name="s", count=1, *, keyed=False):
        stream = self.stream(name, keyed=keyed)
        with closing(self.clients.open_admin()) as admin:
            admin.create({stream: count})
        return stream

    def owner(self, name="writer", epoch=1):
        return TransactionOwner(id=f"{self.prefix}.{name}", epoch=epoch)

    @contextmanager
    def producer(self, *streams, name="writer", epoch=1):
        """Open a producer; once it is closed, all it committed is visible (its id is initialised for that)."""
        owner = self.owner(name, epoch)
        with closing(self.clients.open_producer(streams, owner)) as producer:
            yield producer
        with closing(self.clients.open_admin()) as admin:
            admin.fence([owner])

    @contextmanager
    def consumer(self, starts, ends, *streams):
        with closing(self.clients.open_consumer(streams)) as consumer:
            consumer.assign(starts, ends)
            yield consumer

    def ends(self, *streams):
        with closing(self.clients.open_admin()) as admin:
            return admin.end_offsets(streams)

    def read(self, *streams, starts=None, ends=None, max_rows=10_000):
        """Read what is committed up to the ends there are now; returns the parts of each partition."""
        ends = ends or self.ends(*streams)
        parts = {ssp: [] for ssp in ends}
        with self.consumer(starts or dict.fromkeys(ends, 0), ends, *streams) as consumer:
            until_ended(consumer, parts, max_rows)
        return parts

    def values(self, *streams, **options):
        return {ssp: values_of(parts) for ssp, parts in self.read(*streams, **options).items()}


def committed(cluster, group):
    """Read the offsets of a consumer group, as ordinary tools do, by topic and partition."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    found = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result()
    return {(at.topic, at.partition): at.offset for at in found.topic_partitions}


def ssp_of(stream, partition=0):
    return Ssp(SYSTEM, stream.name, partition)


def write(topics, stream, values, *, aborted=0, partition=0):
    """Commit values to a partition, in transactions that no machine is too slow for, and abort so many more."""
    with topics.producer(stream) as producer:
        for some in _transactions(values):
            records = SentRecords.of(timestamps=[1] * len(some), keys=[None] * len(some), values=some)
            producer.send_all(ssp_of(stream, partition), records)
            producer.commit()
        for _ in range(aborted):
            producer.send(ssp_of(stream, partition), b"dropped", timestamp=1)
        producer.abort()


def _transactions(values):
    """Split values into parts of about 10 MB."""
    some, size = [], 0
    for value in values:
        some.append(value)
        size += len(value)
        if size > TRANSACTION_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def settled_ends(admin, *streams):
    """Wait until all that was written can be read: brokers write the ends of transactions later; give the ends."""
    ends = []

    def settled():
        ends[:] = [admin.end_offsets(streams), admin.written_offsets(streams)]
        return ends[0] == ends[1]

    eventually(settled, True)
    return ends[0]


def answered_ends(consumer, ssps):
    """Ask whether partitions are read to their ends, and poll until there is an answer."""
    question, deadline = consumer.ask_ends(ssps), time.monotonic() + DEADLINE
    while (found := question.poll()) is None:
        assert time.monotonic() < deadline
        consumer.poll(ssps, 0, 0.05)
    return found


def values_of(parts):
    return [message.value for part in parts for message in part.messages]


def eventually(read, expected):
    """Ask again until the answer is as expected."""
    deadline = time.monotonic() + DEADLINE
    while (found := read()) != expected and time.monotonic() < deadline:
        time.sleep(0.01)
    assert found == expected


def until_ended(consumer, parts, max_rows=10_000):
    """Poll until all of these partitions have ended, adding what comes to their parts."""
    waiting = set(parts)
    deadline = time.monotonic() + DEADLINE
    while waiting:
        assert time.monotonic() < deadline, f"not ended: {sorted(waiting)}"
        for part in consumer.poll(list(parts), max_rows, 0.2):
            parts[part.ssp].append(part)
            if part.ended:
                waiting.remove(part.ssp)
