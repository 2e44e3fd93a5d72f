"""The adjunct vectors on values: stores in LMDB and in memory, messages as a stream has them."""

import json
from contextlib import closing
from pathlib import Path
from random import Random

import msgspec
import pyarrow as pa
import pytest

from conformance.adjunct import by_ssp
from streamapp_core.adjunct import Extent
from streamapp_core.plan import plan
from streamapp_core.spec.job import OnBrokenClaim, OnError
from streamapp_core.spec.parse import parse_document
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.claim_checker import ClaimChecker
from streamapp_runtime.processor.decoding_input_source import DecodingInputSource
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.keyed_changes import Deletions
from streamapp_runtime.rows.row_codec import decode_row
from streamapp_runtime.rows.tombstones import KeyColumn
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.checkpoint import InputPosition
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.unlogged_state import UnloggedState
from streamapp_runtime.tables.adjunct_store import ReadTo, SavedRecord
from streamapp_runtime.tables.table_opener import TableOpener
from streamapp_systems.protocols import FetchedBatch, Message, MessageTuple

ROWS = pa.schema([("k", pa.string()), ("v", pa.string())])


def vectors(kind):
    found = json.loads((Path(__file__).parents[2] / "vectors" / "adjunct.json").read_text())
    return [pytest.param(vector, id=vector["name"]) for vector in found if vector["kind"] == kind]


def planned(table, partitions):
    """Plan an app whose table `t` is filled by `planes`."""
    stream = {"system": "kafka", "key": "k", "schema": "k string, v string"}
    document = {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "app"},
        "spec": {
            "systems": {"kafka": {"log": {"path": "log.db"}}},
            "streams": {
                "planes": {**stream, "broadcast": table.get("broadcast", False)},
                "flights": {**stream, "schema": "k string, n int"},
                "out": {"system": "kafka"},
            },
            "tables": {
                "t": {
                    "key": "k",
                    "sideInputs": ["planes"],
                    "bootstrap": table["bootstrap"],
                    "persistent": table["persistent"],
                    "maxAge": table.get("maxAge"),
                }
            },
            "operators": [
                {"name": "joined", "from": "flights", "joinTable": {"table": "t", "on": "k"}},
                {"name": "sent", "from": "joined", "sendTo": "out"},
            ],
        },
    }
    return plan(parse_document(document), {"planes": partitions, "flights": partitions, "out": 1}).plan


def leave(state, store):
    """Leave a store as an earlier run did: with a row, and what it says it holds."""
    kept = state.store("t")
    kept.store.put(b"old", b"row")
    if store.get("unreadable"):
        kept.write_record(b"no record")
    else:
        read_to = tuple(
            ReadTo(
                system=ssp.system, stream=ssp.stream, partition=ssp.partition, position=InputPosition(offset=at, rows=7)
            )
            for ssp, at in by_ssp(store["next"]).items()
        )
        record = SavedRecord(run_id=store["runId"], written_at=store["writtenAt"], read_to=read_to)
        kept.write_record(msgspec.json.encode(record))
    state.commit()


@pytest.mark.parametrize("vector", vectors("recovery"))
def test_a_table_is_opened_as_the_vector_says(vector, tmp_path):
    extents = {ssp: Extent(**extent) for ssp, extent in by_ssp(vector["stream"]).items()}
    app = planned(vector["table"], max(ssp.partition for ssp in extents) + 1)
    with SqlEngine() as engine, closing(UnloggedState(tmp_path, identity("r1"))) as state:
        if vector["store"] is not None:
            leave(state, vector["store"])
        opener = TableOpener(app, engine, {}, extents=extents, time_of_day=lambda: vector["now"])
        side_inputs = opener.open_side_inputs(
            list(app.tables.values()), extents.keys(), by_ssp(vector["checkpoint"]), lambda: state
        )
        kept = [*state.store("t").store.scan()] if vector["table"]["persistent"] else []
    expect = vector["expect"]
    starts = {ssp: position.offset for ssp, position in side_inputs.positions.items()}
    assert starts == by_ssp(expect["start"])
    ends = {ssp: starts[ssp] + offsets for ssp, offsets in side_inputs.bootstrap_lag().items()}
    assert ends == by_ssp(expect.get("waitFor", {}))
    assert bool(kept) is (expect["action"] == "reuse")


def identity(run_id):
    return StateOwner(run_id=run_id, task="Partition 0", boot_id="boot")


class Read:
    """A consumer that brings some messages once."""

    def __init__(self, *messages):
        self.messages = messages

    def poll(self, ssps, max_rows, timeout):
        (ssp,) = ssps
        return [FetchedBatch(ssp=ssp, offset=0, next_offset=len(self.messages), messages=MessageTuple(self.messages))]


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize("vector", vectors("apply"))
def test_messages_do_to_a_table_what_the_vector_says(vector, persistent, tmp_path):
    ssp = Ssp("kafka", "planes", 0)
    app = planned({"bootstrap": True, "persistent": persistent}, 1)
    inputs = DecodingInputSource(
        {"kafka": Read(*map(message, range(100), vector["messages"]))},
        intermediate={},
        shared={},
        external={"planes": Deletions(JsonDecoder(ROWS), KeyColumn(ROWS.field("k")))},
        event_times={"planes": ()},
        on_error=OnError.FAIL,
        dead_letters=(),
        claims=ClaimChecker({}, OnBrokenClaim.FAIL, lambda: 0.0, Random(0)),
        later_starts={},
    )
    with SqlEngine() as engine, closing(UnloggedState(tmp_path, identity("r1"))) as state:
        extents = {ssp: Extent(oldest=0, end=len(vector["messages"]))}
        opener = TableOpener(app, engine, {}, extents=extents, time_of_day=lambda: 0)
        side_inputs = opener.open_side_inputs(list(app.tables.values()), [ssp], {}, lambda: state)
        for decoded in inputs.poll([ssp], 100, 0):
            side_inputs.take(decoded)
        keys = sorted({m["key"] for m in vector["messages"] if m["key"] is not None})
        columns, found = side_inputs.tables["t"].lookup(pa.chunked_array([keys], pa.string()))
        rows = {
            k: row["v"]
            for k, row, is_there in zip(keys, columns.to_pylist(), found.to_pylist(), strict=True)
            if is_there
        }
        assert rows == vector["expect"]["rows"]
        (store,) = side_inputs.stores
        assert store.not_used["without key"] == vector["expect"]["skipped"]
        side_inputs.commit()
        if persistent:
            stored = {decode_row(k)[0]: decode_row(v)[1] for k, v in state.store("t").store.scan()}
            assert stored == vector["expect"]["rows"]


def message(offset, fields):
    key, value = fields["key"], fields["value"]
    data = None if value is None else json.dumps({"k": key, "v": value}).encode()
    return Message(offset, 0, None if key is None else key.encode(), data)
