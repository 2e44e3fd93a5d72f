"""Runs the vectors of `adjunct.json`."""

from streamapp_core.adjunct import Extent, NoStoreRecord, StoreRecord, last_changes, plan_recovery
from streamapp_core.spec.base import parse_duration
from streamapp_core.ssp import Ssp


def run(vector):
    KINDS[vector["kind"]](vector)


def recover(vector):
    table = vector["table"]
    found = plan_recovery(
        bootstrap=table.get("bootstrap", True),
        persistent=table.get("persistent", True),
        max_age=None if table.get("maxAge") is None else parse_duration(table["maxAge"]),
        run_id=vector["runId"],
        now=vector["now"],
        found=store_of(vector["store"]),
        partitions={ssp(name): Extent(**extent) for name, extent in vector["stream"].items()},
        checkpoint=by_ssp(vector["checkpoint"]),
    )
    expect = vector["expect"]
    assert found.action == expect["action"]
    assert found.start == by_ssp(expect["start"])
    assert found.wait_for == by_ssp(expect.get("waitFor", {}))


def store_of(store):
    if store is None:
        return NoStoreRecord.NO_STORE
    if store.get("unreadable"):
        return NoStoreRecord.UNREADABLE
    return StoreRecord(run_id=store["runId"], written_at=store["writtenAt"], next=by_ssp(store["next"]))


def by_ssp(offsets):
    return {ssp(name): offset for name, offset in offsets.items()}


def ssp(name):
    stream, _, partition = name.rpartition("/")
    return Ssp("kafka", stream, int(partition))


def apply(vector):
    changes = last_changes((message["key"], message["value"]) for message in vector["messages"])
    assert {key: value for key, value in changes.latest.items() if value is not None} == vector["expect"]["rows"]
    assert changes.skipped == vector["expect"]["skipped"]


KINDS = {"recovery": recover, "apply": apply}
