"""When a job model is written: the first one of an epoch, and the next when bindings change."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamapp_operator.decide.job_model_decision import decide_job_model, write_first_job_model
from streamapp_operator.observe.observed_state import AppMemory
from support.observed_values import (
    LAUNCH,
    NOW,
    active,
    bound_model,
    driver,
    executor,
    later,
    launch,
    locality,
    observe,
    observe_running,
    planned,
    stored,
)

TIMEOUT = timedelta(seconds=30)
MODEL = bound_model(node0="node-a", node1="node-b")
BOTH = (driver(), executor(1, "node-a"), executor(2, "node-b"))


def decided(observed, plan=None, newest=LAUNCH):
    return decide_job_model(observed, active(launch=newest), newest, plan or planned(), TIMEOUT)


class TestFirst:
    @pytest.mark.parametrize(
        "observed, plan, expected",
        [
            (observe(), planned(), (1, 0)),
            (observe_running(model=stored(MODEL)), planned(), (MODEL.version + 1, 7)),
            (observe_running(model=stored(MODEL)), None, (MODEL.version, 7)),
            (observe(), None, None),
        ],
        ids=["first of the app", "first of an epoch", "without a plan", "without a plan or a previous one"],
    )
    def test_it_is_written_for_the_epoch_over_the_one_before(self, observed, plan, expected):
        written = write_first_job_model(observed, launch(2), plan)
        assert [(write.model.version, write.expected) for write in written] == ([] if expected is None else [expected])
        assert all(write.epoch == 2 for write in written)

    def test_no_processor_has_an_executor_in_it(self):
        (write,) = write_first_job_model(observe_running(model=stored(MODEL)), launch(2), planned())
        assert all(processor.executor is None for processor in write.model.processors.values())

    def test_it_has_the_newest_locations(self):
        observed = observe_running(model=stored(MODEL), locality=locality(MODEL))
        (write,) = write_first_job_model(observed, launch(2), planned())
        assert {task.location for task in write.model.tasks.values()} == {"node-a", "node-b"}

    def test_without_a_plan_one_of_another_run_is_not_taken(self):
        observed = observe_running(model=stored(MODEL))
        assert write_first_job_model(observed, launch(2, run_id="r2"), None) == ()


class TestNext:
    def test_a_driver_without_a_job_model_of_its_epoch_gets_the_first(self):
        decision = decided(observe_running(), newest=launch(2))
        assert [action.epoch for action in decision.actions] == [2]
        assert decision.placement_inputs is None

    def test_executors_that_run_are_bound(self):
        decision = decided(observe_running(pods=BOTH))
        (write,) = decision.actions
        assert {id_: bound.executor for id_, bound in write.model.processors.items()} == {"0": "1", "1": "2"}
        assert (write.epoch, write.expected) == (1, 7)
        assert (decision.missing_since, decision.wake_at) == (None, None)

    def test_while_bindings_stay_nothing_is_written_and_the_inputs_are_remembered(self):
        observed = observe_running(pods=BOTH, model=stored(MODEL))
        decision = decided(observed)
        assert decision.actions == ()
        assert decision.placement_inputs.bindings == MODEL.processors

    def test_equal_inputs_are_not_assigned_again(self):
        observed = observe_running(pods=BOTH, model=stored(MODEL))
        inputs = decided(observed).placement_inputs
        unplannable = replace(inputs.plan, streams={})
        remembered = AppMemory(placement_inputs=replace(inputs, plan=unplannable))
        decision = decided(replace(observed, memory=remembered), unplannable)  # assigning it would raise
        assert decision.placement_inputs == remembered.placement_inputs

    def test_missing_executors_are_waited_for(self):
        observed = observe_running(pods=BOTH[:2], model=stored(MODEL))
        decision = decided(observed)
        assert (decision.actions, decision.missing_since, decision.wake_at) == ((), NOW, NOW + TIMEOUT)
        memory = AppMemory(executors_missing_since=decision.missing_since)
        (write,) = decided(replace(later(observed, TIMEOUT), memory=memory)).actions
        assert {task.processor for task in write.model.tasks.values()} == {"0"}

    def test_without_a_plan_nothing_is_placed(self):
        observed = observe_running(pods=BOTH)
        decision = decide_job_model(observed, active(), LAUNCH, None, TIMEOUT)
        assert (decision.actions, decision.placement_inputs, decision.wake_at) == ((), None, None)
