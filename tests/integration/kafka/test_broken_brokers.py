"""Brokers that are gone: errors in time that say so; and brokers that come back, as if nothing had been."""

import re
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import Drained, SystemAway
from streamapp_systems.kafka import KafkaAdmin, KafkaConsumer, KafkaProducer
from streamapp_systems.kafka.client_config import DEFAULT_TIMEOUT
from streamapp_systems.protocols import CommitUnknown, Fenced, StreamSystemError, TransactionOwner, Unavailable
from support import apps, numbered
from support.kafka import DEADLINE, Topics, cluster_at, eventually, settled_ends, ssp_of, values_of

NOBODY = "127.0.0.1:1"
TIMEOUT = 8
"""Seconds after which the impatient take a broker for gone: a busy one answers before."""
FETCH_SECONDS = 1.5
"""Seconds after which clients have fetched the end of a partition, too: polls return that after a broker's death."""
OWNER = TransactionOwner(id="w", epoch=1)
RECORDS = 20_000


@pytest.fixture(scope="module")
def own_broker():
    """A broker of this module's own: its tests kill it."""
    with Broker(kafka_jars(default_cache())) as broker:
        yield broker


@pytest.fixture
def broker(own_broker):
    """The module's broker, alive: a test may have left it dead."""
    if not own_broker.accepts():
        own_broker.start()
    return own_broker


def test_an_unreachable_broker_is_named_within_the_deadline(topics):
    reason = r"Kafka kafka \(127\.0\.0\.1:1\): .*refused.* Check that its brokers run"
    cluster, stream = impatient(NOBODY), topics.stream()
    started = time.monotonic()
    with (
        ThreadPoolExecutor() as pool,
        closing(KafkaAdmin(cluster)) as admin,
        closing(KafkaConsumer(cluster, [stream])) as consumer,
    ):
        asked = [
            pool.submit(admin.partitions, [stream]),
            pool.submit(admin.create, {stream: 1}),
            pool.submit(admin.fence, [OWNER]),
            pool.submit(consumer.assign, {ssp_of(stream): 0}, {}),
            pool.submit(KafkaProducer, cluster, [stream], OWNER),
        ]
        for answer in asked:
            with pytest.raises(StreamSystemError, match=reason):
                answer.result()
    assert time.monotonic() - started < DEFAULT_TIMEOUT


def test_a_login_that_the_broker_does_not_want_is_an_error_in_time(kafka, topics):
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "do-not-show"}
    cluster = cluster_at(kafka.bootstrap_servers, TIMEOUT, **{"security.protocol": "SASL_PLAINTEXT", **login})
    with (
        closing(KafkaAdmin(cluster)) as admin,
        pytest.raises(StreamSystemError, match=r"security\.protocol") as caught,
    ):
        admin.partitions([topics.stream()])
    assert "do-not-show" not in f"{caught.value}{cluster!r}"


def test_a_wrong_setting_is_named(kafka, topics):
    cluster = cluster_at(kafka.bootstrap_servers, **{"ssl.ca.location": "/nowhere", "security.protocol": "ssl"})
    with pytest.raises(StreamSystemError, match=r"ssl\.ca\.location failed.* Correct spec\.systems\."):
        KafkaConsumer(cluster, [topics.stream()])


def test_a_restarted_broker_continues_where_it_was_and_the_impatient_hear_that_it_is_away(broker):
    topics = Topics(cluster_at(broker.bootstrap_servers), "restart")
    hasty = Topics(impatient(broker.bootstrap_servers), "hasty")
    stream, other = topics.create(), topics.create("other")
    with (
        topics.consumer({ssp_of(stream): 0}, {}, stream) as consumer,
        topics.producer(stream) as producer,
        hasty.consumer({ssp_of(stream): 0}, {}, stream) as hasty_consumer,
        closing(KafkaProducer(hasty.cluster, [other], hasty.owner())) as hasty_producer,
    ):
        producer.send(ssp_of(stream), b"1", timestamp=1)
        producer.commit()
        assert [producer.was_away(), producer.was_away()] == [True, False]  # before it was opened, perhaps
        assert values_of(consumer.poll([ssp_of(stream)], 10, DEADLINE)) == [b"1"]
        assert values_of(hasty_consumer.poll([ssp_of(stream)], 10, DEADLINE)) == [b"1"]
        assert values_of(consumer.poll([ssp_of(stream)], 10, FETCH_SECONDS)) == []
        hasty_producer.send(ssp_of(other), b"never", timestamp=1)
        broker.kill()
        assert values_of(consumer.poll([ssp_of(stream)], 10, 0.5)) == []
        with pytest.raises(Unavailable, match="Check that its brokers run"):
            hasty_producer.commit()
        told = rf"no broker was reachable for {TIMEOUT} s.*Check that its brokers run"
        with pytest.raises(Unavailable, match=told):
            eventually(lambda: values_of(hasty_consumer.poll([ssp_of(stream)], 10, DEADLINE)), [b"2"])
        assert producer.was_away()
        broker.start()
        producer.send(ssp_of(stream), b"2", timestamp=1)  # only then: a slow start may outlast a transaction
        producer.commit()
        found = []
        eventually(lambda: found.extend(values_of(consumer.poll([ssp_of(stream)], 10, 0.5))) or found, [b"2"])


def test_of_a_commit_without_an_answer_the_repetition_tells_the_truth(broker):
    topics = Topics(cluster_at(broker.bootstrap_servers), "unknown")
    stream = topics.create()
    warm_up(topics, stream)
    with closing(KafkaProducer(impatient(broker.bootstrap_servers), [stream], topics.owner())) as producer:
        producer.send(ssp_of(stream), b"warm", timestamp=1)
        producer.commit()
        producer.send(ssp_of(stream), b"1", timestamp=1)
        producer._flush()
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


def test_records_that_waited_longer_than_a_transaction_lasts_are_an_error_that_passes(broker):
    """The client gives such records up, and then its commit fails for good: another producer does the work again.

    The broker dies only when the first commit is in its log: it could forget to end that one (docs/kafka.md).
    """
    topics = Topics(cluster_at(broker.bootstrap_servers), "outage")
    stream = topics.create()
    warm_up(topics, stream)
    with (
        closing(KafkaProducer(topics.cluster, [stream], topics.owner())) as producer,
        closing(KafkaAdmin(topics.cluster)) as admin,
    ):
        producer.send(ssp_of(stream), b"before", timestamp=1)
        producer.commit()
        settled_ends(admin, stream)
        broker.kill()
        for _ in range(1_000):
            producer.send(ssp_of(stream), b"lost", timestamp=1)
        with pytest.raises(Unavailable):
            producer.commit()
    broker.start()
    with topics.producer(stream) as producer:
        producer.send(ssp_of(stream), b"after", timestamp=1)
        producer.commit()
    assert topics.values(stream) == {ssp_of(stream): [b"before", b"after"]}


@pytest.fixture
def impatient_app(monkeypatch):
    """Apps are impatient too."""
    monkeypatch.setenv("STREAMAPP_KAFKA_TIMEOUT", str(TIMEOUT))


def lay_out_app(folder, broker, **options):
    system = {"kafka": {"bootstrapServers": broker.bootstrap_servers}}
    numbered.lay_out(folder, system, f"app-{uuid.uuid4().hex[:8]}", **options)
    return (folder / "app.yaml").read_text()


@pytest.mark.usefixtures("impatient_app")
def test_an_app_says_what_it_waits_for_and_continues_exactly_when_that_is_back(tmp_path, broker):
    """Records that come later also end what the broker may have forgotten to end (docs/kafka.md)."""
    text, summaries, finished = lay_out_app(tmp_path, broker, records=RECORDS // 2, bounded=False), [], []
    later = [range(RECORDS // 2, RECORDS)]

    def listener(summary):
        summaries.append(summary)
        if not summary.incidents and any(stream.read for stream in summary.streams):
            broker.kill()
        elif told(r"^processor \d waits for up to", summary) and not broker.accepts():
            broker.start()
        elif told(r"^processor \d continues after", summary):
            if later:
                numbered.write_more(tmp_path, later.pop())
            finished.extend([summary] if len(numbered.results(tmp_path)["out"]) >= RECORDS else [])

    with pytest.raises(Drained):
        apps.run(text, tmp_path, listener=listener, drain=lambda: bool(finished))
    numbered.check(tmp_path, RECORDS)
    assert told(r"^processor \d waits for up to 300 s: Kafka hub \(.*Check that its brokers run", summaries[-1])
    assert told(r"^processor \d continues after a wait of \d+ s", summaries[-1])


@pytest.mark.usefixtures("impatient_app")
def test_an_app_ends_with_the_reason_when_a_broker_does_not_come_back(tmp_path, broker):
    def listener(summary):
        if any(stream.read for stream in summary.streams):
            broker.kill()

    text = lay_out_app(tmp_path, broker, records=100, bounded=False)
    with pytest.raises(SystemAway, match=r"waited for \d+ s in vain: Kafka hub .*Check that its brokers run"):
        apps.run(text, tmp_path, listener=listener, timeouts=Timeouts(away=2.0))


def told(what, summary):
    return any(re.search(what, incident) for incident in summary.incidents)


def impatient(address):
    return cluster_at(address, timeout=TIMEOUT)


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
