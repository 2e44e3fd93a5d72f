import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.edits import EditClass, run_id_problems
from streamapp_core.edits.classify_edits import classify_edits
from streamapp_core.edits.edit_classes import FIELDS, field_class, strongest
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.job import JobSpec
from streamapp_core.spec.processors import DriverSpec, ProcessorsSpec
from support.edits import COUNTS, REMOVED, app_of, edited, running
from support.plan_documents import accepted, planned

NONE, DRAIN_OR_START, RESCALE, RESTART, RESTORE, NEW_RUN = EditClass
GRAPH_EDITS = [
    ("streams/planes/eventTime", {"column": "seen"}, RESTART),
    ("streams/flights/schema", "carrier string, tailnum string, delay int", NEW_RUN),
    ("streams/planes/schema", "tailnum string, model string, seats int, year int", RESTART),
    ("streams/new", {"system": "log"}, RESTART),
    ("tables/plane/maxAge", "2h", RESTART),
    ("tables/plane/value", "tailnum, upper(model) as model", NEW_RUN),
    ("operators/late/filter", "delay > 30", RESTART),
    ("operators/typed/joinTable/type", "inner", RESTART),
    ("operators/hourly/window/tumbling", "2h", NEW_RUN),
    ("operators/hourly/window/select", "count(*) as late, avg(delay) as average", RESTART),
    ("operators/hourly/window/select", "count(*) as late, max(delay) as mean", NEW_RUN),
    ("operators/totals/aggregate/select", "min(delay) as total", NEW_RUN),
    ("operators/named/map", "model, late * 2 as late, mean", RESTART),
    ("operators/new", {"name": "new", "from": "hourly", "sendTo": "by-model"}, RESTART),
    ("operators/totals-out", REMOVED, RESTART),
]
ROWS = [
    ("image", "image", "app:2", RESTART),
    ("imagePullPolicy", "imagePullPolicy", "Always", RESTART),
    ("imagePullSecrets", "imagePullSecrets", [{"name": "s"}], RESTART),
    ("serviceAccountName", "serviceAccountName", "runner", RESTART),
    ("pyFiles", "pyFiles", ["/app/functions.py"], RESTART),
    ("functions", "functions", {"near": {"function": "geo:near", "returns": "boolean"}}, RESTART),
    ("systems", "systems/log", {"log": {"path": "elsewhere"}}, RESTART),
    ("systems", "systems/new", {"log": {"path": "new"}}, RESTART),
    ("defaultSystem", "defaultSystem", "other", NEW_RUN),
    ("namePrefix", "namePrefix", "team-a", NEW_RUN),
    *((path.split("/", 1)[0], path, value, edit_class) for path, value, edit_class in GRAPH_EDITS),
    ("streams.*.name", "streams/flights/name", "flights-2", NEW_RUN),
    ("streams.*.system", "streams/planes/system", "other", NEW_RUN),
    ("streams.*.partitions", "streams/by-model/partitions", 4, NONE),
    ("streams.*.keyFormat", "streams/by-model/keyFormat", "long", NEW_RUN),
    ("streams.*.startFrom", "streams/flights/startFrom", "latest", NEW_RUN),
    ("streams.*.startingTimestamp", "streams/flights/startingTimestamp", "2026-01-01T00:00:00Z", NEW_RUN),
    ("streams.*.startingOffsets", "streams/flights/startingOffsets", {"0": 3}, NEW_RUN),
    ("streams.*.endingTimestamp", "streams/flights/endingTimestamp", "2026-01-01T00:00:00Z", NEW_RUN),
    ("streams.*.endingOffsets", "streams/flights/endingOffsets", {"0": 3}, NEW_RUN),
    ("streams.*.startingVersion", "streams/by-model/startingVersion", 3, NEW_RUN),
    ("streams.*.changes", "streams/by-model/changes", "upsert", NEW_RUN),
    ("streams.*.recordTime", "streams/by-model/recordTime", "processingTime", RESTART),
    ("streams.*.csv", "streams/by-model/csv", {"delimiter": ";"}, RESTART),
    ("streams.*.json", "streams/by-model/json", {"timestamps": "millis"}, RESTART),
    ("streams.*.avro", "streams/by-model/avro", {"recordName": "a.B"}, RESTART),
    ("streams.*.protobuf", "streams/by-model/protobuf", {"message": "a.B"}, RESTART),
    ("operators.*.partitionBy.stream", "operators/by/partitionBy/stream", "by-model-rows", NEW_RUN),
    ("job.intermediateStreamPartitions", "job/intermediateStreamPartitions", 4, NEW_RUN),
    ("job.grouper", "job/grouper", "stream-partition", NEW_RUN),
    ("job.expansionAlgorithm", "job/expansionAlgorithm", "halves", NEW_RUN),
    ("job.expansionGracePeriod", "job/expansionGracePeriod", "5m", NONE),
    ("job.commitInterval", "job/commitInterval", "2s", RESTART),
    ("job.watermarkInterval", "job/watermarkInterval", "1s", RESTART),
    ("job.delivery", "job/delivery", "atLeastOnce", RESTART),
    ("job.onError", "job/onError", "skip", RESTART),
    ("job.onBrokenClaim", "job/onBrokenClaim", "report", RESTART),
    ("job.timeZone", "job/timeZone", "Europe/Paris", NEW_RUN),
    ("job.partitionMonitor", "job/partitionMonitor/interval", "1m", NONE),
    ("processors.count", "processors/count", 3, RESCALE),
    ("processors.cores", "processors/cores", 2, RESTART),
    ("processors.memory", "processors/memory", "2Gi", RESTART),
    ("processors.location", "processors/location", {"by": "node"}, RESTART),
    ("processors.state", "processors/state", {"hostPath": "/state"}, RESTORE),
    ("processors.template", "processors/template/spec/nodeSelector", {"disk": "fast"}, RESTART),
    ("driver.cores", "driver/cores", 2, RESTART),
    ("driver.memory", "driver/memory", "2Gi", RESTART),
    ("driver.template", "driver/template", {"metadata": {"labels": {"team": "a"}}}, RESTART),
    ("spark", "spark", {"ui": {"port": 4041}}, RESTART),
    ("restartPolicy", "restartPolicy/backoff", "2s", NONE),
    ("upgrade", "upgrade/deadline", "1m", NONE),
    ("deletionPolicy", "deletionPolicy", "Delete", NONE),
    ("runId", "runId", "second", NEW_RUN),
    ("suspend", "suspend", True, DRAIN_OR_START),
]


def edits(*changes):
    return classify_edits(app_of(running()), app_of(edited(running(), *changes)))


def paths(found):
    return [edit.path for edit in found]


@pytest.mark.parametrize(("row", "path", "value", "edit_class"), ROWS)
def test_every_field_has_the_class_of_its_row(row, path, value, edit_class):
    found = edits((path, value))
    assert found
    assert {edit.edit_class for edit in found} == {edit_class}
    assert all(edit.path.startswith(f"spec.{row.split('.*')[0]}") for edit in found)


def test_every_row_has_an_edit_here():
    assert {row for row, *_ in ROWS} == {".".join(field) for field in FIELDS}


def test_every_field_of_the_spec_has_a_class():
    parts = {"job": JobSpec, "processors": ProcessorsSpec, "driver": DriverSpec}
    fields = [(field.alias,) for field in StreamAppSpec.model_fields.values() if field.alias not in parts]
    fields += [(part, field.alias) for part, model in parts.items() for field in model.model_fields.values()]
    assert {field_class(field) for field in fields} == set(EditClass)


def test_a_field_that_is_none_is_told():
    with pytest.raises(KeyError, match="metadata"):
        field_class(("metadata", "name"))


@given(st.permutations(running()["spec"]["operators"]))
def test_the_order_of_operators_means_nothing(operators):
    assert edits(("operators", list(operators))) == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("streams/by-model/name", "elsewhere"),
        ("streams/flights/name", "flights"),
        ("streams/unused/name", "new"),
        ("defaultSystem", "log"),
    ],
)
def test_what_the_run_has_read_and_kept_stays_where_it_is(path, value):
    before = edited(running(), ("streams/unused", {"system": "log", "name": "old"}))
    found = classify_edits(app_of(before), app_of(edited(before, (path, value))))
    assert {edit.edit_class for edit in found} <= {RESTART}
    assert run_id_problems(found) == ()


@pytest.mark.parametrize(
    ("path", "value", "edited_path"),
    [
        ("streams/flights/name", "flights-2", "spec.streams.flights.name"),
        ("streams/planes/system", "other", "spec.streams.planes.system"),
        ("defaultSystem", "other", "spec.defaultSystem"),
        ("systems/log", {"kafka": {"bootstrapServers": "broker:9092"}}, "spec.systems.log"),
    ],
)
def test_other_streams_and_systems_for_a_run_are_refused_when_it_is_planned(path, value, edited_path):
    found = edits((path, value))
    assert strongest(found) is NEW_RUN
    problems = run_id_problems(found)
    assert problems
    assert all(problem.path.startswith(edited_path) for problem in problems)
    assert all("set a new `spec.runId`" in problem.message for problem in problems)
    assert run_id_problems(edits((path, value), ("runId", "second"))) == ()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("job/commitInterval", "1000ms"),
        ("job/onError", "fail"),
        ("job/onBrokenClaim", "fail"),
        ("tables/plane/maxAge", "1d"),
        ("operators/late/from", ["flights"]),
        ("processors/state", {"emptyDir": {}}),
    ],
)
def test_what_means_the_same_is_no_edit(path, value):
    assert edits((path, value)) == ()


def test_edits_have_the_values_and_paths_that_people_write():
    found = edits(("operators/hourly/window/tumbling", "90m"), ("job/commitInterval", "2s"), ("image", "app:1"))
    assert [(edit.path, edit.before, edit.after) for edit in found] == [
        ("spec.operators[hourly].window.tumbling", "1h", "90m"),
        ("spec.job.commitInterval", "1s", "2s"),
        ("spec.image", None, "app:1"),
    ]


def test_one_and_true_are_not_the_same():
    old, new = (app_of(edited(running(), ("driver/template", {"x": [value]}))) for value in (1, True))
    assert paths(classify_edits(old, new)) == ["spec.driver.template.x"]


def test_an_edit_above_a_store_is_told_from_one_that_leaves_its_rows_alone():
    found = edits(
        ("operators/late/filter", "delay > 30"),
        ("operators/typed/joinTable/type", "inner"),
        ("tables/plane/value", "tailnum, upper(model) as model"),
    )
    assert {edit.path: edit.edit_class for edit in found} == {
        "spec.operators[late].filter": RESTART,
        "spec.operators[typed].joinTable.type": RESTART,
        "spec.tables.plane.value": NEW_RUN,
    }


def test_another_key_of_an_intermediate_stream_needs_a_new_run():
    both = ["carrier", "model"]
    found = edits(
        ("operators/by/partitionBy/key", "carrier"),
        ("operators/hourly/window/by", both),
        ("operators/totals/aggregate/by", both),
        ("operators/late/filter", "delay > 30"),
    )
    assert {edit.path: edit.edit_class for edit in found} == {
        "spec.operators[by].partitionBy.key": NEW_RUN,
        "spec.operators[hourly].window.by": NEW_RUN,
        "spec.operators[totals].aggregate.by": NEW_RUN,
        "spec.operators[late].filter": RESTART,
    }


def test_a_table_that_changes_what_a_window_takes_needs_a_new_run():
    changes = ("tables/plane/value", REMOVED), ("tables/plane/maxAge", "2h")
    assert {edit.edit_class for edit in edits(*changes)} == {NEW_RUN}


@pytest.mark.parametrize(
    ("before", "after", "edit_class"),
    [(REMOVED, "arrival", NEW_RUN), (REMOVED, "eventTime", RESTART), ("arrival", "eventTime", NEW_RUN)],
)
def test_another_order_of_a_function_with_state_needs_a_new_run(before, after, edit_class):
    process = {"function": "m:f", "schema": "model string", "state": {"key": "model"}}
    order = {} if before is REMOVED else {"order": before}
    old = edited(
        running(),
        ("operators/visits", {"name": "visits", "from": "by", "process": process | order}),
        ("operators/visits-out", {"name": "visits-out", "from": "visits", "sendTo": "by-model"}),
    )
    (edit,) = classify_edits(app_of(old), app_of(edited(old, ("operators/visits/process/order", after))))
    assert (edit.path, edit.edit_class) == ("spec.operators[visits].process.order", edit_class)


def test_an_intermediate_stream_that_is_gone_needs_a_new_run():
    renamed = {"name": "by-plane", "from": "typed", "partitionBy": {"key": "model"}}
    found = edits(
        ("operators/by", REMOVED),
        ("operators/by-plane", renamed),
        ("operators/hourly/from", "by-plane"),
        ("operators/totals/from", "by-plane"),
    )
    assert {edit.path: edit.edit_class for edit in found} == {
        "spec.operators[by]": NEW_RUN,
        "spec.operators[by-plane]": RESTART,
        "spec.operators[hourly].from": RESTART,
        "spec.operators[totals].from": RESTART,
    }


def test_a_graph_that_can_not_be_planned_counts_as_a_restart():
    assert [edit.edit_class for edit in edits(("operators/hourly/window/select", "max(nothing) as m"))] == [RESTART]


@pytest.mark.parametrize(
    ("before", "active", "after", "edit_class"),
    [
        (None, "r1", "second", NEW_RUN),
        (None, "r1", "r1", NONE),
        ("r1", None, REMOVED, NONE),
        ("r1", None, "second", NEW_RUN),
    ],
)
def test_a_run_id_starts_a_new_run_only_if_it_is_not_the_active_one(before, active, after, edit_class):
    old = running() if before is None else edited(running(), ("runId", before))
    new = edited(old, ("runId", after))
    assert [e.edit_class for e in classify_edits(app_of(old), app_of(new), run_id=active)] == [edit_class]


def test_fields_that_are_fixed_for_a_run_are_refused():
    found = edits(("job/intermediateStreamPartitions", 4), ("streams/flights/keyFormat", "long"), ("image", "app:2"))
    problems = run_id_problems(found)
    assert {(problem.path, problem.code) for problem in problems} == {
        ("spec.job.intermediateStreamPartitions", "RunIdRequired"),
        ("spec.streams.flights.keyFormat", "RunIdRequired"),
    }
    assert "nothing can't become `4`" in next(p.message for p in problems if "Partitions" in p.path)


def test_with_a_new_run_id_no_field_is_fixed():
    assert run_id_problems(edits(("job/grouper", "stream-partition"), ("runId", "second"))) == ()


def test_edits_together_do_what_the_hardest_does():
    assert strongest(edits(("image", "app:2"), ("suspend", True), ("processors/count", 3))) is RESTART
    assert strongest(()) is NONE


@given(st.lists(st.sampled_from(GRAPH_EDITS), max_size=5))
def test_edits_of_the_graph_need_a_new_run_exactly_if_the_planner_says_so(chosen):
    changes = {path: value for path, value, _ in chosen}
    new = edited(running(), *sorted(changes.items()))
    model = build_job_model(accepted(running(), COUNTS))
    counts = {**COUNTS, "new": 1}
    if planned(new, counts).plan is None:
        return
    codes = {problem.code for problem in planned(new, counts, model).problems}
    assert (NEW_RUN in {edit.edit_class for edit in edits(*changes.items())}) == ("RunIdRequired" in codes)
