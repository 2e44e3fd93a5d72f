"""Streams between apps, as the planner sees them: one app's intermediate stream, the other's input."""

import pytest

from streamapp_core.edits.compare_specs import compare_specs
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.plan.render import to_document, to_mermaid, to_rows
from streamapp_core.spec.parse import parse_document
from support.plan_documents import accepted, document, found, planned

WRITER = document(
    [
        {"name": "odd", "from": "in", "filter": "v % 2 = 1"},
        {"name": "by", "from": "odd", "partitionBy": {"key": "g", "stream": "between-apps"}},
    ],
    streams={"in": "k string, g string, v int"},
    job={"intermediateStreamPartitions": 5},
)


def reader(**between):
    return document(
        [
            {"name": "counted", "from": "between", "aggregate": {"by": ["g"], "select": "count(*) as n"}},
            {"name": "sent", "from": "counted", "sendTo": "out"},
        ],
        streams={"between": {"schema": "g string", "key": "g", "controlMessages": True} | between, "out": {}},
    )


def test_nobody_in_the_app_has_to_read_its_shared_stream_and_then_no_task_does():
    plan = accepted(WRITER, {"in": 2})
    stream = plan.streams["by"]
    assert (stream.address, stream.shared, stream.partitions, stream.consumers) == ("between-apps", True, 5, ())
    model = build_job_model(plan)
    assert {ssp.stream for task in model.tasks.values() for ssp in task.ssps} == {"in"}
    assert model.streams["by"].partitions == 5
    parsed = parse_document(WRITER)
    assert compare_specs(parsed.app, parsed, {"in": 2}, model).new_streams == ()


def test_a_shared_stream_that_an_operator_begins_to_read_gets_its_tasks_then():
    model = build_job_model(accepted(WRITER, {"in": 2}))
    counted = {"name": "n", "from": "by", "aggregate": {"by": ["g"], "select": "count(*) as n"}}
    reading = document(
        [*WRITER["spec"]["operators"], counted, {"name": "o", "from": "n", "sendTo": "out"}],
        streams={**WRITER["spec"]["streams"], "out": {}},
        job=WRITER["spec"]["job"],
    )
    tasks = build_job_model(accepted(reading, {"in": 2}, model), model).tasks
    assert sum(ssp.stream == "by" for task in tasks.values() for ssp in task.ssps) == 5


def test_plans_show_what_a_shared_stream_is_called_outside():
    result = planned(WRITER, {"in": 2})
    assert to_document(result, build_job_model(result.plan).to_document())["streams"]["by"]["stream"] == "between-apps"
    assert [row.stream for row in to_rows(result.plan)] == ["in", "by as between-apps"]
    assert "partitionBy to between-apps, 5 partitions" in to_mermaid(result.plan)


def test_the_stream_of_another_app_is_an_input_and_made_by_that_app():
    assert accepted(reader(), {"between": 5}).streams["between"].shared
    assert found(reader()) == {("StreamNotFound", "spec.streams.between")}
    assert accepted(reader(partitions=5)).streams["between"].partitions == 5


@pytest.mark.parametrize("broadcast", [False, True])
def test_the_stream_of_another_app_may_not_grow(broadcast):
    """Not even by a multiple: nothing would ever come in the new partitions."""
    app = reader(broadcast=broadcast)
    model = build_job_model(accepted(app, {"between": 5}))
    assert found(app, {"between": 10}, model) == {("UnsupportedExpansion", "spec.streams.between")}
    assert found(app, {"between": 5}, model) == set()


@pytest.mark.parametrize("address", ["in", "by-other"])
def test_two_streams_of_an_app_are_not_called_the_same_outside(address):
    app = document(
        [
            {"name": "a", "from": "in", "partitionBy": {"key": "k", "stream": address}},
            {"name": "b", "from": "in", "partitionBy": {"key": "k", "stream": "by-other"}},
        ],
        streams={"in": "k string"},
    )
    clashes = {"in": ("DuplicateName", "spec.operators[0].partitionBy.stream")}
    expected = clashes.get(address, ("DuplicateName", "spec.operators[1].partitionBy.stream"))
    assert found(app, {"in": 2}) == {expected}


def test_files_have_no_control_messages():
    app = reader(system="files", format="csv", eventTime={"column": "at"}, schema="g string, at timestamp")
    app["spec"]["systems"]["files"] = {"file": {"path": "data"}}
    assert ("InvalidSpec", "spec.streams.between.controlMessages") in found(app, {"between": 2})
