"""Records that can't be read are kept with their bytes, keys, places and reasons, once, and can be sent back."""

import base64
import json
import re

import pytest
import yaml

from streamapp_systems.protocols import BadRecord
from support import apps, log_messages
from support.log_messages import LogRecord
from unit.docs import pages

SYSTEM = {"log": {"path": "log.db"}}
LETTERS = "default.totals._dead-letters"


def write(folder, name, *records):
    """Write records (partition, key, value) to a stream of two partitions."""
    sent = [
        LogRecord(value, key, partition, timestamp=100 + number)
        for number, (partition, key, value) in enumerate(records)
    ]
    log_messages.write(folder, name, 2, sent)


def app(on_error="deadLetter", **orders):
    spec = {
        "systems": {"log": SYSTEM},
        "streams": {
            "orders": {"system": "log", "schema": "k string, n int", "bounded": True, **orders},
            "out": {"system": "log"},
        },
        "operators": [{"name": "sent", "from": "orders", "sendTo": "out"}],
        "job": {"onError": on_error},
    }
    head = {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "totals"}}
    return head | {"spec": spec}


GOOD = b'{"k": "a", "n": 1}'
RECORDS = [(0, b"a", GOOD), (0, b"\xff", b"\xfe{"), (1, None, b'{"n": "much"}'), (1, b"t", None), (1, b"b", GOOD)]


def test_unreadable_records_are_kept_once_with_all_that_is_known_of_them(tmp_path):
    write(tmp_path, "orders", *RECORDS)
    summary = apps.run(app(), tmp_path)
    assert summary.written == {"out": 2}
    assert summary.not_used == {"orders": {"dead letters": 2, "without value": 1}}
    apps.run(app(), tmp_path, fresh=False)
    found = {json.loads(message.value)["partition"]: message for message in log_messages.read(tmp_path, LETTERS)}
    assert len(log_messages.read(tmp_path, LETTERS)) == 2
    assert [(found[n].key, found[n].timestamp) for n in (0, 1)] == [(b"\xff", 101), (None, 102)]
    first, second = (json.loads(found[n].value) for n in (0, 1))
    assert (first["system"], first["stream"], first["offset"], first["timestamp"]) == ("log", "orders", 1, 101)
    assert base64.b64decode(first["value"]) == b"\xfe{"
    assert (second["key"], second["offset"], second["reason"]) == (None, 0, "column n: 'much' is no int")


def test_an_app_that_stopped_goes_on_with_dead_letters(tmp_path):
    write(tmp_path, "orders", *RECORDS)
    with pytest.raises(BadRecord):
        apps.run(app("fail"), tmp_path)
    assert apps.run(app(), tmp_path, fresh=False).written == {"out": 2}
    assert len(log_messages.read(tmp_path, LETTERS)) == 2


def test_a_new_run_keeps_the_letters_of_the_one_before(tmp_path):
    write(tmp_path, "orders", *RECORDS)
    apps.run(app(), tmp_path)
    apps.run(app(), tmp_path, run_id="r2")
    assert len(log_messages.read(tmp_path, LETTERS)) == 4


def test_records_that_every_task_reads_are_not_kept(tmp_path):
    write(tmp_path, "orders", *RECORDS)
    document = app(broadcast=True)
    document["spec"]["streams"]["rows"] = {"system": "log", "schema": "k string", "bounded": True}
    document["spec"]["operators"].append({"name": "too", "from": "rows", "sendTo": "out"})
    write(tmp_path, "rows", (0, None, b"{}"))
    with pytest.raises(BadRecord, match=r"log\.orders\["):
        apps.run(document, tmp_path)


def test_the_app_of_the_page_sends_the_bytes_back(tmp_path):
    text = pages.read("dead-letters.md")
    replay = next(
        fence.text for fence in pages.fences(text) if "_dead-letters" in fence.text and fence.language == "yaml"
    )
    write(tmp_path, "orders", *RECORDS)
    apps.run(app(), tmp_path)
    document = yaml.safe_load(replay)
    on_log = json.loads(re.sub(r'"system": "kafka"', '"system": "log"', json.dumps(document)))
    on_log["spec"] |= {"systems": {"log": SYSTEM}, "defaultSystem": "log"}
    assert apps.run(on_log, tmp_path, run_id="replay").written == {"orders": 2}
    sent = [message.value for message in log_messages.read(tmp_path, "orders", 2)]
    assert sorted(value for value in sent if value is not None) == sorted(
        [GOOD, GOOD, *[b"\xfe{", b'{"n": "much"}'] * 2]
    )
