"""What the Kubernetes operator asks of a real broker: the counts of topics, and the topics that an app has made."""

from contextlib import closing

import pytest

from streamapp_core.spec.systems import KafkaSystem, SystemSpec
from streamapp_operator.systems import KafkaCounter, Systems
from streamapp_systems.kafka import KafkaAdmin


def no_secret(namespace, name):
    return {}


@pytest.fixture
def system(kafka):
    return KafkaSystem(bootstrapServers=kafka.bootstrap_servers)


def test_topics_are_counted_and_missing_ones_are_absent(system, topics):
    there = topics.create("there", 3)
    counter = KafkaCounter("kafka", system, "default", no_secret)
    assert counter.count([there.address, topics.stream("gone").address]) == {there.address: 3}


def test_the_topics_that_an_app_has_made_go_and_no_others(system, topics, cluster):
    made = [topics.create(f"shop.{name}", 1) for name in ("r1.by", "r2.by", "r2._changelog")]
    kept = [topics.create(name, 1) for name in ("shop", "shop-2.r1.by", "orders")]
    systems = Systems(no_secret, lambda key: None, settle=10.0)
    systems.delete("default", f"{topics.prefix}.shop.", {"kafka": SystemSpec(kafka=system)})
    with closing(KafkaAdmin(cluster)) as admin:
        assert set(admin.partitions([*made, *kept])) == {stream.name for stream in kept}
