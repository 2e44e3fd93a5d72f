import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.job_model.job_model import JobModel
from support.plan_documents import accepted, document

APP = document(
    [
        {"name": "p", "from": "in", "partitionBy": {"key": "k"}},
        {"name": "b", "from": "in", "broadcast": {}},
        {"name": "look", "from": "p", "joinTable": {"table": "t", "on": "k"}},
        {"name": "o", "from": "look", "sendTo": "out"},
        {"name": "o2", "from": "b", "sendTo": "out"},
    ],
    streams={"in": "k string", "side": {"schema": "k string", "broadcast": True}, "out": {}},
    tables={"t": {"key": "k", "sideInputs": ["side"]}},
    processors={"count": 2},
)


def build(counts, previous=None, processors=None, app=APP, now=None):
    return build_job_model(accepted(app, counts, previous), previous, processors, now=now)


def test_tasks_own_what_is_read_and_nothing_that_is_written():
    model = build({"in": 2, "side": 2})
    assert model.streams.keys() == {"in", "side", "p", "b"}
    assert model.tasks.keys() == {"Partition 0", "Partition 1"}
    assert set(model.tasks["Partition 1"].ssps) == {
        ("log", "b", 0),
        ("log", "in", 1),
        ("log", "p", 1),
        ("log", "side", 0),
        ("log", "side", 1),
    }
    assert model.processors.keys() == {"0", "1"}
    assert model.partition_keys == {"p": "k", "b": None}
    assert model.transactional_ids == ("default.app.r1.0", "default.app.r1.1")
    assert (model.version, model.run_id, model.changelog) == (1, "r1", {"Partition 0": 0, "Partition 1": 1})


def test_the_version_goes_up_only_if_something_changed():
    first = build({"in": 2})
    assert build({"in": 2}, first) == first
    grown = build({"in": 4}, first)
    assert grown.version == 2
    assert [ssp.partition for ssp in grown.tasks["Partition 1"].ssps if ssp.stream == "in"] == [1, 3]
    assert build({"in": 4}, grown, {"7": "node-a"}).version == 3


def test_a_growth_is_noted_with_its_time_until_the_next_one():
    first = build({"in": 2}, now=50)
    assert first.streams["in"].grown_at is None
    grown = build({"in": 4}, first, now=70)
    assert grown.streams["in"].grown_at == 70
    assert build({"in": 4}, grown, now=90) == grown
    assert build({"in": 8}, grown, now=90).streams["in"].grown_at == 90
    assert {name for name, stream in grown.to_document()["streams"].items() if "grownAt" in stream} == {"in"}


def test_tasks_go_where_their_state_is():
    first = build({"in": 2}, processors={"0": "node-a", "1": "node-b"})
    tasks = {
        name: task.model_copy(update={"location": first.processors[task.processor].location})
        for name, task in first.tasks.items()
    }
    reported = first.model_copy(update={"tasks": tasks})
    moved = build({"in": 2}, reported, {"x": "node-b", "y": "node-a"})
    for name, task in moved.tasks.items():
        assert task.location == moved.processors[task.processor].location == tasks[name].location
    assert moved.transactional_ids == ("default.app.r1.0", "default.app.r1.1", "default.app.r1.x", "default.app.r1.y")


def test_another_run_forgets_all_but_the_version():
    first = build({"in": 2}, processors={"0": "node-a"})
    app = {**APP, "spec": {**APP["spec"], "runId": "r2"}}
    second = build({"in": 3}, first, app=app)
    assert (second.version, second.run_id) == (2, "r2")
    assert second.streams["in"].initial_partitions == 3
    assert second.transactional_ids == ("default.app.r2.0", "default.app.r2.1")


def test_a_model_of_design_12_loads_with_what_it_lacks():
    model = JobModel.model_validate(
        {
            "version": 1,
            "runId": "r1",
            "streams": {"flights": {"initialPartitions": 8, "partitions": 8}},
            "tasks": {"Partition 0": {"ssps": [["kafka", "flights", 0]], "changelogPartition": 0, "processor": "0"}},
            "processors": {"0": {"location": "node-a"}},
        }
    )
    assert model.tasks["Partition 0"].ssps[0].stream == "flights"
    assert (model.schema_version, model.tasks["Partition 0"].location) == (1, None)


def test_a_model_of_a_later_schema_is_refused():
    document_ = {**build({"in": 2}).to_document(), "schemaVersion": 2}
    with pytest.raises(ValidationError, match="schemaVersion"):
        JobModel.model_validate(document_)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(1, 4))
def test_documents_come_back_and_changelog_numbers_are_kept(factors, processors):
    model, count, numbers = None, 1, {}
    for factor in factors:
        count *= factor
        model = build({"in": count}, model, {str(number): "any" for number in range(processors)})
        assert JobModel.model_validate(model.to_document()) == model
        assert numbers.items() <= model.changelog.items()
        assert len(set(model.changelog.values())) == len(model.changelog)
        numbers = model.changelog
