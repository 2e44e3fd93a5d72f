"""The end of a transaction that arrives late, when the client has asked again and gone on, ends no later one.

`make test` takes a sample with fixed seeds; `make soak` sets STREAMAPP_LATE_COMMITS for more.
"""

import os
from contextlib import closing
from random import Random

import pytest
from tools.kafka.broker import Broker
from tools.kafka.jars import default_cache, kafka_jars

from streamapp_systems.kafka import KafkaProducer
from streamapp_systems.kafka.client_config import RESEND_SECONDS
from streamapp_systems.protocols import CommitUnknown, Fenced, Unavailable
from support.kafka import Topics, cluster_at, ssp_of
from support.kafka_proxy import KafkaProxy, pass_all
from support.late_end_of_transaction import FENCED, LateEndOfTransaction
from support.soak import Soak

COMMITS = int(os.environ.get("STREAMAPP_LATE_COMMITS", "40"))
PARTITIONS = 3
CHECKPOINT = PARTITIONS - 1
"""The partition that says which transactions were committed."""


@pytest.fixture(scope="module")
def proxied():
    """A broker of this module's own, and the proxy that its clients come through."""
    with KafkaProxy() as proxy, Broker(kafka_jars(default_cache()), proxy=proxy.port) as broker:
        proxy.target = broker.proxied_port
        yield proxy


def commit_all(topics, stream, count):
    """Write the numbers below `count` to all partitions, each in a transaction; after a failure go on as an app does:
    with another producer, behind what the checkpoints say.
    """
    failures, done = [], 0
    while done < count:
        with closing(KafkaProducer(topics.cluster, [stream], topics.owner())) as producer:
            done = len(topics.values(stream)[ssp_of(stream, CHECKPOINT)])
            try:
                while done < count:
                    for partition in range(PARTITIONS):
                        producer.send(ssp_of(stream, partition), b"%d" % done, timestamp=1)
                    producer.commit()
                    done += 1
            except (Unavailable, Fenced, CommitUnknown) as failure:
                failures.append(failure)
    return failures


@pytest.mark.timeout(600 + 2 * COMMITS)
def test_what_arrives_late_is_refused_and_every_transaction_is_whole_and_there_once(proxied):
    topics = Topics(cluster_at(proxied.bootstrap_servers), "late")
    stream = topics.create(count=PARTITIONS)
    proxied.policy = policy = LateEndOfTransaction(Random(7), held=0.1, unanswered=0.05)
    failures = commit_all(topics, stream, COMMITS)
    with topics.producer(stream):
        pass
    numbers = [b"%d" % number for number in range(COMMITS)]
    assert topics.values(stream) == {ssp_of(stream, partition): numbers for partition in range(PARTITIONS)}
    assert failures == []
    assert policy.unanswered > 0
    assert policy.late
    assert {late.error for late in policy.late} <= FENCED
    assert policy.shortest_wait >= RESEND_SECONDS


@pytest.mark.timeout(900 + 2 * COMMITS)
def test_an_app_stays_exact_when_ends_of_its_transactions_arrive_late(proxied, tmp_path):
    proxied.policy = pass_all
    with Soak(tmp_path, proxied, "late-app", "--host", "processes") as soak:
        proxied.policy = policy = LateEndOfTransaction(Random(8), held=0.2, unanswered=0.1)
        for _ in range(8 + COMMITS // 20):
            soak.feed(200)
            assert soak.works(), "nothing comes out any more"
        soak.finish()
    assert policy.late
    assert {late.error for late in policy.late} <= FENCED
    assert soak.gave_up == []
