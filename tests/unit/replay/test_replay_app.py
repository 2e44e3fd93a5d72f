"""The apps of replays: what they keep of the app they repeat, and what they have of their own."""

import copy

import pytest

from streamapp_core.plan.planner import plan
from streamapp_core.replay.positions import Positions
from streamapp_core.replay.replay_app import Replay, ReplayRefusedError, build_replay
from streamapp_core.spec.parse import parse_document
from support.plan_documents import accepted, document

SYSTEMS = {
    "kafka": {"kafka": {"bootstrapServers": "k:1"}},
    "shop": {"postgresql": {"uri": "postgresql://h/shop"}},
    "lake": {"delta": {"path": "lake"}},
}


def app():
    orders = {"system": "kafka", "schema": "id bigint, shop string", "key": "id"}
    return document(
        [
            {"name": "by-shop", "from": "orders", "partitionBy": {"key": "shop", "stream": "shops"}},
            {"name": "to-topic", "from": "by-shop", "sendTo": "topic"},
            {"name": "to-table", "from": "by-shop", "sendTo": "table"},
            {"name": "to-lake", "from": "by-shop", "sendTo": "rows"},
        ],
        streams={
            "orders": orders,
            "topic": {"system": "kafka", "name": "shop.topic"},
            "table": {"system": "shop", "name": "all.orders"},
            "rows": {"system": "lake", "name": "orders/"},
        },
        systems=SYSTEMS,
        defaultSystem="kafka",
    )


def built(**options):
    made = app()
    before = copy.deepcopy(made)
    fields = {"run_id": "r-2", "start": Positions(), "until": Positions()} | options
    replay = build_replay(made, accepted(made, {"orders": 4, "topic": 3}), Replay(**fields))
    assert made == before
    return replay


def test_outputs_have_the_run_id_behind_their_names_and_as_many_partitions():
    made = built()
    streams = made["spec"]["streams"]
    assert streams["topic"] == {"system": "kafka", "name": "shop.topic-r-2", "partitions": 3}
    assert streams["table"]["name"] == "all.orders_r_2"
    assert streams["rows"] == {"system": "lake", "name": "orders-r-2"}
    assert made["spec"]["operators"][0]["partitionBy"]["stream"] == "shops-r-2"
    again = plan(parse_document(made), {"orders": 4})
    assert again.problems == ()
    assert again.plan.streams["topic"].partitions == 3


def test_streams_that_one_alias_declares_are_still_two():
    made = app()
    same = {"system": "kafka"}
    made["spec"]["streams"] |= {"topic": same, "again": same}
    made["spec"]["operators"].append({"name": "to-again", "from": "by-shop", "sendTo": "again"})
    counts = {"orders": 4, "topic": 3, "again": 2}
    replay = Replay(run_id="r2", start=Positions(), until=Positions())
    streams = build_replay(made, accepted(made, counts), replay)["spec"]["streams"]
    assert [streams[name]["name"] for name in ("topic", "again")] == ["topic-r2", "again-r2"]
    assert same == {"system": "kafka"}


def test_positions_are_those_of_the_inputs():
    start = Positions(time=0, offsets={"orders": {3: 7, 0: 5}})
    until = Positions(time=1_000, offsets={"orders": {3: 9}})
    orders = built(start=start, until=until)["spec"]["streams"]["orders"]
    assert orders == app()["spec"]["streams"]["orders"] | {
        "startingTimestamp": "1970-01-01T00:00:00.000Z",
        "startingOffsets": {"0": 5, "3": 7},
        "bounded": True,
        "endingTimestamp": "1970-01-01T00:00:01.000Z",
        "endingOffsets": {"3": 9},
    }


def test_what_belongs_to_the_live_app_or_to_others_is_not_written():
    with pytest.raises(ReplayRefusedError, match=r"^rows, table: files and tables belong to the app"):
        built(into_live_outputs=True)


def test_one_shared_stream_has_no_two_writers():
    made = app()
    made["spec"]["operators"] = made["spec"]["operators"][:2]
    made["spec"]["streams"] = {name: made["spec"]["streams"][name] for name in ("orders", "topic")}
    replay = Replay(run_id="r2", start=Positions(), until=Positions(), into_live_outputs=True)
    with pytest.raises(ReplayRefusedError, match="other apps read what by-shop writes"):
        build_replay(made, accepted(made, {"orders": 4, "topic": 3}), replay)
