"""Processors that die, fall silent, fail for good, change hands and are drained, with a clock that obeys the test."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.errors import ProcessorFailed, ProcessorLost, SideInputChanged, Superseded, SystemAway
from streamapp_runtime.processor.driver_channel import Command
from streamapp_systems.protocols import CommitUnknown, Fenced, StreamSystemError, Unavailable
from support.supervision import TIMEOUTS, SupervisorHarness, planned, scaled, tasks_of

DIED = ProcessorLost("its process died (SIGKILL)")


def reporting(run, **options):
    """Return the harness of a run whose processors have all reported."""
    harness = SupervisorHarness(run, **options)
    for number in harness.living:
        harness.report(number)
    return harness


@pytest.fixture
def harness():
    return reporting(planned())


def test_every_processor_has_an_incarnation_of_its_own(harness):
    assert harness.log == ["start 0#1 v1", "start 1#2 v1"]
    assert harness.report(1) is Command.RUN
    assert harness.report(2) is Command.RUN


@pytest.mark.parametrize("error", [DIED, Fenced("a later producer"), KeyError("a defect")])
def test_one_that_dies_is_fenced_and_started_again_at_once_while_the_others_go_on(harness, error):
    before = list(harness.log)
    harness.die(1, error)
    assert harness.log[len(before) :] == ["fence 0", "start 0#3 v1"]
    assert tasks_of(harness.configs[3]) == tasks_of(harness.configs[1])
    assert harness.report(1) is Command.STOP
    assert harness.report(2) is Command.RUN
    assert len(harness.supervisor.incidents) == 1


def test_nothing_is_started_before_its_previous_incarnation_is_fenced():
    harness = reporting(planned(), held=True)
    harness.die(1, DIED)
    assert harness.step(5.0) == []
    assert harness.release() == ["fence 0", "start 0#3 v1"]


def test_a_silent_one_is_declared_dead_after_twelve_seconds(harness):
    harness.step(TIMEOUTS.report)
    harness.report(2)
    assert harness.step(0.1) == []
    assert harness.step(2.0) == ["cancel 0#1", "fence 0", "start 0#3 v1"]
    assert harness.report(1) is Command.STOP
    assert "it does not report" in harness.supervisor.incidents[0]


def test_nobody_is_declared_dead_since_the_driver_stood_still(harness):
    assert harness.step(100 * TIMEOUTS.report) == []
    for number in harness.living:
        harness.report(number)
    assert harness.step(2.0) == []
    assert harness.step(TIMEOUTS.report - 2.0) == []


def test_one_that_starts_has_more_time_until_its_first_report():
    harness = SupervisorHarness(planned())
    assert harness.step(TIMEOUTS.start) == []
    harness.report(2)
    assert harness.step(0.1) == []
    assert harness.step(2.0) == ["cancel 0#1", "fence 0", "start 0#3 v1"]


def test_what_a_person_must_look_after_ends_the_run_with_its_message(harness):
    failure = StreamSystemError("the disk is full")
    with pytest.raises(StreamSystemError, match="the disk is full"):
        harness.die(1, failure)


def test_one_that_comes_no_further_is_tried_at_longer_and_longer_intervals_and_then_fails(harness):
    number, pauses = 1, []
    for _ in range(TIMEOUTS.failures - 1):
        harness.die(number, DIED)
        waited = 0.0
        while not harness.living or max(harness.living) <= number:
            harness.report(2)
            harness.step(0.25)
            waited += 0.25
        pauses.append(waited)
        number = max(harness.living)
    assert pauses == [0.0, 0.25, 0.5, 1.0, 2.0]
    with pytest.raises(ProcessorFailed, match=r"processor 0 failed 6 times .*its process died \(SIGKILL\)"):
        harness.die(number, DIED)


def test_one_that_comes_further_between_its_deaths_is_started_again_for_ever(harness):
    number = 1
    for offset in range(3 * TIMEOUTS.failures):
        harness.report(number, committed={"in": {0: offset}})
        harness.die(number, DIED)
        number = max(harness.living)
    assert number == 2 + 3 * TIMEOUTS.failures


def test_one_that_was_well_for_long_is_not_held_to_its_earlier_failures(harness):
    number = 1
    for _ in range(3 * TIMEOUTS.failures):
        for _ in range(10):
            harness.report(2)
            harness.report(number)
            harness.step(TIMEOUTS.healthy / 10)
        harness.die(number, DIED)
        number = max(harness.living)
    assert harness.log[-1] == f"start 0#{number} v1"


def test_a_fence_that_gets_no_answer_is_tried_again(harness):
    harness.fence_errors.append(Unavailable("no broker"))
    harness.die(1, DIED)
    assert harness.log[-1] == "fence 0"
    harness.report(2)
    assert harness.step(0.25) == ["fence 0", "start 0#3 v1"]


def test_a_check_that_gets_no_answer_is_no_failure_of_the_processor(harness):
    harness.fence_errors.extend([CommitUnknown("no answer")] * 2 * TIMEOUTS.failures)
    harness.die(1, DIED)
    while 3 not in harness.configs:
        harness.report(2)
        harness.step(TIMEOUTS.report)
    assert harness.log[-1] == "start 0#3 v1"


def test_a_system_that_is_away_for_long_is_waited_for_and_reported_once(harness):
    harness.fence_errors.extend([Unavailable("no broker")] * 3 * TIMEOUTS.failures)
    harness.die(1, DIED)
    while 3 not in harness.configs:
        harness.report(2)
        harness.step(TIMEOUTS.report)
    assert harness.log[-1] == "start 0#3 v1"
    _, waits, continues = harness.supervisor.incidents
    assert waits == f"processor 0 waits for up to {TIMEOUTS.away:g} s: no broker"
    assert re.fullmatch(r"processor 0 continues after a wait of 1\d\d s", continues)


@pytest.mark.parametrize("error", [Unavailable("no leader"), CommitUnknown("no answer")])
def test_one_that_dies_of_an_outage_again_and_again_is_no_defect(harness, error):
    number = 1
    while harness.now < 200.0:
        if number in harness.living:
            harness.die(number, error)
        harness.report(2)
        harness.step(5.0)
        number = max(set(harness.living) - {2}, default=number)
    assert number > 2 + 2 * TIMEOUTS.failures
    assert harness.supervisor.incidents == (f"the start of processor 0 waits for up to {TIMEOUTS.away:g} s: {error}",)


def test_an_outage_that_lasts_ends_the_run_and_one_after_progress_starts_again(harness):
    def fail(number, until, **fields):
        while harness.now < until:
            if number in harness.living:
                harness.report(number, **fields)
                harness.die(number, Unavailable("no leader"))
            harness.report(2)
            harness.step(5.0)
            number = max(set(harness.living) - {2}, default=number)
        return number

    number = fail(1, 250.0)
    harness.report(number, committed={"in": {0: 7}})
    number = fail(number, 500.0, committed={"in": {0: 7}})
    with pytest.raises(SystemAway, match=r"the start of processor 0 has waited for 30\d s in vain: no leader"):
        fail(number, 700.0, committed={"in": {0: 7}})


def outlast(harness, error):
    """Let the first processor die of an outage twice; return the number of its next incarnation."""
    harness.report(1, committed={"in": {0: 7}})
    harness.die(1, error)
    harness.step(1.0)
    harness.report(3, committed={"in": {0: 7}})
    harness.die(3, error)
    harness.report(2)
    harness.step(5.0)
    assert len(harness.supervisor.incidents) == 1
    return 4


@pytest.mark.parametrize("error", [Unavailable("no leader"), CommitUnknown("no answer")])
def test_one_that_comes_further_after_an_outage_continues(harness, error):
    number = outlast(harness, error)
    harness.report(number, committed={"in": {0: 7}})
    assert len(harness.step(1.0)) == len(harness.supervisor.incidents) - 1 == 0
    harness.report(number, committed={"in": {0: 8}})
    harness.step(1.0)
    _, continues = harness.supervisor.incidents
    assert re.fullmatch(r"the start of processor 0 continues after a wait of \d s", continues)


def test_one_that_is_well_for_long_after_an_outage_continues_though_nothing_is_to_be_read(harness):
    number = outlast(harness, Unavailable("no leader"))
    while harness.now < TIMEOUTS.healthy:
        assert len(harness.supervisor.incidents) == 1
        harness.report(number, committed={"in": {0: 7}})
        harness.report(2)
        harness.step(5.0)
    harness.step(5.0)
    _, continues = harness.supervisor.incidents
    assert re.fullmatch(r"the start of processor 0 continues after a wait of 6\d s", continues)


def test_a_driver_that_stood_still_during_an_outage_has_not_waited(harness):
    harness.fence_errors.extend([Unavailable("no broker")] * 3)
    harness.die(1, DIED)
    for _ in range(3):
        harness.report(2)
        harness.step(10 * TIMEOUTS.away)
        harness.report(2)
    harness.step(TIMEOUTS.longest)
    assert 3 in harness.configs


def test_a_system_that_stays_away_ends_the_run(harness):
    harness.fence_errors.extend([Unavailable("no broker")] * 1_000)
    harness.die(1, DIED)

    def wait():
        while harness.now < 2 * TIMEOUTS.away:
            harness.report(2)
            harness.step(TIMEOUTS.report)

    with pytest.raises(SystemAway, match=r"processor 0 has waited for 30\d s in vain: no broker"):
        wait()


def test_the_newest_incidents_are_kept_and_all_are_counted(harness):
    number = 1
    for offset in range(150):
        harness.report(number, committed={"in": {0: offset}})
        harness.die(number, ProcessorLost(f"death {offset}"))
        number = max(harness.living)
    assert len(harness.supervisor.incidents) == 100
    assert harness.supervisor.incidents[-1] == "processor 0 is restarted: death 149"
    assert harness.supervisor.incident_count == 150


def test_a_driver_that_was_superseded_starts_nobody(harness):
    harness.fence_errors.append(Superseded("epoch 2 has begun elsewhere"))
    with pytest.raises(Superseded):
        harness.die(1, DIED)
    assert harness.log[-1] == "fence 0"


def test_a_run_has_completed_when_all_have_come_to_their_ends(harness):
    harness.end(1)
    assert not harness.supervisor.finished
    harness.die(2, DIED)
    harness.end(3)
    assert harness.supervisor.completed
    assert harness.supervisor.reports.keys() == {"0", "1"}


class TestChange:
    def test_those_whose_tasks_change_are_drained_then_fenced_then_started(self, harness):
        grown = scaled(harness.supervisor.run, 3)
        done = harness.supervisor.change(grown)
        assert harness.step() == ["activate v2"]
        assert [harness.report(1), harness.report(2)] == [Command.DRAIN, Command.DRAIN]
        harness.end(1, done=False)
        assert harness.step() == []
        harness.end(2, done=False)
        assert harness.log[-4:] == ["fence 0 1", "start 0#3 v2", "start 1#4 v2", "start 2#5 v2"]
        assert done.done()

    def test_those_whose_tasks_stay_are_not_disturbed(self):
        harness = reporting(planned(partitions=2, processors=2))
        harness.supervisor.change(scaled(harness.supervisor.run, 3))
        assert harness.step() == ["activate v2", "fence ", "start 2#3 v2"]
        assert [harness.report(1), harness.report(2)] == [Command.RUN, Command.RUN]

    def test_a_processor_that_goes_gives_its_tasks_away(self, harness):
        harness.supervisor.change(scaled(harness.supervisor.run, 1))
        harness.step()
        harness.end(2, done=False)
        harness.end(1, done=False)
        assert harness.log[-2:] == ["fence 0 1", "start 0#3 v2"]
        assert len(tasks_of(harness.configs[3])) == 6
        assert harness.registry.reports() == {}
        harness.end(3)
        assert harness.supervisor.completed

    def test_when_partitions_come_everybody_is_affected(self):
        harness = reporting(planned(partitions=2, processors=2))
        run = harness.supervisor.run
        more = planned(partitions=3, processors=2)
        model = more.model.model_copy(update={"version": 2})
        harness.supervisor.change(type(run)(plan=more.plan, model=model, counts=more.counts))
        harness.step()
        assert [harness.report(1), harness.report(2)] == [Command.DRAIN, Command.DRAIN]

    def test_one_that_does_not_leave_in_time_is_declared_dead(self, harness):
        harness.supervisor.change(scaled(harness.supervisor.run, 3))
        harness.step()
        harness.end(1, done=False)
        harness.report(2)
        assert harness.step(TIMEOUTS.drain) == []
        harness.report(2)
        assert harness.step(0.1)[:2] == ["cancel 1#2", "fence 0 1"]
        assert harness.report(2) is Command.STOP
        assert max(harness.living) == 5

    def test_one_that_dies_while_it_leaves_is_not_started_for_its_previous_tasks(self, harness):
        harness.supervisor.change(scaled(harness.supervisor.run, 3))
        harness.step()
        harness.die(1, DIED)
        assert harness.log[-1] == "activate v2"
        harness.end(2, done=False)
        assert harness.log[-4:] == ["fence 0 1", "start 0#3 v2", "start 1#4 v2", "start 2#5 v2"]

    def test_one_that_is_to_be_started_again_waits_for_its_new_tasks(self):
        harness = reporting(planned(), held=True)
        harness.die(1, DIED)
        harness.supervisor.change(scaled(harness.supervisor.run, 3))
        harness.step()
        assert harness.release() == ["fence 0", "activate v2"]
        harness.end(2, done=False)
        assert harness.release() == ["fence 0 1", "start 0#3 v2", "start 1#4 v2", "start 2#5 v2"]

    def test_a_fence_under_way_ends_before_new_owners_are_fenced_and_started(self):
        """A late fence of the dead incarnation would fence the living one."""
        harness = reporting(planned(), held=True)
        harness.die(1, DIED)
        harness.supervisor.change(scaled(harness.supervisor.run, 3))
        harness.step()
        assert harness.release("activate") == ["activate v2"]
        (late,) = harness.held
        harness.held.clear()
        harness.end(2, done=False)
        assert harness.release() == []
        harness.held.append(late)
        assert harness.release() == ["fence 0"]
        assert harness.release() == ["fence 0 1", "start 0#3 v2", "start 1#4 v2", "start 2#5 v2"]

    def test_a_later_change_takes_the_place_of_one_that_has_not_begun(self, harness):
        run = harness.supervisor.run
        first, second = harness.supervisor.change(scaled(run, 3)), harness.supervisor.change(scaled(run, 1))
        harness.step()
        for number in (1, 2):
            harness.end(number, done=False)
        assert first.cancelled()
        assert second.done()
        assert harness.supervisor.run.model.processors.keys() == {"0"}

    def test_a_fence_that_gets_no_answer_is_tried_again(self, harness):
        harness.supervisor.change(scaled(harness.supervisor.run, 1))
        harness.step()
        harness.fence_errors.append(Unavailable("no broker"))
        for number in (1, 2):
            harness.end(number, done=False)
        assert harness.log[-1] == "fence 0 1"
        assert harness.step(0.25) == ["fence 0 1", "start 0#3 v2"]

    @pytest.mark.parametrize("error", [Unavailable("no broker"), CommitUnknown("no answer")])
    def test_an_activation_that_gets_no_answer_is_tried_again_and_all_keep_running_meanwhile(self, harness, error):
        harness.activation_errors.extend([error] * 3 * TIMEOUTS.failures)
        harness.supervisor.change(scaled(harness.supervisor.run, 3))
        harness.step()
        while harness.activation_errors:
            assert [harness.report(number) for number in harness.living] == [Command.RUN, Command.RUN]
            harness.step(TIMEOUTS.report)
        harness.step(TIMEOUTS.longest)
        assert [harness.report(number) for number in harness.living] == [Command.DRAIN, Command.DRAIN]
        for number in harness.living:
            harness.end(number, done=False)
        assert harness.log[-4:] == ["fence 0 1", "start 0#3 v2", "start 1#4 v2", "start 2#5 v2"]
        waits, continues = harness.supervisor.incidents
        assert waits == f"the handover waits for up to {TIMEOUTS.away:g} s: {error}"
        assert re.fullmatch(r"the handover continues after a wait of 1\d\d s", continues)

    def test_one_that_dies_while_an_activation_waits_is_replaced_with_the_tasks_it_has(self, harness):
        harness.activation_errors.extend([Unavailable("no broker")] * 4)
        harness.supervisor.change(scaled(harness.supervisor.run, 3))
        harness.step()
        harness.die(1, DIED)
        assert "start 0#3 v1" in harness.log

    def test_a_driver_that_was_superseded_changes_no_job_model(self, harness):
        harness.activation_errors.append(Superseded("epoch 2 has begun elsewhere"))
        harness.supervisor.change(scaled(harness.supervisor.run, 3))
        with pytest.raises(Superseded):
            harness.step()
        assert harness.log[-1] == "activate v2"

    def test_a_system_that_stays_away_ends_the_run(self, harness):
        harness.activation_errors.extend([Unavailable("no broker")] * 1_000)
        harness.supervisor.change(scaled(harness.supervisor.run, 3))

        def wait():
            while harness.now < 2 * TIMEOUTS.away:
                for number in harness.living:
                    harness.report(number)
                harness.step(TIMEOUTS.report)

        with pytest.raises(SystemAway, match=r"the handover has waited for 30\d s in vain: no broker"):
            wait()

    def test_one_that_has_not_come_up_does_not_hold_a_change_up(self):
        harness = SupervisorHarness(planned())
        harness.report(2)
        harness.supervisor.change(scaled(harness.supervisor.run, 3))
        assert harness.step() == ["activate v2", "cancel 0#1"]


CHANGED = SideInputChanged("customers.csv has changed")


class TestRestart:
    def test_all_are_drained_and_fenced_and_nobody_starts_before_what_they_need_is_prepared(self, harness):
        harness.supervisor.restart(lambda: harness.log.append("prepare"))
        harness.step()
        assert [harness.report(1), harness.report(2)] == [Command.DRAIN, Command.DRAIN]
        harness.end(1, done=False)
        assert harness.supervisor.changing
        assert harness.step() == []
        harness.end(2, done=False)
        assert harness.log[-4:] == ["fence 0 1", "prepare", "start 0#3 v1", "start 1#4 v1"]
        assert not harness.supervisor.changing
        assert not harness.supervisor.incidents

    def test_what_they_need_is_prepared_again_if_a_system_is_away(self, harness):
        away = [Unavailable("no API server")] * 3

        def prepare():
            harness.log.append("prepare")
            if away:
                raise away.pop()

        harness.supervisor.restart(prepare)
        harness.step()
        for number in (1, 2):
            harness.end(number, done=False)
        for _ in range(3):
            harness.step(TIMEOUTS.longest)
        assert harness.log[-5:] == ["prepare", "fence 0 1", "prepare", "start 0#3 v1", "start 1#4 v1"]

    def test_those_that_had_come_to_their_ends_start_again(self, harness):
        harness.end(1)
        harness.supervisor.restart(lambda: None)
        harness.step()
        harness.end(2, done=False)
        assert not harness.supervisor.completed
        assert harness.living == [3, 4]

    def test_one_that_waits_for_a_side_input_is_tried_again_until_then(self, harness):
        harness.die(1, CHANGED)
        assert harness.supervisor.side_input_changed
        harness.report(2)
        assert harness.step(0.25) == ["start 0#3 v1"]
        assert not harness.supervisor.side_input_changed
        harness.die(3, CHANGED)
        harness.supervisor.restart(lambda: None)
        harness.step()
        harness.end(2, done=False)
        assert harness.log[-3:] == ["fence 0 1", "start 0#4 v1", "start 1#5 v1"]
        waits, continues = harness.supervisor.incidents
        assert waits == "the start of processor 0 waits for up to 300 s: customers.csv has changed"
        assert continues == "the start of processor 0 continues after a wait of 0 s"

    def test_a_side_input_that_never_rests_ends_the_run(self, harness):
        def try_again():
            while harness.now < 2 * TIMEOUTS.away:
                number = max(harness.living)
                if number != 2:
                    harness.die(number, CHANGED)
                harness.report(2)
                harness.step(1.0)

        harness.die(1, CHANGED)
        with pytest.raises(
            ProcessorFailed, match=r"processor 0 has waited for 30\d s in vain: customers.csv has changed"
        ):
            try_again()
        assert harness.now > TIMEOUTS.away

    def test_one_that_ran_for_long_waits_anew(self, harness):
        harness.die(1, CHANGED)
        harness.step(1.0)
        while harness.now < 2 * TIMEOUTS.away:
            harness.report(2)
            harness.report(3)
            harness.step(5.0)
        harness.die(3, CHANGED)
        harness.report(2)
        assert harness.step(0.25) == ["start 0#4 v1"]


class TestDrain:
    def test_all_make_a_last_commit_and_nobody_is_started_again(self, harness):
        harness.supervisor.drain()
        assert [harness.report(1), harness.report(2)] == [Command.DRAIN, Command.DRAIN]
        harness.end(1, done=False)
        harness.die(2, DIED)
        assert harness.supervisor.finished
        assert not harness.supervisor.completed
        assert harness.step(100.0) == []

    def test_one_that_does_not_end_in_time_is_declared_dead(self, harness):
        harness.supervisor.drain()
        harness.end(1, done=False)
        harness.report(2)
        harness.step(TIMEOUTS.drain)
        harness.report(2)
        assert harness.step(0.1) == ["cancel 1#2"]
        assert harness.supervisor.finished

    def test_a_run_that_has_come_to_its_end_meanwhile_has_completed(self, harness):
        harness.supervisor.drain()
        harness.end(1)
        harness.end(2)
        assert harness.supervisor.completed


EVENTS = st.one_of(
    st.tuples(st.just("die"), st.integers(0, 5)),
    st.tuples(st.just("leave"), st.integers(0, 5)),
    st.tuples(st.just("silence"), st.integers(0, 5)),
    st.tuples(st.just("change"), st.integers(1, 4)),
    st.tuples(st.just("fence fails"), st.just(0)),
    st.tuples(st.just("wait"), st.just(0)),
)


class Strict(SupervisorHarness):
    """A host that starts nobody while a former owner of one of its tasks might still write."""

    def start(self, config):
        mine = tasks_of(config)
        former = {number for number, other in self.configs.items() if tasks_of(other) & mine}
        assert former <= self.fenced, f"{config.incarnation}: {sorted(former - self.fenced)} are not fenced"
        return super().start(config)


@given(st.lists(EVENTS, max_size=25))
def test_whatever_happens_no_task_has_two_owners_that_can_write(events):
    harness = Strict(planned(partitions=5, processors=2))
    for event, which in events:
        living = harness.living
        victim = living[which % len(living)] if living else None
        alive = [number for number in living if not (event == "silence" and number == victim)]
        if event == "die" and victim is not None:
            harness.futures[victim].set_exception(DIED)
        elif event == "leave" and victim is not None and harness.report(victim) is Command.DRAIN:
            harness.end(victim, done=False)
        elif event == "change":
            harness.supervisor.change(scaled(harness.supervisor.run, which))
        elif event == "fence fails":
            harness.fence_errors.append(Unavailable("no broker"))
        for offset, _ in enumerate(range(4)):
            for number in alive:
                if not harness.futures[number].done():
                    harness.report(number, committed={"in": {0: len(harness.log) + offset}})
            harness.step(3.0)
    harness.fence_errors.clear()
    for _ in range(10):
        for number in harness.living:
            if harness.report(number) is Command.DRAIN:
                harness.end(number, done=False)
        harness.step(3.0)
    owners = [
        tasks_of(harness.configs[incarnation.number]) for incarnation in harness.supervisor._fleet.living.values()
    ]
    assert sorted(task for tasks in owners for task in tasks) == sorted(harness.supervisor.run.model.tasks)
