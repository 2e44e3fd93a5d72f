from streamapp_core.edits import EditClass
from streamapp_core.edits.compare_specs import compare_specs
from streamapp_core.job_model.build_job_model import build_job_model
from streamapp_core.spec.parse import parse_document
from support.edits import COUNTS, app_of, edited, running
from support.plan_documents import accepted

SHAPE = ("operators/hourly/window/select", "count(*) as late, max(delay) as mean")


def active_model(processors=None):
    """Give the job model of the running app; its tasks have opened their state where their processors are."""
    model = build_job_model(accepted(running(), COUNTS), None, processors)
    located = {
        name: task.model_copy(update={"location": model.processors[task.processor].location})
        for name, task in model.tasks.items()
    }
    return model.model_copy(update={"tasks": located})


def compared(*changes, model=None, counts=COUNTS):
    return compare_specs(
        app_of(running()), parse_document(edited(running(), *changes)), counts, model or active_model()
    )


def refusals(comparison):
    return {(problem.path, str(problem.code)) for problem in comparison.problems}


def test_the_same_app_changes_nothing():
    same = compared()
    assert (same.problems, same.edits, same.moves, same.new_streams) == ((), (), (), ())
    assert same.edit_class is EditClass.NONE


def test_one_more_processor_takes_its_share_of_tasks():
    comparison = compared(("processors/count", 3))
    assert comparison.edit_class is EditClass.RESCALE
    assert [(move.task, move.source, move.target) for move in comparison.moves] == [
        ("Partition 3", "0", "2"),
        ("Partition 7", "1", "2"),
    ]
    assert "has its share of tasks" in comparison.moves[0].reason


def test_tasks_of_a_processor_that_goes_move_to_those_that_stay_where_they_are():
    model = active_model({"a": "node-1", "b": "node-2"})
    comparison = compared(("processors/count", 1), model=model)
    assert {(move.source, move.target) for move in comparison.moves} == {("b", "a")}
    assert comparison.moves[0].reason.startswith("processor b is gone; no processor is at node-2")


def test_processors_keep_their_names_and_places():
    assert compared(("image", "app:2"), model=active_model({"a": "node-1", "b": "node-2"})).moves == ()


def test_an_edit_that_is_no_rescale_moves_no_task():
    assert compared(("operators/late/filter", "delay > 30")).moves == ()


def test_partitions_that_were_added_move_no_task_of_an_app_with_state():
    assert compared(counts={**COUNTS, "flights": 16, "planes": 16}).moves == ()


def test_streams_that_the_app_makes_are_told():
    again = {"name": "again", "from": "named", "partitionBy": {"key": "late"}}
    comparison = compared(
        ("operators/again", again),
        ("operators/again-out", {"name": "again-out", "from": "again", "sendTo": "copy"}),
        ("streams/copy", {"system": "log", "partitions": 3}),
    )
    assert {(stream.name, stream.address, stream.partitions) for stream in comparison.new_streams} == {
        ("again", "default.app.r1.again", 8),
        ("copy", "copy", 3),
    }


def test_another_default_system_gets_the_intermediate_streams():
    comparison = compared(("defaultSystem", "other"), ("streams/by-model/system", "other"), ("runId", "second"))
    assert [(stream.system, stream.name) for stream in comparison.new_streams] == [("other", "by")]


def test_a_shape_of_state_is_refused_within_the_run():
    comparison = compared(SHAPE)
    assert refusals(comparison) == {("spec.operators[3]", "RunIdRequired")}
    assert comparison.edit_class is EditClass.NEW_RUN


def test_a_new_run_starts_with_new_streams_and_moves_no_task():
    comparison = compared(SHAPE, ("runId", "second"), ("processors/count", 3))
    assert not comparison.problems
    assert comparison.moves == ()
    assert [stream.address for stream in comparison.new_streams] == ["default.app.second.by"]


def test_all_refusals_come_at_once_and_once():
    comparison = compared(
        SHAPE, ("job/grouper", "stream-partition"), ("job/intermediateStreamPartitions", 4), ("image", "app:2")
    )
    assert sorted(refusals(comparison)) == [
        ("spec.job.grouper", "GrouperUnsupported"),
        ("spec.job.grouper", "RunIdRequired"),
        ("spec.job.intermediateStreamPartitions", "RunIdRequired"),
        ("spec.operators[3]", "RunIdRequired"),
    ]
    assert len(comparison.problems) == 4


def test_a_new_spec_with_problems_is_refused_with_all_of_them():
    comparison = compared(("job/comitInterval", "2s"), ("operators/late/filter", "dely > 15"))
    assert refusals(comparison) == {
        ("spec.job.comitInterval", "InvalidSpec"),
        ("spec.operators[0].filter", "UnknownColumn"),
    }
    assert (comparison.edits, comparison.moves, comparison.new_streams) == ((), (), ())


def test_streams_that_shrank_are_refused():
    comparison = compared(counts={**COUNTS, "flights": 4, "planes": 8})
    assert ("spec.streams.flights", "PartitionCountShrunk") in refusals(comparison)
