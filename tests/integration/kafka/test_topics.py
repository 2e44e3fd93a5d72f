"""Topics are made once, with the counts that were asked for, whoever else makes them."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType

from streamapp_systems.kafka import KafkaAdmin
from support.kafka import committed, ssp_of


@pytest.fixture
def admin(cluster):
    with closing(KafkaAdmin(cluster)) as admin:
        yield admin


def settings_of(cluster, stream):
    """Give the settings that were made with a topic, whatever the brokers' defaults are."""
    resource = ConfigResource(ResourceType.TOPIC, stream.address)
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    found = client.describe_configs([resource])[resource].result()
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {name: entry.value for name, entry in found.items() if entry.source == own}


def test_many_may_create_the_same_topics_at_once(cluster, topics):
    counts = {topics.stream(f"s{number}"): 2 for number in range(5)}

    def create(_):
        with closing(KafkaAdmin(cluster)) as admin:
            admin.create(counts)
            return admin.partitions(list(counts))

    with ThreadPoolExecutor(4) as pool:
        assert all(found == {stream.name: 2 for stream in counts} for found in pool.map(create, range(4)))


def test_a_keyed_stream_is_compacted_and_nothing_is_deleted_by_age(admin, cluster, topics):
    keyed = settings_of(cluster, topics.create("keyed", keyed=True))
    plain = settings_of(cluster, topics.create("plain"))
    assert (keyed["cleanup.policy"], keyed["delete.retention.ms"]) == ("compact", "86400000")
    assert (plain["cleanup.policy"], plain["retention.ms"]) == ("delete", "-1")
    assert {keyed["message.timestamp.type"], plain["message.timestamp.type"]} == {"CreateTime"}


def test_no_default_of_the_brokers_deletes_records_or_refuses_event_times(cluster, topics):
    plain, keyed = (settings_of(cluster, topics.create(name, keyed=name == "keyed")) for name in ("plain", "keyed"))
    assert (plain["retention.bytes"], plain["retention.ms"]) == ("-1", "-1")
    for settings in (plain, keyed):
        for bound in ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms"):
            assert int(settings[bound]) == 2**63 - 1


def test_positions_are_shown_under_a_group_and_forgotten_with_it(admin, cluster, topics):
    stream = topics.create("s", 2)
    group = f"{topics.prefix}.group"
    admin.publish_group_offsets(group, [stream], {})
    for offset in (3, 4):
        admin.publish_group_offsets(group, [stream], {ssp_of(stream): offset, ssp_of(stream, 1): 1})
    assert committed(cluster, group) == {(stream.address, 0): 4, (stream.address, 1): 1}
    for _ in range(2):
        admin.delete_group(group)
    assert committed(cluster, group) == {}
