"""Outputs that an edit moves elsewhere: rows get where their commit was to bring them, and a new run may empty both."""

from contextlib import closing
from copy import deepcopy

import pytest
from deltalake import DeltaTable

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.file.output_folder import MARKER
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from support import apps
from support.launched_apps import LaunchedApp
from support.waiting import eventually

ROWS = 20
COUNTS = {"in": 1, "filed": 1, "kept": 1}


def app():
    spec = {
        "systems": {
            "hub": {"log": {"path": "log.db"}},
            "files": {"file": {"path": "old"}},
            "lake": {"delta": {"path": "old", "commitEvery": "1h"}},
        },
        "defaultSystem": "hub",
        "streams": {
            "in": {"system": "hub", "schema": "k int"},
            "filed": {"system": "files", "format": "csv"},
            "kept": {"system": "lake"},
        },
        "operators": [
            {"name": "to-files", "from": "in", "sendTo": "filed"},
            {"name": "to-table", "from": "in", "sendTo": "kept"},
        ],
        "job": {"commitInterval": "5m"},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def into_the_log(spec):
    for name in ("filed", "kept"):
        spec["streams"][name] = {"system": "hub"}
    del spec["systems"]["files"], spec["systems"]["lake"]


def into_another_folder(spec):
    spec["systems"]["files"]["file"]["path"] = spec["systems"]["lake"]["delta"]["path"] = "new"


def write(folder, first):
    stream = StreamDescriptor(name="in", system="hub", address="in", format=StreamFormat.JSON)
    if not first:
        with closing(LogAdmin(folder / "log.db")) as admin:
            admin.create({stream: 1})
    with closing(LogProducer(folder / "log.db", [stream], TransactionOwner(id="s", epoch=1))) as producer:
        for k in range(first, first + ROWS):
            producer.send(Ssp("hub", "in", 0), b'{"k": %d}' % k, timestamp=0)
        producer.commit()


def has_written(launched, rows):
    assert not launched.failed
    return launched.health.summary and launched.health.summary.written == {"filed": rows, "kept": rows}


def check_written(folder, rows):
    assert sorted(int(k) for (k,) in apps.rows(folder / "filed")) == list(rows)
    assert sorted(DeltaTable(folder / "kept").to_pyarrow_table().column("k").to_pylist()) == list(rows)
    assert len(list(folder.rglob(MARKER))) == 2


@pytest.mark.parametrize("move", [into_the_log, into_another_folder])
def test_what_was_committed_before_an_output_is_moved_is_where_it_was(tmp_path, move):
    write(tmp_path, 0)
    document = app()
    with LaunchedApp(tmp_path, document, COUNTS) as launched:
        assert eventually(lambda: has_written(launched, ROWS))
    edited = deepcopy(document)
    move(edited["spec"])
    write(tmp_path, ROWS)
    with launched.restarted(edited) as again:
        assert eventually(lambda: has_written(again, 2 * ROWS))
    check_written(tmp_path / "old", range(ROWS))
    if move is into_another_folder:
        check_written(tmp_path / "new", range(ROWS, 2 * ROWS))
