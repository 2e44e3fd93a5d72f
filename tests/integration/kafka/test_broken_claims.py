"""Topics whose producers partition by librdkafka's default, CRC32: the app stops; by murmur2, it is right."""

import json
import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from streamapp_runtime.errors import ClaimBroken
from support import apps

KEYS = range(200)


@pytest.fixture
def counted(tmp_path, kafka):
    """Return a function that writes a row of each key with a client's settings, and the app that counts them."""
    name = f"app-{uuid.uuid4().hex[:8]}"
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic(f"{name}.in", 4)])[f"{name}.in"].result(timeout=60)

    def write(**settings):
        producer = Producer({**servers, **settings})
        for key in KEYS:
            producer.produce(f"{name}.in", json.dumps({"k": key}), str(key))
        assert producer.flush(60) == 0

    operators = [
        {"name": "counted", "from": "in", "aggregate": {"by": ["k"], "select": "count(*) as n"}},
        {"name": "sent", "from": "counted", "sendTo": "out"},
    ]
    source = {"system": "kafka", "format": "json", "name": f"{name}.in", "schema": "k int", "key": "k", "bounded": True}
    document = apps.document(operators, **{"in": source, "out": {}})
    document["spec"]["systems"]["kafka"] = {"kafka": {"bootstrapServers": kafka.bootstrap_servers}}
    return write, document


def test_crc32_stops_the_app_which_names_the_setting(counted, tmp_path):
    write, document = counted
    write()
    with pytest.raises(ClaimBroken, match=r"kafka\.in\[\d\], offset \d+: .* belongs in .*partitioner: murmur2_random"):
        apps.run(document, tmp_path)
    document["spec"]["job"]["onBrokenClaim"] = "report"
    claim = apps.run(document, tmp_path, run_id="r2").broken_claims["in"]
    assert claim.checked == len(KEYS)
    assert 0 < claim.misplaced < len(KEYS)


def test_murmur2_is_right(counted, tmp_path):
    write, document = counted
    write(partitioner="murmur2_random")
    summary = apps.run(document, tmp_path)
    assert summary.broken_claims == {}
    assert apps.last_per_key(tmp_path / "out" / "out", 1) == {(str(key),): (str(key), "1") for key in KEYS}
