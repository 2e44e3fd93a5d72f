"""A partition is idle only by an answer of its system: all of it had been read, a timeout after its last row."""

from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.control import SourceTiming, TaskWatermarks

TIMEOUT = 100
STREAM = ("in", 0)
STEPS = st.lists(
    st.tuples(st.sampled_from(["row", "wake", "read", "no answer", ""]), st.sampled_from([0, 1, 30, 60, 100, 150])),
    max_size=30,
)


def watermarks():
    return TaskWatermarks([STREAM], producers={}, sources={"in": SourceTiming(idle_timeout=TIMEOUT)}, now=0)


@given(STEPS)
def test_it_is_idle_exactly_by_an_answer_that_covers_a_timeout_without_rows_or_absence(steps):
    states, now, active_at, idle = watermarks(), 0, 0, False
    for what, passed in steps:
        now += passed
        states.advance_clock(now)
        match what:
            case "row":
                states.observe(*STREAM, now)
                active_at, idle = now, False
            case "wake":
                states.wake(*STREAM)
                active_at, idle = now, False
            case "no answer":
                states.interrupt(*STREAM)
                active_at = active_at if idle else now
            case "read":
                states.confirm_read(*STREAM, now)
                idle = idle or now >= active_at + TIMEOUT
        states.advance_clock(now)
        assert states.idle("in") == idle


@given(st.lists(st.integers(1, 1_000), max_size=20), st.sampled_from(["never asked", "no answer", "asked too early"]))
def test_no_time_alone_makes_it_idle(passed, why):
    states, now = watermarks(), 0
    for step in passed:
        now += step
        states.advance_clock(now)
        if why == "no answer":
            states.interrupt(*STREAM)
        if why == "asked too early":
            states.confirm_read(*STREAM, TIMEOUT - 1)
        states.advance_clock(now)
        assert not states.idle("in")


def test_an_answer_that_was_asked_for_before_the_last_row_does_not_count():
    states = watermarks()
    states.advance_clock(150)
    states.observe(*STREAM, 150)
    states.confirm_read(*STREAM, 140)
    states.advance_clock(260)
    assert not states.idle("in")
    states.confirm_read(*STREAM, 250)
    states.advance_clock(260)
    assert states.idle("in")


def test_only_what_has_been_silent_so_long_is_asked_for():
    states = watermarks()
    states.advance_clock(50)
    assert list(states.silent_partitions(0)) == [STREAM]
    states.observe(*STREAM, 1)
    assert list(states.silent_partitions(49)) == []
    assert list(states.silent_partitions(50)) == [STREAM]
    states.confirm_read(*STREAM, 150)
    states.advance_clock(150)
    assert states.idle("in")
    assert list(states.silent_partitions(150)) == []
