"""Three brokers that lead different partitions, of which one is away at times: an app goes on meanwhile, exactly.

`make test` takes a sample with fixed seeds; `make soak` sets STREAMAPP_BROKER_OUTAGES for more and longer outages.
"""

import os
from contextlib import closing, contextmanager
from random import Random

import pytest
from confluent_kafka.admin import AdminClient
from tools.kafka.broker_cluster import BrokerCluster
from tools.kafka.jars import default_cache, kafka_jars

from streamapp_systems.kafka import KafkaAdmin, KafkaConsumer
from support.kafka import DEADLINE, Topics, answered_ends, cluster_at, eventually, ssp_of
from support.soak import Soak
from support.waiting import nothing_for

OUTAGES = int(os.environ.get("STREAMAPP_BROKER_OUTAGES", "0"))
PARTITIONS = 6
SECONDS = (15.0, 60.0) if OUTAGES else (1.0, 5.0)


@contextmanager
def killed(broker):
    broker.kill()
    yield
    broker.start()


@contextmanager
def shut_down(broker):
    """End a broker in the usual way: it hands its partitions over, and gets them again when it is back."""
    broker.terminate()
    yield
    broker.start()


@contextmanager
def stopped(broker):
    with broker.paused():
        yield


@pytest.fixture(scope="module")
def cluster():
    with BrokerCluster(kafka_jars(default_cache())) as cluster:
        yield cluster


@pytest.mark.timeout(1_200 + 150 * OUTAGES)
def test_an_app_works_while_one_of_three_brokers_is_away_and_stays_exact(tmp_path, cluster):
    random = Random(9_000)
    kinds = [killed, shut_down, *random.choices([killed, shut_down, stopped], k=OUTAGES)]
    with Soak(tmp_path, cluster, "replicated", "--host", "processes") as soak:
        for away in kinds:
            soak.feed(2_000)
            assert soak.works(), "nothing comes out any more"
            soak.feed(2_000)
            with away(random.choice(cluster.others)):
                nothing_for(random.uniform(*SECONDS))
                soak.feed(2_000)
                assert soak.works(), f"nothing comes out while a broker is {away.__name__}"
        soak.finish()
        assert soak.gave_up == []


def test_ends_are_known_while_a_broker_is_away_and_after_it_leads_again(cluster):
    """A client that keeps to the leaders it knew waits for a broker that is away, and is refused for good later."""
    topics = Topics(cluster_at(cluster.bootstrap_servers, timeout=90), "ends")
    stream = topics.create("s", PARTITIONS)
    ssps = [ssp_of(stream, partition) for partition in range(PARTITIONS)]
    known = dict.fromkeys(ssps, True)
    with closing(KafkaAdmin(topics.cluster)) as admin, closing(KafkaConsumer(topics.cluster, [stream])) as consumer:
        consumer.assign(dict.fromkeys(ssps, 0), {})
        first = leaders(cluster, stream)
        eventually(lambda: answered_ends(consumer, ssps), known)
        with killed(cluster.others[0]):
            assert admin.end_offsets([stream]) == dict.fromkeys(ssps, 0)
            eventually(lambda: answered_ends(consumer, ssps), known)
        eventually(lambda: leaders(cluster, stream), first)
        assert admin.end_offsets([stream]) == dict.fromkeys(ssps, 0)
        eventually(lambda: answered_ends(consumer, ssps), known)


def leaders(cluster, stream):
    """Return the leader of each partition, from a client that knows no older one."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})
    partitions = client.list_topics(stream.address, timeout=DEADLINE).topics[stream.address].partitions
    return {number: partition.leader for number, partition in partitions.items()}
