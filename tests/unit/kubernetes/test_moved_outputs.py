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
COUNTS = {"in": 1, "out": 1}
FILES, LAKE = {"file": {"path": "old"}}, {"delta": {"path": "old", "commitEvery": "1h"}}


def app(holder):
    spec = {
        "systems": {"hub": {"log": {"path": "log.db"}}, "holder": holder},
        "defaultSystem": "hub",
        "streams": {
            "in": {"system": "hub", "schema": "k int"},
            "out": {"system": "holder", "format": "csv" if "file" in holder else "json"},
        },
        "operators": [{"name": "sent", "from": "in", "sendTo": "out"}],
        "job": {"commitInterval": "5m"},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def write(folder, first):
    stream = StreamDescriptor(name="in", system="hub", address="in", format=StreamFormat.JSON)
    if not first:
        with closing(LogAdmin(folder / "log.db")) as admin:
            admin.create({stream: 1})
    with closing(LogProducer(folder / "log.db", [stream], TransactionOwner(id="s", epoch=1))) as producer:
        for k in range(first, first + ROWS):
            producer.send(Ssp("hub", "in", 0), b'{"k": %d}' % k, timestamp=0)
        producer.commit()


def written(folder):
    if DeltaTable.is_deltatable(str(folder / "out")):
        return sorted(DeltaTable(folder / "out").to_pyarrow_table().column("k").to_pylist())
    return sorted(int(k) for (k,) in apps.rows(folder / "out"))


def into_the_log(spec):
    spec["streams"]["out"] = {"system": "hub"}
    del spec["systems"]["holder"]


def into_another_folder(spec):
    (holder,) = spec["systems"]["holder"].values()
    holder["path"] = "new"


def has_written(app, rows):
    assert not app.failed
    return app.health.summary and app.health.summary.written.get("out") == rows


@pytest.mark.parametrize("move", [into_the_log, into_another_folder])
@pytest.mark.parametrize("holder", [FILES, LAKE])
def test_what_was_committed_before_an_output_is_moved_is_where_it_was(tmp_path, holder, move):
    write(tmp_path, 0)
    document = app(holder)
    with LaunchedApp(tmp_path, document, COUNTS) as launched:
        assert eventually(lambda: has_written(launched, ROWS))
    edited = deepcopy(document)
    move(edited["spec"])
    write(tmp_path, ROWS)
    with launched.restarted(edited) as again:
        assert eventually(lambda: has_written(again, 2 * ROWS))
    assert written(tmp_path / "old") == list(range(ROWS))
    if move is into_another_folder:
        assert written(tmp_path / "new") == list(range(ROWS, 2 * ROWS))
        assert list((tmp_path / "new").rglob(MARKER))
