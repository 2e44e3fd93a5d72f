"""What the page on Kafka says of settings is what the clients get."""

import json
import re
from contextlib import closing

import pyarrow as pa
import pytest
import yaml
from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_core.spec.kafka_client_settings import ClientKind
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.partitioning import key_hashes, partition_numbers
from streamapp_runtime.rows.record_keys import RecordKey
from streamapp_systems.kafka.client_config import local_cluster
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from streamapp_systems.registry import local_systems
from unit.docs import pages

PAGE = pages.read("kafka.md")
OWNER = TransactionOwner(id="w", epoch=1)
ROWS = re.findall(r"^\| (`[a-z.]+`(?:, `[a-z.]+`)*) \| ([^|]+?) \|", PAGE, re.MULTILINE)
UNITS = {"KB": 1 << 10, "MB": 1 << 20}
SECRET = {f"STREAMAPP_SECRET_KAFKA_LOGIN_{item}": "x" for item in ("USERNAME", "PASSWORD")}


def systems():
    """Give the systems of all YAML blocks."""
    for block in pages.fences(PAGE):
        if block.language == "yaml":
            yield from yaml.safe_load(block.text)["systems"].items()


def clients(cluster):
    return {kind: cluster.client(kind, OWNER if kind is ClientKind.PRODUCER else None) for kind in ClientKind}


def number(text):
    """Read `4 MB` or `50`; words stay as they are."""
    value, _, unit = text.partition(" ")
    return str(int(value) * UNITS[unit]) if unit in UNITS else value


@pytest.mark.parametrize("name, system", list(systems()))
def test_each_example_gives_clients_their_settings(name, system):
    cluster = local_cluster(name, SystemSpec.model_validate(system).kafka, SECRET)
    for settings in clients(cluster).values():
        assert settings["bootstrap.servers"] == system["kafka"]["bootstrapServers"]
        assert settings["security.protocol"] == "SASL_SSL"
        assert settings["sasl.mechanism"] == "SCRAM-SHA-512"


def test_the_table_of_settings_has_what_clients_get():
    cluster = local_cluster("k", SystemSpec.model_validate({"kafka": {"bootstrapServers": "b:9092"}}).kafka, {})
    found = clients(cluster)
    assert len(ROWS) >= 6
    for names, values in ROWS:
        told = zip(re.findall(r"`([a-z.]+)`", names), values.split(", "), strict=False)
        for setting, value in told:
            got = {settings[setting] for settings in found.values() if setting in settings}
            assert got == {number(value)}, setting


def test_a_record_that_can_not_be_read_is_told_and_left_out_as_the_page_says(tmp_path):
    (error,) = (block.text for block in pages.fences(PAGE) if block.language == "text")
    document = totals(tmp_path)
    failed = started(tmp_path, document)
    assert failed.exit_code == 1
    assert failed.stderr == error.replace("processor 1: ", "")  # which only processes and workers of Spark tell
    document["spec"]["job"] = {"onError": "skip"}
    skipped = started(tmp_path, document)
    assert skipped.exit_code == 0
    assert "orders: 1 row not used (unreadable)\n" in skipped.stdout
    assert "`orders: 1 row not used (unreadable)`" in PAGE


def totals(folder):
    """Give the app of the page, with a log in the place of the topics, and its bad record."""
    system = {"log": {"path": "log.db"}}
    stream = StreamDescriptor(name="orders", system="kafka", address="orders", format=StreamFormat.JSON)
    spec = SystemSpec.model_validate(system)
    with closing(local_systems(folder).open_transactional_admin("kafka", spec)) as admin:
        admin.create({stream: 4})
    with closing(local_systems(folder).open_producer("kafka", spec, [stream], OWNER)) as producer:
        for amount in [*range(428), "much", 1]:
            producer.send(Ssp("kafka", "orders", 3), json.dumps({"amount": amount}).encode(), timestamp=1)
        producer.commit()
    return {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "totals"},
        "spec": {
            "systems": {"kafka": system},
            "streams": {
                "orders": {"system": "kafka", "schema": "amount double", "bounded": True},
                "out": {"system": "kafka", "partitions": 1},
            },
            "operators": [{"name": "sent", "from": "orders", "sendTo": "out"}],
            "processors": {"count": 2},
        },
    }


def started(folder, document):
    (folder / "app.yaml").write_text(json.dumps(document))
    return CliRunner().invoke(app, ["run", str(folder / "app.yaml"), "--host", "in-process"])


def test_keys_of_several_columns_have_the_bytes_and_the_hash_that_the_page_says():
    examples = re.findall(r"^\| `(\{.*\})` \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert len(examples) == 2
    for key, length, hash_, partition in examples:
        parts = json.loads(key)
        rows = pa.table({"shop": [parts["shop"]], "item": pa.array([parts["item"]], pa.int32())})
        keys = RecordKey(("shop", "item"), tuple(parts)).values(rows)
        (data,) = (text.encode() for text in keys.to_pylist())
        assert (data.decode(), len(data)) == (key, int(length))
        assert key_hashes(keys).tolist()[0] & 0x7FFFFFFF == int(hash_)
        assert partition_numbers(keys, 6).tolist() == [int(partition)]
