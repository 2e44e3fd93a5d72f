"""Topics are made once, with the counts that were asked for, whoever else makes them."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, ResourceType

from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import StreamSystemError
from support.kafka import committed, eventually, ssp_of


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


def test_a_missing_stream_is_absent(admin, topics):
    there = topics.create("there", 3)
    assert admin.partitions([there, topics.stream("gone")]) == {"there": 3}
    assert admin.end_offsets([topics.stream("gone")]) == {}


def test_creating_again_changes_nothing(admin, topics):
    stream = topics.create("s", 2)
    admin.create({stream: 2, topics.stream("t"): 1})
    assert admin.partitions([stream, topics.stream("t")]) == {"s": 2, "t": 1}


def test_another_count_is_refused_by_name_and_nothing_is_made(admin, topics):
    stream = topics.create("s", 2)
    with pytest.raises(StreamSystemError, match=rf"stream s: topic {stream.address} has 2 partitions .* not 3"):
        admin.create({topics.stream("t"): 1, stream: 3})
    assert admin.partitions([topics.stream("t")]) == {}


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


def test_deleted_streams_are_gone_and_deleting_again_is_no_error(admin, topics):
    stream = topics.create()
    admin.delete([stream, topics.stream("gone")])
    assert admin.partitions([stream]) == {}
    admin.delete([stream])


def test_an_end_lies_before_an_open_transaction(admin, topics):
    stream = topics.create("s", 2)
    with topics.producer(stream) as producer, topics.producer(stream, name="other") as other:
        producer.send(ssp_of(stream), b"1", timestamp=1)
        committed = {ssp_of(stream): producer.commit()[ssp_of(stream)] + 1, ssp_of(stream, 1): 0}
        eventually(lambda: admin.end_offsets([stream]), committed)
        for _ in range(10):
            other.send(ssp_of(stream), b"open", timestamp=1)
        other._flush()
        assert admin.end_offsets([stream]) == committed


def test_a_name_kafka_does_not_allow_is_refused_by_name(admin, topics):
    stream = topics.stream("no spaces")
    with pytest.raises(StreamSystemError, match=r"no spaces can't be .*"):
        admin.create({stream: 1})


def test_purged_records_are_gone_and_offsets_stay(admin, cluster, topics):
    stream = topics.create("s", 2)
    with topics.producer(stream) as producer:
        for partition in range(2):
            for number in range(5):
                producer.send(ssp_of(stream, partition), b"%d" % number, timestamp=1)
        producer.commit()
    ends = admin.end_offsets([stream])
    for _ in range(2):
        admin.delete_records([stream, topics.stream("gone")], {ssp_of(stream): 3, ssp_of(topics.stream("gone")): 1})
    assert topics.values(stream) == {
        ssp_of(stream): [b"3", b"4"],
        ssp_of(stream, 1): [b"0", b"1", b"2", b"3", b"4"],
    }
    assert admin.end_offsets([stream]) == ends


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
