"""Streams whose keys are Java's binary numbers: joined, deleted by, and written."""

import json
import struct

import numpy as np
import pytest

from streamapp_core.murmur2 import murmur2, partitions
from streamapp_runtime.errors import PlanRefused
from support import apps, log_messages
from support.log_messages import LogRecord

KEYS = range(-4, 20)
PARTITIONS, OUT_PARTITIONS = 3, 5
GONE = 7


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


def record(k, value):
    key = struct.pack(">q", k)
    encoded = None if value is None else json.dumps(value).encode()
    return LogRecord(encoded, key, partition_of(key, PARTITIONS))


def write(folder):
    names = [record(k, {"k": k, "name": f"name {k}"}) for k in KEYS]
    log_messages.write(folder, "names", PARTITIONS, [*names, record(GONE, None)])
    log_messages.write(folder, "in", PARTITIONS, [record(k, {"k": k, "n": 1}) for k in KEYS])


def test_numbers_join_delete_and_are_written_as_java_does(tmp_path):
    write(tmp_path)
    apps.run(app(), tmp_path)
    found = {}
    for partition, messages in enumerate(log_messages.read_partitions(tmp_path, "out", OUT_PARTITIONS)):
        for message in messages:
            assert partition_of(message.key, OUT_PARTITIONS) == partition
            found[struct.unpack(">q", message.key)[0]] = json.loads(message.value)["name"]
    assert found == {k: None if k == GONE else f"name {k}" for k in KEYS}


def test_a_key_that_is_no_number_of_that_width_is_refused(tmp_path):
    write(tmp_path)
    with pytest.raises(PlanRefused, match=r"spec\.streams\.out\.keyFormat: NotSupported: `k` is bigint, and int keys"):
        apps.run(app(keyFormat="int"), tmp_path)
