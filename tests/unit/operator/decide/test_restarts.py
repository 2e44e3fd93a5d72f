from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.deployment.app_record import Launch, LaunchCause
from streamapp_core.spec.processors import RestartPolicy
from streamapp_operator.decide.restarts import assess_death

NOW = datetime(2025, 1, 1, tzinfo=UTC)
POLICY = RestartPolicy(backoff="5s")


def launch(attempt=0, epoch=1, age=timedelta(minutes=1)):
    return Launch(
        app="x",
        run_id="r1",
        counts={},
        epoch=epoch,
        processors=1,
        executor_template={},
        cause=LaunchCause.FIRST_START,
        attempt=attempt,
        at=NOW - age,
    )


def wait(attempt, uid="u", epoch=1):
    return (assess_death(launch(attempt, epoch), None, NOW, POLICY, uid).restart_at - NOW).total_seconds()


@given(st.integers(1, 10_000), st.text(max_size=5), st.integers(1, 10_000))
def test_waits_grow_to_the_cap_and_stay_near_it(attempt, uid, epoch):
    expected = min(5 * 2**attempt, 300)
    assert expected * 0.8 <= wait(attempt, uid, epoch) <= expected * 1.2


def test_the_first_death_is_mended_at_once_unless_the_driver_has_only_just_begun():
    assert wait(0) == 0
    young = assess_death(launch(age=timedelta(seconds=1)), None, NOW, POLICY, "u").restart_at - NOW
    assert timedelta(seconds=3) <= young <= timedelta(seconds=5)


def test_apps_that_die_together_come_back_apart():
    assert len({round(wait(3, f"app-{number}"), 1) for number in range(50)}) > 25


def test_the_same_question_has_the_same_answer():
    assert wait(4) == wait(4)


def test_after_a_healthy_time_counting_begins_again():
    assert assess_death(launch(7, age=timedelta(minutes=11)), None, NOW, POLICY, "u").attempt == 1
    assert assess_death(launch(7, age=timedelta(minutes=9)), None, NOW, POLICY, "u").attempt == 8


def test_restarts_that_are_used_up_come_back_never():
    policy = RestartPolicy(maxRestarts=2)
    assert assess_death(launch(1), None, NOW, policy, "u").restart_at is not None
    assert assess_death(launch(2), None, NOW, policy, "u").restart_at is None
