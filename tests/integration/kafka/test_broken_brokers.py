"""Brokers that are gone: errors in time that say so; and brokers that come back, as if nothing had been."""

import time
from contextlib import closing

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from streamapp_systems.kafka import KafkaAdmin, KafkaConsumer, KafkaProducer
from streamapp_systems.protocols import CommitUnknown, Fenced, StreamSystemError, Transactional
from support.kafka import Topics, cluster_at, eventually, ssp_of, values_of

NOBODY = "127.0.0.1:1"
OWNER = Transactional(id="w", epoch=1)


@pytest.fixture(scope="module")
def broker():
    """A broker of this module's own: its tests kill it. They run in their order here; the last one leaves it dead."""
    with Broker(kafka_jars(default_cache())) as broker:
        yield broker


def test_an_unreachable_broker_is_named_within_the_deadline(topics):
    reason = r"Kafka kafka \(127\.0\.0\.1:1\): .*refused.* Check that its brokers run"
    cluster = cluster_at(NOBODY)
    stream = topics.stream()
    started = time.monotonic()
    with closing(KafkaAdmin(cluster, patience=0.5)) as admin:
        for ask in (
            lambda: admin.partitions([stream]),
            lambda: admin.create({stream: 1}),
            lambda: admin.fence([OWNER]),
        ):
            with pytest.raises(StreamSystemError, match=reason):
                ask()
    with (
        closing(KafkaConsumer(cluster, [stream], patience=0.5)) as consumer,
        pytest.raises(StreamSystemError, match=reason),
    ):
        consumer.assign({ssp_of(stream): 0}, {})
    with pytest.raises(StreamSystemError, match=reason):
        KafkaProducer(cluster, [stream], OWNER, patience=0.5)
    assert time.monotonic() - started < 10


def test_a_login_that_the_broker_does_not_want_is_an_error_in_time(kafka, topics):
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "do-not-show"}
    cluster = cluster_at(kafka.bootstrap_servers, **{"security.protocol": "SASL_PLAINTEXT", **login})
    with (
        closing(KafkaAdmin(cluster, patience=1)) as admin,
        pytest.raises(StreamSystemError, match=r"security\.protocol") as caught,
    ):
        admin.partitions([topics.stream()])
    assert "do-not-show" not in f"{caught.value}{cluster!r}"


def test_a_wrong_setting_is_named(kafka, topics):
    cluster = cluster_at(kafka.bootstrap_servers, **{"ssl.ca.location": "/nowhere", "security.protocol": "ssl"})
    with pytest.raises(StreamSystemError, match=r"ssl\.ca\.location failed.* Correct spec\.systems\."):
        KafkaConsumer(cluster, [topics.stream()])


def test_a_restarted_broker_goes_on_where_it_was(broker):
    topics = Topics(cluster_at(broker.bootstrap_servers), "restart")
    stream = topics.create()
    with topics.consumer({ssp_of(stream): 0}, {}, stream) as consumer, topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"1", timestamp=1)
        producer.commit()
        assert values_of(consumer.poll([ssp_of(stream)], 10, 20)) == [b"1"]
        producer.send(ssp_of(stream), b"2", timestamp=1)
        broker.kill()
        assert values_of(consumer.poll([ssp_of(stream)], 10, 0.5)) == []
        broker.start()
        producer.commit()
        found = []
        eventually(lambda: found.extend(values_of(consumer.poll([ssp_of(stream)], 10, 0.5))) or found, [b"2"])


def test_of_a_commit_without_an_answer_the_repetition_tells_the_truth(broker):
    topics = Topics(cluster_at(broker.bootstrap_servers), "unknown")
    stream = topics.create()
    warm_up(topics, stream)
    with closing(KafkaProducer(topics.cluster, [stream], topics.owner(), patience=1)) as producer:
        producer.send(ssp_of(stream), b"warm", timestamp=1)
        producer.commit()
        producer.send(ssp_of(stream), b"1", timestamp=1)
        producer._produce(ssp_of(stream), [producer._last[ssp_of(stream)]], lambda error, message: None)
        producer._flush()
        producer._next_offsets[ssp_of(stream)] = 3
        producer._committing = True
        broker.kill()
        with pytest.raises(CommitUnknown, match="whether the transaction was committed is not known"):
            producer.commit()
        with pytest.raises(CommitUnknown, match="can't be aborted"):
            producer.abort()
        with pytest.raises(CommitUnknown, match="commit again"):
            producer.send(ssp_of(stream), b"2", timestamp=1)
        broker.start()
        outcome = repeated(producer)
    with topics.producer(stream):
        pass
    assert topics.values(stream) == {ssp_of(stream): [b"warm", b"1"] if outcome == {ssp_of(stream): 3} else [b"warm"]}


def test_a_broker_that_stays_away_is_an_error_for_those_who_read_and_write(broker):
    topics = Topics(cluster_at(broker.bootstrap_servers), "gone")
    stream = topics.create()
    warm_up(topics, stream)
    producer = KafkaProducer(topics.cluster, [stream], OWNER, patience=1)
    with closing(producer), topics.consumer({ssp_of(stream): 0}, {}, stream, patience=1) as consumer:
        producer.send(ssp_of(stream), b"1", timestamp=1)
        consumer.poll([ssp_of(stream)], 10, 0.2)
        broker.kill()
        with pytest.raises(StreamSystemError, match="Check that its brokers run"):
            producer.commit()
        with pytest.raises(StreamSystemError, match=r"no broker was reachable for 1 s.*Check that its brokers run"):
            consumer.poll([ssp_of(stream)], 10, 30)


def warm_up(topics, stream):
    """Wait until the fresh broker is ready for transactions."""
    with topics.producer(stream, name="warm-up"):
        pass


def repeated(producer):
    """Commit until there is an answer: the next offsets, or None if the brokers have aborted it meanwhile."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return producer.commit()
        except CommitUnknown:
            continue
        except Fenced:
            return None
    pytest.fail("no answer")
