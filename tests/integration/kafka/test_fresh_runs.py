"""New runs on a real broker: output topics stay or are emptied, and bounded topics that they create are empty."""

from contextlib import closing

import pytest

from streamapp_core.ssp import Ssp
from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import StreamSystemError
from support import apps
from support.kafka import eventually, settled_ends

ROWS = 3


def app(topics, kafka, **source):
    document = apps.stateless("kafka")
    document["metadata"]["name"] = topics.prefix[-50:]
    spec = document["spec"]
    spec["systems"]["files"] = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    spec["streams"]["flights"] |= {"name": topics.stream("in").address, "bounded": True, **source}
    spec["streams"]["out"] |= {"name": topics.stream("out").address, "partitions": 1}
    spec["job"] = {"commitInterval": "50ms"}
    return document


def write(topics, stream):
    with topics.producer(stream) as producer:
        for _ in range(ROWS):
            producer.send(Ssp("kafka", stream.name, 0), b'{"carrier": "AA", "delay": 20}', key=b"k", timestamp=0)
        producer.commit()


def test_output_topics_stay_or_are_emptied_and_inputs_are_as_they_were(tmp_path, topics, kafka):
    source, out = topics.create("in"), topics.stream("out")
    write(topics, source)
    found = []
    apps.run(app(topics, kafka), tmp_path)
    apps.run(app(topics, kafka), tmp_path, run_id="r2", announce=found.append)
    with closing(KafkaAdmin(topics.cluster)) as admin:
        known, read = admin.identities([out]), admin.count_records([source])
        start = settled_ends(admin, out)
        apps.run(app(topics, kafka), tmp_path, run_id="r3", delete_outputs=True, announce=found.append)
        assert admin.start_offsets([out]) == start
        assert admin.identities([out]) == known
        assert admin.count_records([source]) == read
        assert ROWS <= admin.count_records([out])["out"] <= 2 * ROWS
    assert [bool(start.kept) for start in found] == [True, False]
    (emptied,) = found[1].emptied
    assert emptied.records >= 2 * ROWS
    assert not emptied.exact


def test_compacted_topics_are_not_emptied_and_the_message_says_so(tmp_path, topics, kafka):
    source, out = topics.create("in"), topics.create("out", keyed=True)
    write(topics, source)
    write(topics, out)
    with pytest.raises(StreamSystemError, match=rf"topic {out.address}: its records can't be deleted"):
        apps.run(app(topics, kafka), tmp_path, delete_outputs=True)


def test_a_bounded_topic_that_the_app_creates_is_empty_and_ends(tmp_path, topics, kafka):
    summary = apps.run(app(topics, kafka, partitions=2), tmp_path)
    assert summary.written.get("out", 0) == 0
    with closing(KafkaAdmin(topics.cluster)) as admin:
        eventually(lambda: admin.partitions([topics.stream("in")]), {"in": 2})
