"""Topics with limits for the times of records: a row that brokers would refuse is a bad row, as others are."""

import json
import time
from contextlib import closing

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from streamapp_core.spec.streams import StreamFormat
from streamapp_runtime.errors import RuntimeFailure
from streamapp_systems.kafka import KafkaAdmin
from streamapp_systems.protocols import RecordLimits, StreamDescriptor
from support import apps
from support.kafka import ssp_of

HOUR, DAY = 3_600_000, 86_400_000


@pytest.fixture
def now():
    return time.time_ns() // 1_000_000


@pytest.fixture
def source(topics, now):
    """Rows dated now, in two hours, and long ago."""
    stream = topics.create("in")
    with topics.producer(stream) as producer:
        for number, at in enumerate([now, now + 2 * HOUR, now - 30 * DAY, now, None]):
            value = {"n": number} if at is None else {"n": number, "at": at}
            producer.send(ssp_of(stream), json.dumps(value).encode(), timestamp=now)
        producer.commit()
    return stream


@pytest.fixture
def app(topics, source, kafka):
    spec = {
        "systems": {"kafka": {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}},
        "defaultSystem": "kafka",
        "streams": {
            "in": {
                "system": "kafka",
                "name": source.address,
                "schema": "n int, at bigint",
                "bounded": True,
                "eventTime": {"column": "at"},
            },
            "out": {"system": "kafka", "name": f"{topics.prefix}.out"},
        },
        "operators": [{"name": "sent", "from": "in", "sendTo": "out"}],
        "job": {"commitInterval": "50ms"},
    }
    metadata = {"name": f"times-{topics.prefix[-8:]}"}
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": metadata, "spec": spec}


@pytest.fixture
def out(topics):
    def create(**settings):
        client = AdminClient({"bootstrap.servers": topics.cluster.bootstrap_servers})
        topic = NewTopic(f"{topics.prefix}.out", 1, 1, config={k.replace("_", "."): v for k, v in settings.items()})
        client.create_topics([topic])[topic.topic].result()
        return topics.stream("out")

    return create


def written(topics, out):
    """Read the numbers of the rows there are, with the times of their records."""
    parts = topics.read(out)[ssp_of(out)]
    return {json.loads(m.value)["n"]: m.timestamp for part in parts for m in part.messages}


def test_a_row_too_far_ahead_ends_the_app_with_what_to_do_and_that_mends_the_run(tmp_path, topics, app, out, now):
    stream = out()
    reason = rf"in\[0\], offsets \d+ to \d+: out: a row with .*topic {topics.prefix}\.out takes records up to 1h ahead"
    with pytest.raises(RuntimeFailure, match=reason):
        apps.run(app, tmp_path)
    assert written(topics, stream) == {}
    app["spec"]["streams"]["out"]["recordTime"] = "processingTime"
    apps.run(app, tmp_path, fresh=False)
    found = written(topics, stream)
    assert found.keys() == {0, 1, 2, 3, 4}
    assert all(now <= written_at < now + HOUR for written_at in found.values())


def test_rows_that_brokers_refuse_are_left_out_and_counted_and_no_others(tmp_path, topics, app, out, now):
    stream = out(message_timestamp_before_max_ms=str(DAY))
    app["spec"]["job"]["onError"] = "skip"
    summary = apps.run(app, tmp_path)
    found = written(topics, stream)
    assert found.keys() == {0, 3, 4}
    assert (found[0], found[3]) == (now, now)
    assert summary.written == {"out": 3}
    assert summary.not_used == {"sent": {"time refused": 2}}
    assert "ahead of the time of day" in summary.bad_rows[0]


def test_a_topic_with_the_brokers_times_takes_every_row(tmp_path, topics, app, out):
    stream = out(message_timestamp_type="LogAppendTime")
    apps.run(app, tmp_path)
    assert written(topics, stream).keys() == {0, 1, 2, 3, 4}


def test_a_topic_that_other_apps_read_takes_rows_of_every_time_whoever_made_it(tmp_path, topics, app, out):
    out(message_timestamp_before_max_ms=str(DAY))
    del app["spec"]["streams"]["out"]
    stream = f"{topics.prefix}.out"
    app["spec"]["operators"] = [{"name": "by", "from": "in", "partitionBy": {"key": "n", "stream": stream}}]
    app["spec"]["job"]["intermediateStreamPartitions"] = 1
    assert apps.run(app, tmp_path).written == {"by": 5}


def test_limits_are_those_of_the_topic(topics, out):
    defaults, stream = topics.create("ours"), out(cleanup_policy="compact,delete", message_timestamp_before_max_ms="5")
    missing = StreamDescriptor(name="no", system="kafka", address=f"{topics.prefix}.no", format=StreamFormat.JSON)
    with closing(KafkaAdmin(topics.cluster)) as admin:
        assert admin.record_limits([defaults, stream, missing]) == {
            "ours": RecordLimits(),
            "out": RecordLimits(before=5, after=HOUR, needs_key=True),
        }
