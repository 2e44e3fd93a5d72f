"""Topics that grow under a running app and between its starts: exact counts, and every key in order."""

import json
import time
import uuid
from contextlib import closing

import pytest
from confluent_kafka import Producer as Client

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import StreamSystemError
from support import start_from
from support.growth import HUB, Growing, partitions
from support.kafka import eventually, ssp_of

KEYS = range(16)


@pytest.fixture
def app(tmp_path, kafka):
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    return Growing(tmp_path, system, name=f"app-{uuid.uuid4().hex[:8]}")


class PatientProducer:
    """A producer whose transactions may stay open for minutes; those of apps are aborted after 15 s."""

    def __init__(self, app):
        self._topic = app.stream("in").address
        servers = app.system["kafka"]["bootstrapServers"]
        settings = {"transactional.id": f"{self._topic}-held", "transaction.timeout.ms": 600_000}
        self._client = Client({"bootstrap.servers": servers, **settings})
        self._client.init_transactions(60)
        self._client.begin_transaction()

    def send(self, ssp, value, *, key, timestamp):
        self._client.produce(self._topic, value, key, ssp.partition, timestamp=timestamp)

    def commit(self):
        self._client.commit_transaction(60)
        self._client.begin_transaction()

    def close(self):
        self._client.abort_transaction(60)


def holding(app):
    """Open a patient producer that knows four partitions."""
    return app.producer_of(lambda: PatientProducer(app), 4)


def test_counts_are_exact_and_keys_in_order_while_a_producer_is_held_on_old_metadata(app):
    """The held producer has its own keys, and transactions that stay open while rows of others are committed behind."""
    held, current = holding(app), app.producer("current", 4)
    seen = []

    def produce(summary):
        seen.append(partitions(summary))
        held.send(*range(100, 116))
        if len(seen) % 12 == 0:
            held.commit()
        current.write(*KEYS)
        if current.count == seen[-1] < 16:
            app.expand(2 * current.count)
            current.learn(2 * current.count)
            current.write(*KEYS)
        if seen.count(16) == 8:
            held.commit()
            held.learn(16)

    app.run(app.document(), lambda summary: seen.count(16) > 16, listener=produce)
    held.commit()
    held.close()
    current.close()
    assert list(dict.fromkeys(seen)) == [4, 8, 16]
    app.run(app.document(), app.all_copied)
    app.check()


def test_from_latest_what_comes_after_the_first_start_is_read_once_after_restarts_and_growth_too(app):
    start_from.play(app)


def test_rows_behind_an_open_transaction_of_a_parent_come_before_those_of_its_child(app):
    app.write(*KEYS, count=4)
    app.run(app.document(), app.all_copied)
    open_for_long = holding(app)
    open_for_long.send(*range(100, 108))
    with closing(app.admin()) as admin:
        ends = admin.end_offsets([app.stream("in")])
        eventually(lambda: sum(admin.written_offsets([app.stream("in")]).values()), sum(ends.values()) + 8)
    app.write(*KEYS, count=4)
    app.expand(8)
    app.write(*KEYS, count=8)
    emitted, opened = [], []

    def for_three_seconds(summary):
        """Look on from when the tasks have reported what they emitted before."""
        emitted.append(summary.written.get("out", 0))
        opened.extend([time.monotonic()] if emitted[-1] else [])
        return opened and time.monotonic() - opened[0] > 3

    app.run(app.document(), for_three_seconds)
    assert max(emitted) == len(KEYS)
    open_for_long.commit()
    open_for_long.close()
    app.run(app.document(), app.all_copied)
    app.check()


def test_a_growth_to_a_number_that_is_no_multiple_is_refused_and_the_app_goes_on(app):
    told = []

    def produce(summary):
        told.append(summary.refused)
        app.write(*KEYS, count=4)
        if len(told) == 2:
            app.expand(6)

    app.run(app.document(), lambda summary: sum(map(bool, told)) > 4, listener=produce)
    assert any("spec.streams.in: UnsupportedExpansion" in line for lines in told for line in lines)
    app.run(app.document(), app.all_copied)
    app.check()


def test_an_app_without_state_gets_new_tasks_with_a_larger_changelog(app):
    document = app.document(operators=[{"name": "sent", "from": "in", "sendTo": "out"}])
    app.write(*KEYS, count=4)
    app.run(document, app.all_copied)
    app.expand(6)
    app.write(*KEYS, count=6)
    app.run(document, app.all_copied)
    app.run(document, lambda summary: partitions(summary) == 6)
    assert {key: sorted(numbers) for key, numbers in app.numbers().items()} == {key: [0, 1] for key in KEYS}


@pytest.mark.parametrize(("count", "processors"), [(2, 1), (1, 2)], ids=["beside others", "alone"])
def test_new_tasks_of_an_app_without_state_need_no_rows_of_a_broadcast_topic_that_are_gone(
    tmp_path, kafka, count, processors
):
    """With two processors for one partition, the new task is the first of its processor."""
    system = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    app = Growing(tmp_path, system, name=f"app-{uuid.uuid4().hex[:8]}", partitions=count)
    rates, ssp = app.stream("rates"), Ssp(HUB, "rates", 0)
    operators = [
        {"name": "sent", "from": "in", "sendTo": "out"},
        {"name": "told", "from": "rates", "sendTo": "rates-out"},
    ]
    document = app.document(operators=operators, processors=processors)
    address = f"{app.name}.rates"
    document["spec"]["streams"] |= {
        "rates": {"system": HUB, "name": address, "schema": "n int", "broadcast": True, "startFrom": "latest"},
        "rates-out": {"system": HUB, "name": f"{address}-out", "partitions": 1},
    }

    def write(*numbers):
        with closing(app.open_producer("rates", "rates")) as producer:
            for number in numbers:
                producer.send(ssp, json.dumps({"n": number}).encode(), key=None, timestamp=1)
            producer.commit()

    def numbers():
        return [row["n"] for row in app.rows("rates-out")]

    with closing(app.admin()) as admin:
        admin.create({rates: 1})
        write(0)
        app.run(document, lambda summary: True)
        app.write(*KEYS, count=count)
        write(1, 2)
        app.run(document, lambda summary: app.all_copied(summary) and len(numbers()) == 2)
        eventually(lambda: admin.end_offsets([rates])[ssp], 5)
        admin.delete_records([rates], {ssp: 4})
    app.expand(2 * count)
    app.write(*KEYS, count=2 * count)
    app.run(document, app.all_copied)
    write(3)
    app.run(document, lambda summary: len(numbers()) == 3)
    assert numbers() == [1, 2, 3]


def test_a_topic_is_expanded_once_and_never_shrinks(topics):
    stream = topics.create(count=2)
    with closing(KafkaAdmin(topics.cluster)) as admin:
        admin.expand(stream, 5)
        admin.expand(stream, 5)
        assert admin.partitions([stream]) == {stream.name: 5}
        with pytest.raises(StreamSystemError, match="can't be expanded to 3"):
            admin.expand(stream, 3)
        with pytest.raises(StreamSystemError, match="can't be expanded to 3"):
            admin.expand(topics.stream("missing"), 3)


def test_written_offsets_count_what_is_not_committed_yet(topics):
    stream = topics.create()
    ssp = ssp_of(stream)
    with topics.producer(stream) as producer, closing(KafkaAdmin(topics.cluster)) as admin:
        producer.send(ssp, b"1", timestamp=1)
        producer.send(ssp, b"2", timestamp=1)
        eventually(lambda: admin.written_offsets([stream])[ssp], 2)
        assert admin.end_offsets([stream])[ssp] == 0
        producer.commit()
        eventually(lambda: admin.end_offsets([stream])[ssp], 3)
