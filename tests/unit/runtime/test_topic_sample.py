"""First apps of topics, which a log stands for here: keys of records, schemas of a registry, event times."""

import io
import json
import struct
from dataclasses import dataclass
from pathlib import Path

import fastavro
import pytest

from streamapp_core.inference.draft import write_draft
from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.systems import SystemSpec
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.inference.draft_app import draft_apps
from streamapp_runtime.inference.topic_sample import sample_topic
from streamapp_systems.expansion_algorithms import installed_algorithm
from streamapp_systems.log import LogAdmin, LogConsumer
from streamapp_systems.registry import local_systems
from streamapp_systems.schema_header import header_of
from support import log_messages
from support.hashed_keys import partition_of
from support.log_messages import LogRecord
from support.schema_registry import stub_registry

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "item", "type": "string"},
        {"name": "paid", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
    ],
}
PROTO = 'syntax = "proto3"; message Other { int32 x = 1; } message Order { string item = 1; int64 n = 2; }'


@dataclass(frozen=True)
class LogForKafka:
    """Opens the log of a folder where a spec says Kafka."""

    folder: Path

    def open_admin(self, name, system, *, timeout):
        return LogAdmin(self.folder / "log.db")

    def open_consumer(self, name, system, streams):
        return LogConsumer(self.folder / "log.db", streams)

    def open_schema_registry(self, name, system, *, timeout=10.0):
        return local_systems(self.folder).open_schema_registry(name, system, timeout=timeout)


def drafted(folder, records, partitions=2, registry=None):
    """Return the stream and the operators of the first app that is accepted of those drafted for a topic."""
    log_messages.write(folder, "shop.orders", partitions, records)
    kafka = {"bootstrapServers": "kafka:9092"} | ({"schemaRegistry": {"url": registry}} if registry else {})
    sample = sample_topic("shop.orders", SystemSpec.model_validate({"kafka": kafka}), LogForKafka(folder), 100)
    for draft in draft_apps(sample, "app"):
        parsed = parse_text(write_draft(draft))
        if not plan(parsed, {"shop-orders": partitions}, algorithms=installed_algorithm).problems:
            return parsed.app.spec.streams["shop-orders"], parsed.app.spec.operators
    raise AssertionError("no draft is accepted")


def record(value, key=None, partition=0):
    return LogRecord(json.dumps(value).encode(), key, partition)


def test_the_key_of_records_is_the_column_that_equals_it_where_its_hash_belongs(tmp_path):
    items = ["tea", "cake", "milk", "rice"]
    records = [record({"n": 1, "item": i}, i.encode(), partition_of(i.encode(), 2)) for i in items]
    stream, operators = drafted(tmp_path, records)
    assert (stream.key, stream.name, stream.stream_schema) == ("item", "shop.orders", "n bigint, item string")
    assert operators[0].from_ == "shop-orders"
    assert operators[0].window.by == ("item",)


def test_a_key_whose_hash_does_not_say_its_partition_is_not_declared(tmp_path):
    items = ["tea", "cake", "milk", "rice"]
    stream, _ = drafted(tmp_path, [record({"item": i}, i.encode(), 0) for i in items])
    assert stream.key is None


@pytest.mark.parametrize(("form", "name"), [(">i", "int"), (">q", "long")])
def test_binary_keys_of_java_are_told(tmp_path, form, name):
    records = [record({"k": n}, (key := struct.pack(form, n)), partition_of(key, 2)) for n in (1, 7, 300)]
    stream, _ = drafted(tmp_path, records)
    assert (stream.key, stream.key_format) == ("k", name)


def test_a_partition_without_rows_gets_an_idle_timeout(tmp_path):
    stream, _ = drafted(tmp_path, [record({"at": 1_714_557_600_123})])
    assert (stream.json_options.timestamps, stream.event_time.idle_timeout) == ("millis", 60_000)


def test_the_columns_of_avro_are_those_of_its_schema(tmp_path):
    with stub_registry() as registry:
        content = io.BytesIO()
        fastavro.schemaless_writer(content, ORDER, {"item": "tea", "paid": 1_714_557_600_123})
        header = header_of(registry.add("orders-value", ORDER))
        stream, _ = drafted(tmp_path, [LogRecord(header + content.getvalue())], registry=registry.url)
    assert (stream.format, stream.stream_schema) == ("avro", "item string, paid timestamp")
    assert stream.event_time.column == "paid"


def test_the_message_of_protobuf_is_the_one_that_values_name(tmp_path):
    with stub_registry() as registry:
        header = header_of(registry.add("orders-value", PROTO, schemaType="PROTOBUF"))
        stream, _ = drafted(tmp_path, [LogRecord(header + b"\x02\x02\x0a\x03tea\x10\x07")], registry=registry.url)
    assert (stream.format, stream.protobuf.message) == ("protobuf", "Order")
    assert stream.stream_schema == "item string, n bigint"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([None], "no records with values"),
        ([b"some text"], "are no JSON objects, and have no schema ids: the newest begins with b'some text'"),
        ([header_of(7) + b"\x00"], "--schema-registry URL"),
    ],
)
def test_what_can_not_be_guessed_is_told(tmp_path, values, told):
    with pytest.raises(RuntimeFailure) as failure:
        drafted(tmp_path, [LogRecord(value, b"k") for value in values])
    assert told in str(failure.value)


def test_a_topic_that_is_not_there_is_told(tmp_path):
    log_messages.write(tmp_path, "another", 1, [])
    system = SystemSpec.model_validate({"kafka": {"bootstrapServers": "kafka:9092"}})
    with pytest.raises(RuntimeFailure, match="there is no topic orders"):
        sample_topic("orders", system, LogForKafka(tmp_path), 10)
