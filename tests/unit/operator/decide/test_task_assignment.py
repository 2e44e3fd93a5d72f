"""Tasks, assigned to the processors as they are bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.deployment.driver_reports import LocalityReport
from streamapp_core.job_model.job_model import ProcessorModel
from streamapp_operator.decide.placement import bind
from streamapp_operator.decide.task_assignment import apply_locality, assign_tasks, build_unbound_processors
from support.observed_values import COUNTS, NOW, bound_model, locality, planned, unbound_model


def bindings(*nodes):
    return {str(number): ProcessorModel(executor=str(number + 1), location=node) for number, node in enumerate(nodes)}


def processors_of(model):
    return {name: task.processor for name, task in model.tasks.items()}


def restarted(model, *nodes, counts=COUNTS):
    """Bind the processors of a driver that was restarted to new executors, and assign its tasks."""
    fresh = assign_tasks(planned(counts), model, build_unbound_processors(len(nodes)), NOW)
    executors = {binding.executor: binding for binding in bindings(*nodes).values()}
    bound = bind(fresh, executors, [str(number) for number in range(len(nodes))])
    return assign_tasks(planned(counts), fresh, bound, NOW)


def test_processors_without_executors_are_anywhere():
    assert build_unbound_processors(2) == {"0": ProcessorModel(), "1": ProcessorModel()}


def test_the_first_job_model_has_the_first_version():
    model = assign_tasks(planned(), None, bindings("a", "b"), NOW)
    assert (model.version, dict(model.processors)) == (1, bindings("a", "b"))
    assert set(processors_of(model).values()) == {"0", "1"}


def test_bound_executors_are_a_new_version_with_the_same_tasks():
    fresh = unbound_model()
    model = assign_tasks(planned(), fresh, bindings("a", "b"), NOW)
    assert model.version == fresh.version + 1
    assert processors_of(model) == processors_of(fresh)


def test_nothing_changes_while_bindings_are_equal():
    model = bound_model(node0="a", node1="b")
    assert assign_tasks(planned(), model, bindings("a", "b"), NOW) is model


def test_processors_that_stay_take_over_the_tasks_of_the_others():
    model = bound_model(node0="a", node1="b")
    after = assign_tasks(planned(), model, {"1": model.processors["1"]}, NOW)
    assert set(processors_of(after).values()) == {"1"}


def test_another_executor_at_the_same_location_moves_no_task():
    model = bound_model(node0="a", node1="b")
    opened = apply_locality(model, locality(model))
    after = assign_tasks(
        planned(), opened, {**bindings("a", "b"), "0": ProcessorModel(executor="9", location="a")}, NOW
    )
    assert processors_of(after) == processors_of(model)
    assert after.version == model.version + 1


def test_after_a_restart_tasks_go_where_their_state_is():
    model = bound_model(node0="a", node1="b")
    opened = apply_locality(model, locality(model))
    after = restarted(opened, "b", "a")
    assert processors_of(after) == processors_of(model)
    assert {id_: binding.location for id_, binding in after.processors.items()} == {"0": "a", "1": "b"}


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.permutations(range(6)))
def test_every_task_restarts_at_its_location_when_the_same_nodes_come_back_in_any_order(nodes, order):
    counts = {"orders": 12, "totals": 4}
    model = assign_tasks(planned(counts), None, bindings(*nodes), NOW)
    opened = apply_locality(model, locality(model))
    after = restarted(opened, *(nodes[place] for place in order if place < len(nodes)), counts=counts)
    assert all(after.processors[task.processor].location == task.location for task in after.tasks.values())


def test_tasks_return_to_a_processor_that_was_away_where_their_older_state_lies():
    model = bound_model(node0="a", node1="b")
    for away, other in ("0", "1"), ("1", "0"):
        opened = apply_locality(model, locality(model))
        taken_over = assign_tasks(planned(), opened, {other: model.processors[other]}, NOW)
        assert set(processors_of(taken_over).values()) == {other}
        back = {**model.processors, away: model.processors[away].model_copy(update={"executor": "9"})}

        after = assign_tasks(planned(), apply_locality(taken_over, locality(taken_over)), back, NOW)

        assert processors_of(after) == processors_of(model)


class TestLocality:
    def test_tasks_are_where_the_driver_reports(self):
        model = bound_model(node0="a", node1="b")
        opened = apply_locality(model, locality(model))
        assert {task.location for task in opened.tasks.values()} == {"a", "b"}
        assert opened.version == model.version

    def test_tasks_that_are_in_no_report_stay_where_they_were(self):
        model = bound_model(node0="a", node1="b")
        opened = apply_locality(model, locality(model))
        report = LocalityReport(run_id="r1", epoch=2, locations={"c": (0,)})
        after = apply_locality(opened, report)
        moved = [name for name, task in after.tasks.items() if task.location != opened.tasks[name].location]
        assert [opened.tasks[name].changelog_partition for name in moved] == [0]
        assert {name: task.former_location for name, task in after.tasks.items() if task.former_location} == {
            name: opened.tasks[name].location for name in moved
        }

    @pytest.mark.parametrize("report", [None, LocalityReport(run_id="r0", epoch=1, locations={"a": (0, 1)})])
    def test_reports_of_another_run_say_nothing(self, report):
        model = unbound_model()
        assert apply_locality(model, report) is model
