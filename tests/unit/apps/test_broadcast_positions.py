"""Tasks of one processor that have read a broadcast stream up to different places: each gets every row once."""

import json
from collections import Counter
from contextlib import closing

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import StreamDescriptor, TransactionOwner
from support import apps


def stream(name):
    return StreamDescriptor(name=name, system="log", address=name, format=StreamFormat.JSON)


EVERYWHERE, ORDERS = stream("everywhere"), stream("orders")


def app():
    rows = {"system": "log", "schema": "k string"}
    out = {"system": "files", "format": "csv"}
    spec = {
        "systems": {"files": {"file": {"path": "."}}, "log": {"log": {"path": "log.db"}}},
        "defaultSystem": "log",
        "streams": {
            "everywhere": rows | {"broadcast": True},
            "orders": rows,
            "out": out | {"name": "out"},
            "orders-out": out | {"name": "orders-out"},
        },
        "operators": [
            {"name": "sent", "from": "everywhere", "sendTo": "out"},
            {"name": "orders-sent", "from": "orders", "sendTo": "orders-out"},
        ],
        "job": {"commitInterval": "20ms", "watermarkInterval": "1ms"},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def write(folder, to, *keys, partition=0, epoch=1):
    owner = TransactionOwner(id="writer", epoch=epoch)
    with closing(LogProducer(folder / "log.db", [to], owner)) as producer:
        for key in keys:
            producer.send(Ssp("log", to.name, partition), json.dumps({"k": key}).encode(), key=None, timestamp=0)
        producer.commit()


def rows(folder, name="out"):
    return apps.row_counts(folder / name)


def test_new_tasks_of_an_app_without_state_do_not_write_again_what_a_broadcast_stream_had(tmp_path):
    document = app()
    with closing(LogAdmin(tmp_path / "log.db")) as admin:
        admin.create({EVERYWHERE: 1, ORDERS: 1})
        write(tmp_path, EVERYWHERE, "a", "b")
        apps.run_until(tmp_path, document, lambda: rows(tmp_path).total() == 2)
        admin.expand(ORDERS, 3)
    write(tmp_path, EVERYWHERE, "c", epoch=2)
    write(tmp_path, ORDERS, "x", partition=2, epoch=3)
    apps.run_until(tmp_path, document, lambda: ("c",) in rows(tmp_path) and ("x",) in rows(tmp_path, "orders-out"))
    assert rows(tmp_path) == Counter([("a",), ("b",), ("c",)])
