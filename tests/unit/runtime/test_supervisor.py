"""Processors that die, fall silent, fail for good, change hands and are drained, with a clock that obeys the test."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.errors import ProcessorFailed, ProcessorLost, Superseded
from streamapp_runtime.processor.driver_channel import Command
from streamapp_systems.protocols import Fenced, StreamSystemError, Unavailable
from support.supervision import PATIENCE, OperatorContext, prepared, scaled, tasks_of

DIED = ProcessorLost("its process died (SIGKILL)")


def surroundings(run, **options):
    """Give the surroundings of a run whose processors have all reported."""
    around = OperatorContext(run, **options)
    for number in around.living:
        around.report(number)
    return around


@pytest.fixture
def around():
    return surroundings(prepared())


def test_every_processor_has_an_incarnation_of_its_own(around):
    assert around.log == ["start 0#1 v1", "start 1#2 v1"]
    assert around.report(1) is Command.RUN
    assert around.report(2) is Command.RUN


@pytest.mark.parametrize("error", [DIED, Fenced("a later producer"), KeyError("a defect")])
def test_one_that_dies_is_fenced_and_started_again_at_once_while_the_others_go_on(around, error):
    before = list(around.log)
    around.die(1, error)
    assert around.log[len(before) :] == ["fence 0", "start 0#3 v1"]
    assert tasks_of(around.configs[3]) == tasks_of(around.configs[1])
    assert around.report(1) is Command.STOP
    assert around.report(2) is Command.RUN
    assert len(around.supervisor.troubles) == 1


def test_nothing_is_started_before_its_former_incarnation_is_fenced():
    around = surroundings(prepared(), held=True)
    around.die(1, DIED)
    assert around.step(5.0) == []
    assert around.release() == ["fence 0", "start 0#3 v1"]


def test_a_silent_one_is_given_up_after_twelve_seconds(around):
    around.step(PATIENCE.report)
    around.report(2)
    assert around.step(0.1) == []
    assert around.step(2.0) == ["cancel 0#1", "fence 0", "start 0#3 v1"]
    assert around.report(1) is Command.STOP
    assert "it does not report" in around.supervisor.troubles[0]


def test_nobody_is_given_up_since_the_driver_stood_still(around):
    assert around.step(100 * PATIENCE.report) == []
    for number in around.living:
        around.report(number)
    assert around.step(2.0) == []
    assert around.step(PATIENCE.report - 2.0) == []


def test_one_that_starts_has_more_time_until_its_first_report():
    around = OperatorContext(prepared())
    assert around.step(PATIENCE.start) == []
    around.report(2)
    assert around.step(0.1) == []
    assert around.step(2.0) == ["cancel 0#1", "fence 0", "start 0#3 v1"]


def test_what_a_person_must_look_after_ends_the_run_with_its_message(around):
    failure = StreamSystemError("the disk is full")
    with pytest.raises(StreamSystemError, match="the disk is full"):
        around.die(1, failure)


def test_one_that_comes_no_further_is_tried_at_longer_and_longer_intervals_and_then_fails(around):
    number, pauses = 1, []
    for _ in range(PATIENCE.failures - 1):
        around.die(number, DIED)
        waited = 0.0
        while not around.living or max(around.living) <= number:
            around.report(2)
            around.step(0.25)
            waited += 0.25
        pauses.append(waited)
        number = max(around.living)
    assert pauses == [0.0, 0.25, 0.5, 1.0, 2.0]
    with pytest.raises(ProcessorFailed, match=r"processor 0 failed 6 times .*its process died \(SIGKILL\)"):
        around.die(number, DIED)


def test_one_that_comes_further_between_its_deaths_is_started_again_for_ever(around):
    number = 1
    for offset in range(3 * PATIENCE.failures):
        around.report(number, committed={"in": {0: offset}})
        around.die(number, DIED)
        number = max(around.living)
    assert number == 2 + 3 * PATIENCE.failures


def test_one_that_was_well_for_long_is_not_held_to_its_earlier_failures(around):
    number = 1
    for _ in range(3 * PATIENCE.failures):
        for _ in range(10):
            around.report(2)
            around.report(number)
            around.step(PATIENCE.healthy / 10)
        around.die(number, DIED)
        number = max(around.living)
    assert around.log[-1] == f"start 0#{number} v1"


def test_a_fence_that_gets_no_answer_is_tried_again(around):
    around.fence_errors.append(Unavailable("no broker"))
    around.die(1, DIED)
    assert around.log[-1] == "fence 0"
    around.report(2)
    assert around.step(0.25) == ["fence 0", "start 0#3 v1"]


def test_a_system_that_is_away_for_long_is_waited_for_and_told_of_once(around):
    around.fence_errors.extend([Unavailable("no broker")] * 3 * PATIENCE.failures)
    around.die(1, DIED)
    while 3 not in around.configs:
        around.report(2)
        around.step(PATIENCE.report)
    assert around.log[-1] == "start 0#3 v1"
    _, waits, goes_on = around.supervisor.troubles
    assert waits == f"processor 0 waits for up to {PATIENCE.away:g} s: no broker"
    assert re.fullmatch(r"processor 0 goes on after a wait of 1\d\d s", goes_on)


def test_a_system_that_stays_away_ends_the_run(around):
    around.fence_errors.extend([Unavailable("no broker")] * 1_000)
    around.die(1, DIED)

    def wait():
        while around.now < 2 * PATIENCE.away:
            around.report(2)
            around.step(PATIENCE.report)

    with pytest.raises(ProcessorFailed, match=r"processor 0 has waited for 30\d s in vain: no broker"):
        wait()


def test_a_driver_that_was_superseded_starts_nobody(around):
    around.fence_errors.append(Superseded("epoch 2 has begun elsewhere"))
    with pytest.raises(Superseded):
        around.die(1, DIED)
    assert around.log[-1] == "fence 0"


def test_a_run_has_completed_when_all_have_come_to_their_ends(around):
    around.end(1)
    assert not around.supervisor.finished
    around.die(2, DIED)
    around.end(3)
    assert around.supervisor.completed
    assert around.supervisor.reports.keys() == {"0", "1"}


class TestChange:
    def test_those_whose_tasks_change_are_drained_then_fenced_then_started(self, around):
        grown = scaled(around.supervisor.prepared, 3)
        done = around.supervisor.change(grown)
        assert around.step() == ["in force v2"]
        assert [around.report(1), around.report(2)] == [Command.DRAIN, Command.DRAIN]
        around.end(1, done=False)
        assert around.step() == []
        around.end(2, done=False)
        assert around.log[-4:] == ["fence 0 1", "start 0#3 v2", "start 1#4 v2", "start 2#5 v2"]
        assert done.done()

    def test_those_whose_tasks_stay_are_not_disturbed(self):
        around = surroundings(prepared(partitions=2, processors=2))
        around.supervisor.change(scaled(around.supervisor.prepared, 3))
        assert around.step() == ["in force v2", "fence ", "start 2#3 v2"]
        assert [around.report(1), around.report(2)] == [Command.RUN, Command.RUN]

    def test_a_processor_that_goes_gives_its_tasks_away(self, around):
        around.supervisor.change(scaled(around.supervisor.prepared, 1))
        around.step()
        around.end(2, done=False)
        around.end(1, done=False)
        assert around.log[-2:] == ["fence 0 1", "start 0#3 v2"]
        assert len(tasks_of(around.configs[3])) == 6
        assert around.board.reports() == {}
        around.end(3)
        assert around.supervisor.completed

    def test_when_partitions_come_everybody_is_affected(self):
        around = surroundings(prepared(partitions=2, processors=2))
        run = around.supervisor.prepared
        more = prepared(partitions=3, processors=2)
        model = more.model.model_copy(update={"version": 2})
        around.supervisor.change(type(run)(plan=more.plan, model=model, counts=more.counts))
        around.step()
        assert [around.report(1), around.report(2)] == [Command.DRAIN, Command.DRAIN]

    def test_one_that_does_not_leave_in_time_is_given_up(self, around):
        around.supervisor.change(scaled(around.supervisor.prepared, 3))
        around.step()
        around.end(1, done=False)
        around.report(2)
        assert around.step(PATIENCE.drain) == []
        around.report(2)
        assert around.step(0.1)[:2] == ["cancel 1#2", "fence 0 1"]
        assert around.report(2) is Command.STOP
        assert max(around.living) == 5

    def test_one_that_dies_while_it_leaves_is_not_started_for_its_former_tasks(self, around):
        around.supervisor.change(scaled(around.supervisor.prepared, 3))
        around.step()
        around.die(1, DIED)
        assert around.log[-1] == "in force v2"
        around.end(2, done=False)
        assert around.log[-4:] == ["fence 0 1", "start 0#3 v2", "start 1#4 v2", "start 2#5 v2"]

    def test_one_that_is_to_be_started_again_waits_for_its_new_tasks(self):
        around = surroundings(prepared(), held=True)
        around.die(1, DIED)
        around.supervisor.change(scaled(around.supervisor.prepared, 3))
        around.step()
        around.end(2, done=False)
        assert around.release() == ["fence 0", "fence 0 1", "start 0#3 v2", "start 1#4 v2", "start 2#5 v2"]

    def test_a_later_change_takes_the_place_of_one_that_has_not_begun(self, around):
        run = around.supervisor.prepared
        first, second = around.supervisor.change(scaled(run, 3)), around.supervisor.change(scaled(run, 1))
        around.step()
        for number in (1, 2):
            around.end(number, done=False)
        assert first.cancelled()
        assert second.done()
        assert around.supervisor.prepared.model.processors.keys() == {"0"}

    def test_a_fence_that_gets_no_answer_is_tried_again(self, around):
        around.supervisor.change(scaled(around.supervisor.prepared, 1))
        around.step()
        around.fence_errors.append(Unavailable("no broker"))
        for number in (1, 2):
            around.end(number, done=False)
        assert around.log[-1] == "fence 0 1"
        assert around.step(0.25) == ["fence 0 1", "start 0#3 v2"]

    def test_one_that_has_not_come_up_does_not_hold_a_change_up(self):
        around = OperatorContext(prepared())
        around.report(2)
        around.supervisor.change(scaled(around.supervisor.prepared, 3))
        assert around.step() == ["in force v2", "cancel 0#1"]


class TestDrain:
    def test_all_make_a_last_commit_and_nobody_is_started_again(self, around):
        around.supervisor.drain()
        assert [around.report(1), around.report(2)] == [Command.DRAIN, Command.DRAIN]
        around.end(1, done=False)
        around.die(2, DIED)
        assert around.supervisor.finished
        assert not around.supervisor.completed
        assert around.step(100.0) == []

    def test_one_that_does_not_end_in_time_is_given_up(self, around):
        around.supervisor.drain()
        around.end(1, done=False)
        around.report(2)
        around.step(PATIENCE.drain)
        around.report(2)
        assert around.step(0.1) == ["cancel 1#2"]
        assert around.supervisor.finished

    def test_a_run_that_has_come_to_its_end_meanwhile_has_completed(self, around):
        around.supervisor.drain()
        around.end(1)
        around.end(2)
        assert around.supervisor.completed


EVENTS = st.one_of(
    st.tuples(st.just("die"), st.integers(0, 5)),
    st.tuples(st.just("leave"), st.integers(0, 5)),
    st.tuples(st.just("silence"), st.integers(0, 5)),
    st.tuples(st.just("change"), st.integers(1, 4)),
    st.tuples(st.just("fence fails"), st.just(0)),
    st.tuples(st.just("wait"), st.just(0)),
)


class Strict(OperatorContext):
    """A host that starts nobody while a former owner of one of its tasks might still write."""

    def start(self, config):
        mine = tasks_of(config)
        former = {number for number, other in self.configs.items() if tasks_of(other) & mine}
        assert former <= self.fenced, f"{config.incarnation}: {sorted(former - self.fenced)} are not fenced"
        return super().start(config)


@given(st.lists(EVENTS, max_size=25))
def test_whatever_happens_no_task_has_two_owners_that_can_write(events):
    around = Strict(prepared(partitions=5, processors=2))
    for event, which in events:
        living = around.living
        victim = living[which % len(living)] if living else None
        alive = [number for number in living if not (event == "silence" and number == victim)]
        if event == "die" and victim is not None:
            around.futures[victim].set_exception(DIED)
        elif event == "leave" and victim is not None and around.report(victim) is Command.DRAIN:
            around.end(victim, done=False)
        elif event == "change":
            around.supervisor.change(scaled(around.supervisor.prepared, which))
        elif event == "fence fails":
            around.fence_errors.append(Unavailable("no broker"))
        for offset, _ in enumerate(range(4)):
            for number in alive:
                if not around.futures[number].done():
                    around.report(number, committed={"in": {0: len(around.log) + offset}})
            around.step(3.0)
    around.fence_errors.clear()
    for _ in range(10):
        for number in around.living:
            if around.report(number) is Command.DRAIN:
                around.end(number, done=False)
        around.step(3.0)
    owners = [tasks_of(around.configs[incarnation.number]) for incarnation in around.supervisor._fleet.living.values()]
    assert sorted(task for tasks in owners for task in tasks) == sorted(around.supervisor.prepared.model.tasks)
