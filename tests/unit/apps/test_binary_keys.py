"""Streams whose keys are Java's binary numbers: joined, deleted by, and written."""

import json
import struct
from contextlib import closing

import numpy as np
import pytest

from streamapp_core.murmur2 import murmur2, partitions
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import PlanRefused
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from streamapp_systems.registry import local_systems
from support import apps

LOG = {"log": {"path": "log.db"}}
SPEC = SystemSpec.model_validate(LOG)
KEYS = range(-4, 20)
PARTITIONS, OUT_PARTITIONS = 3, 5
GONE = 7


def stream(name):
    return StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.JSON)


def partition_of(key: bytes, count: int) -> int:
    return int(partitions(murmur2(np.frombuffer(key, np.uint8), np.array([0, len(key)])), count)[0])


def app(**out):
    form = {"system": "log", "key": "k", "keyFormat": "long", "bounded": True}
    document = apps.document(
        [
            {"name": "named", "from": "in", "joinTable": {"table": "name", "on": "k", "type": "left"}},
            {"name": "sent", "from": "named", "sendTo": "out"},
        ],
        tables={"name": {"key": "k", "sideInputs": ["names"], "bootstrap": True}},
        **{"in": {**form, "schema": "k bigint, n int", "format": "json"}},
        names={**form, "schema": "k bigint, name string", "format": "json"},
        out={"system": "log", "format": "json", "key": "k", "keyFormat": "long", "partitions": OUT_PARTITIONS} | out,
    )
    document["spec"]["streams"]["out"]["name"] = "out"
    return document


def write(folder):
    streams = [stream("in"), stream("names")]
    with closing(local_systems(folder).open_transactional_admin("log", SPEC)) as admin:
        admin.create(dict.fromkeys(streams, PARTITIONS))
    with closing(
        local_systems(folder).open_producer("log", SPEC, streams, TransactionOwner(id="source", epoch=1))
    ) as producer:

        def send(name, k, value):
            key = struct.pack(">q", k)
            encoded = None if value is None else json.dumps(value).encode()
            producer.send(Ssp("log", name, partition_of(key, PARTITIONS)), encoded, key=key, timestamp=1)

        for k in KEYS:
            send("names", k, {"k": k, "name": f"name {k}"})
            send("in", k, {"k": k, "n": 1})
        send("names", GONE, None)
        producer.commit()


def test_numbers_join_delete_and_are_written_as_java_does(tmp_path):
    write(tmp_path)
    apps.run(app(), tmp_path)
    with closing(local_systems(tmp_path).open_transactional_admin("log", SPEC)) as admin:
        ends = admin.end_offsets([stream("out")])
    found = {}
    with closing(local_systems(tmp_path).open_consumer("log", SPEC, [stream("out")])) as consumer:
        consumer.assign(dict.fromkeys(ends, 0), ends)
        for _ in range(20):
            for part in consumer.poll(list(ends), 1_000, 0.0):
                for message in part.messages:
                    assert partition_of(message.key, OUT_PARTITIONS) == part.ssp.partition
                    found[struct.unpack(">q", message.key)[0]] = json.loads(message.value)["name"]
    assert found == {k: None if k == GONE else f"name {k}" for k in KEYS}


def test_a_key_that_is_no_number_of_that_width_is_refused(tmp_path):
    write(tmp_path)
    with pytest.raises(PlanRefused, match=r"spec\.streams\.out\.keyFormat: NotSupported: `k` is bigint, and int keys"):
        apps.run(app(keyFormat="int"), tmp_path)
