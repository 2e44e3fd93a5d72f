"""The apps of samples: what they read of the app they are of, and that they write to a log of their own alone."""

import copy

import pytest

from streamapp_core.replay.replay_app import without_times
from streamapp_core.replay.sampled_app import build_sample, sample_name, shown_streams
from streamapp_core.spec.parse import parse_document
from support.plan_documents import accepted, document, planned

KAFKA = {"bootstrapServers": "k:1", "config": {"group.id": "mine", "client.id": "c"}}
SYSTEMS = {
    "kafka": {"kafka": KAFKA},
    "sample": {"file": {"path": "."}},
    "shop": {"postgresql": {"uri": "postgresql://h/shop"}},
    "lake": {"delta": {"path": "lake"}},
}
COUNTS = {"orders": 4, "prices": 4, "names": 1, "topic": 3, "lines": 2}


def app():
    return document(
        [
            {"name": "by-shop", "from": ["orders"], "partitionBy": {"key": "shop", "stream": "shops"}},
            {"name": "named", "from": "by-shop", "joinTable": {"table": "names-of", "on": "shop"}},
            {"name": "counted", "from": "named", "aggregate": {"by": ["shop"], "select": "count(*) as n"}},
            {"name": "to-topic", "from": "by-shop", "sendTo": "topic"},
            {"name": "to-table", "from": "counted", "sendTo": "table"},
            {"name": "to-lake", "from": "lines", "sendTo": "rows"},
        ],
        streams={
            "orders": {"system": "kafka", "schema": "id bigint, shop string", "startFrom": "latest"},
            "names": {"system": "kafka", "schema": "shop string, title string", "key": "shop", "broadcast": True},
            "lines": {"system": "lake", "name": "lines", "schema": "id bigint"},
            "topic": {"system": "kafka", "name": "shop.topic"},
            "table": {"system": "shop", "name": "all.orders", "key": "shop"},
            "rows": {"system": "lake", "name": "orders/"},
        },
        tables={"names-of": {"sideInputs": ["names"], "key": "shop"}},
        systems=SYSTEMS,
        defaultSystem="kafka",
        runId="live",
    )


def sampled(made, start=60_000):
    before = copy.deepcopy(made)
    built = build_sample(made, accepted(made, COUNTS), start)
    assert made == before
    return built


def test_only_inputs_are_in_systems_of_the_app():
    spec = sampled(app())["spec"]
    streams = spec["streams"]
    assert spec["systems"] == {
        "kafka": {"kafka": {"bootstrapServers": "k:1", "config": {"client.id": "c"}}},
        "lake": {"delta": {"path": "lake", "journal": ".streamapp/app-sample/lake"}},
        "sample-log": {"log": {"path": ".streamapp/app-sample/log.db"}},
    }
    written = {name for name in streams if streams[name]["system"] == "sample-log"}
    operators = {"by-shop", "named", "counted"}
    assert written == {"topic", "table", "rows", *(f"{name}--rows" for name in operators)}
    assert streams["topic"]["partitions"] == 3
    assert (spec["defaultSystem"], spec["processors"]) == ("sample-log", {"count": 1})
    assert "runId" not in spec
    assert "stream" not in spec["operators"][0]["partitionBy"]
    assert accepted(sampled(app()), COUNTS).default_system == "sample-log"


def test_inputs_with_offsets_begin_at_the_time_and_end():
    streams = sampled(app())["spec"]["streams"]
    assert streams["orders"] == {
        "system": "kafka",
        "schema": "id bigint, shop string",
        "startingTimestamp": "1970-01-01T00:01:00.000Z",
        "bounded": True,
    }
    assert streams["names"] == app()["spec"]["streams"]["names"]
    assert "startingTimestamp" not in sampled(app(), None)["spec"]["streams"]["orders"]


def test_what_must_be_whole_is_read_from_its_beginning():
    orders = {"system": "kafka", "schema": "id bigint, shop string", "key": "id", "changes": "upsert"}
    made = document(
        [{"name": "sent", "from": "orders", "sendTo": "out"}, {"name": "seen", "from": "clicks", "sendTo": "out-too"}],
        streams={
            "orders": orders,
            "clicks": {"system": "kafka", "schema": "id int"},
            "out": {"system": "kafka", "key": "id", "partitions": 1},
            "out-too": {"system": "kafka", "partitions": 1},
        },
        systems={"kafka": {"kafka": KAFKA}},
        defaultSystem="kafka",
    )
    built = build_sample(made, accepted(made, {"orders": 4, "clicks": 1}), 60_000)
    again = without_times(built, planned(built, {"orders": 4, "clicks": 1}).problems)
    assert again["spec"]["streams"]["orders"] == orders | {"bounded": True}
    assert again["spec"]["streams"]["clicks"]["startingTimestamp"] == "1970-01-01T00:01:00.000Z"
    assert planned(again, {"orders": 4, "clicks": 1}).problems == ()


@pytest.mark.parametrize("name", ["app", "a" * 63])
def test_the_name_of_a_sample_is_one_of_an_app(name):
    made = app() | {"metadata": {"name": sample_name(name)}}
    assert parse_document(made).problems == ()


def test_rows_of_outputs_and_operators_are_in_streams():
    streams = shown_streams(accepted(app(), COUNTS))
    assert streams["topic"] == "topic"
    assert streams["named"] == "named--rows"
    assert "to-topic" not in streams
