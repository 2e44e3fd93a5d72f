"""Functions in event-time order: what they get depends on the rows alone, not on batches, arrival, and restarts."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.job import OnError
from streamapp_runtime.functions.keyed_state import KeyedState
from streamapp_runtime.functions.stateful_function import StatefulFunction
from streamapp_runtime.operators.ordered_process import OrderedProcess
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.event_time_column import add_event_time
from streamapp_runtime.state.memory_store import MemoryEnvironment
from support.changelogs import changed_pairs

ROWS = pa.schema([("k", pa.string()), ("n", pa.int64()), ("at", pa.int64())])
RESULTS = pa.schema([("k", pa.string()), ("said", pa.string())])
ALL = 1_000


class Diary:
    """Writes down what it gets of every key, and sets, moves and deletes timers by the numbers of rows.

    A row n sets a timer n % 7 - 1 later, and if n is even deletes the last one before. A timer that was set by a row
    sets one of its own, up to two in a chain.
    """

    def process(self, rows, state):
        said = []
        for row in rows.to_pylist():
            seen = state.get(row["k"]) or {"count": 0, "timer": None, "chain": 0}
            if row["n"] % 2 == 0 and seen["timer"] is not None:
                state.delete_timer(row["k"], seen["timer"])
            seen |= {"count": seen["count"] + 1, "timer": row["at"] + row["n"] % 7 - 1, "chain": 0}
            state.set_timer(row["k"], seen["timer"])
            state.put(row["k"], seen)
            said.append(f"row {row['n']} at {row['at']}, {seen['count']}")
        return pa.table({"k": rows["k"], "said": said, EVENT_TIME_COLUMN: rows[EVENT_TIME_COLUMN]})

    def on_timers(self, timers, state):
        said = []
        for key, at in zip(timers["k"].to_pylist(), timers[EVENT_TIME_COLUMN].to_pylist(), strict=True):
            seen = state.get(key)
            if seen["chain"] < 2:
                state.set_timer(key, at + 2)
            state.put(key, seen | {"chain": seen["chain"] + 1})
            said.append(f"timer at {at}, {seen['count']}, {seen['chain']}")
        return pa.table({"k": timers["k"], "said": said})


class OneByOne:
    """A state of the reference: plain values and timers."""

    def __init__(self):
        self.values, self.timers = {}, set()

    def get(self, key):
        return self.values.get(key)

    def put(self, key, value):
        self.values[key] = value

    def delete(self, key):
        self.values.pop(key, None)

    def set_timer(self, key, time):
        self.timers.add(time)

    def delete_timer(self, key, time):
        self.timers.discard(time)


def replay(function, rows):
    """Give a function the rows and timers of each key one by one in the order of their times."""
    found = {}
    for key in {row[0] for row in rows}:
        state, made = OneByOne(), function()
        said = found[key] = []

        def fire(before, state=state, made=made, said=said, key=key):
            while state.timers and min(state.timers) < before:
                time = min(state.timers)
                state.timers.remove(time)
                said.extend(plain(made.on_timers(timer_table(key, time), state)))

        for row in sorted((row for row in rows if row[0] == key), key=lambda row: row[2]):
            fire(row[2])
            said.extend(plain(made.process(batch(row), state)))
        fire(ALL)
    return found


def timer_table(key, time):
    return pa.table({"k": pa.array([key], pa.string()), EVENT_TIME_COLUMN: pa.array([time], pa.int64())})


def batch(*rows):
    return add_event_time(
        pa.table(dict(zip(ROWS.names, map(list, zip(*rows, strict=True)), strict=True)), ROWS), ["at"]
    )


def plain(table):
    return [] if table is None else list(zip(table["k"].to_pylist(), table["said"].to_pylist(), strict=True))


class Runner:
    """An operator with its store, which is restarted now and then."""

    def __init__(self, function, on_error=OnError.FAIL, **limits):
        self.environment, self.function, self.on_error, self.limits = MemoryEnvironment(), function, on_error, limits
        self.said, self.steps = [], 0
        self.restart()

    def restart(self):
        if self.steps:
            self.operator.flush()
        store = self.environment.store("p")
        function = StatefulFunction("mine:made", self.function, RESULTS, [ROWS.field("k")], KeyedState(store))
        self.operator = OrderedProcess("p", function, store, self.on_error, BadRows(), **self.limits)

    def give(self, *rows):
        self.steps += 1
        self.said += plain(self.operator.process(batch(*rows)))

    def advance(self, watermark, between=lambda: None):
        self.steps += 1
        before = len(self.said)
        self.said += plain(self.operator.advance_watermark(watermark))
        while self.operator.has_pending_results:
            between()
            self.said += plain(self.operator.advance_watermark(watermark))
        return self.said[before:]

    def by_key(self):
        return {key: [said for said in self.said if said[0] == key] for key in {key for key, _ in self.said}}


# Rows in their order of time, each with how much later it arrives; then what happens after each of them.
STEPS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.integers(0, 20),
        st.integers(0, 6),
        st.integers(0, 8),
        st.sampled_from(["nothing", "batch", "batch", "flush", "restart"]),
    ),
    max_size=40,
)
LIMITS = st.sampled_from([{}, {"rows_at_once": 3}, {"rows_at_once": 2, "step": 60}, {"rows_at_once": 1, "step": 1}])
MAX_LATE = 8


def play(runner, steps):
    """Let rows arrive up to `MAX_LATE` late, in batches, with restarts; give them in the order of their arrival."""
    time, rows = 0, []
    for number, (key, n, gap, late, after) in enumerate(steps):
        time += gap
        rows.append((time + late, number, (key, n, time), after))
    arrived, waiting = [], []
    for _, _, row, after in sorted(rows):
        arrived.append(row)
        waiting.append(row)
        if after != "nothing":
            runner.give(*waiting)
            waiting = []
            watermark = max(row[2] for row in arrived) - MAX_LATE
            runner.advance(watermark, runner.restart if after == "restart" else runner.operator.flush)
        if after == "flush":
            runner.operator.flush()
        if after == "restart":
            runner.restart()
    if waiting:
        runner.give(*waiting)
    return arrived


@given(steps=STEPS, limits=LIMITS)
def test_a_function_gets_what_one_gets_that_is_given_rows_and_timers_one_by_one(steps, limits):
    runner = Runner(Diary, **limits)
    arrived = play(runner, steps)
    runner.advance(ALL, runner.restart)
    assert runner.by_key() == replay(Diary, arrived)
    assert runner.advance(END_OF_TIME) == []
    runner.operator.flush()
    left = [key for key, _ in runner.environment.store("p").scan()]
    assert [key for key in left if key[:1] == b"t" or (key[:1] == b"p" and key[1:] not in (b"p", b"w"))] == []


class Silence:
    """Reports how often a key came until ten milliseconds of silence."""

    def process(self, rows, state):
        for row in rows.to_pylist():
            seen = state.get(row["k"]) or {"count": 0, "until": None}
            if seen["until"] is not None:
                state.delete_timer(row["k"], seen["until"])
            seen = {"count": seen["count"] + 1, "until": row["at"] + 10}
            state.set_timer(row["k"], seen["until"])
            state.put(row["k"], seen)

    def on_timers(self, timers, state):
        said = []
        for key in timers["k"].to_pylist():
            said.append(str(state.get(key)["count"]))
            state.delete(key)
        return pa.table({"k": timers["k"], "said": said})


@given(steps=STEPS, limits=LIMITS)
def test_the_end_of_all_inputs_comes_after_all_rows_and_their_timers(steps, limits):
    runner = Runner(Silence, **limits)
    arrived = play(runner, steps)
    runner.advance(END_OF_TIME, runner.restart)
    expected = replay(Silence, arrived)
    assert runner.by_key() == expected


def test_a_batch_of_two_visits_is_two_visits():
    runner = Runner(Silence)
    runner.give(("a", 1, 0), ("a", 2, 1), ("a", 3, 100))
    assert runner.advance(100) == [("a", "2")]
    assert runner.advance(END_OF_TIME) == [("a", "1")]


def test_a_row_comes_before_a_timer_of_its_time_in_whatever_batch():
    runner = Runner(Silence)
    runner.give(("a", 1, 0))
    runner.give(("a", 1, 10))
    assert runner.advance(10) == []
    runner.give(("a", 1, 10))
    assert runner.advance(20) == []
    assert runner.advance(21) == [("a", "3")]


class Counted(Silence):
    """Counts its calls and rows."""

    calls = rows = 0

    def process(self, rows, state):
        Counted.calls += 1
        Counted.rows += len(rows)
        super().process(rows, state)


@pytest.mark.parametrize(
    ("gap", "visits", "most_calls", "most_rows"),
    [(0, 10, 1, 10_000), (1, 10, 1_000, 30_000), (5, 10_000, 2_000, 50_000)],
)
def test_few_calls_have_many_rows_and_few_rows_are_given_twice(gap, visits, most_calls, most_rows):
    Counted.calls = Counted.rows = 0
    runner = Runner(Counted)
    runner.give(*((f"k{n % 10}", n, n * gap) for n in range(10_000)))
    runner.advance(END_OF_TIME)
    assert len(runner.said) == visits
    assert Counted.calls <= most_calls
    assert Counted.rows <= most_rows


def test_rows_that_one_call_must_not_have_are_given_again():
    calls = []

    class Told(Silence):
        def process(self, rows, state):
            calls.append(rows["at"].to_pylist())
            super().process(rows, state)

    runner = Runner(Told)
    runner.give(("a", 1, 0), ("b", 1, 2), ("a", 1, 5), ("a", 1, 30), ("b", 1, 31))
    runner.advance(1_000)
    assert runner.by_key() == {"a": [("a", "2"), ("a", "1")], "b": [("b", "1"), ("b", "1")]}
    assert calls == [[0, 2, 5, 30, 31], [0, 2, 5], [30, 31]]


def test_a_timer_in_the_past_fires_right_after_the_row_that_set_it():
    class Past:
        def process(self, rows, state):
            for row in rows.to_pylist():
                state.set_timer(row["k"], row["at"] - 5)
                state.put(row["k"], row["n"])

        def on_timers(self, timers, state):
            return pa.table({"k": timers["k"], "said": [str(state.get(key)) for key in timers["k"].to_pylist()]})

    runner = Runner(Past)
    runner.give(("a", 1, 10), ("a", 2, 10), ("a", 3, 20))
    assert runner.advance(30) == [("a", "1"), ("a", "2"), ("a", "3")]


def test_late_rows_and_rows_without_a_time_are_given_at_once():
    runner = Runner(Diary)
    runner.give(("a", 3, 20))
    runner.advance(10)
    late = batch(("a", 3, 9), ("b", 3, 10)).set_column(3, EVENT_TIME_COLUMN, pa.array([9, None], pa.int64()))
    assert plain(runner.operator.process(late)) == [("a", "row 3 at 9, 1"), ("b", "row 3 at 10, 1")]
    runner.give(("a", 3, 10))
    assert runner.said == []
    assert runner.advance(20)[:1] == [("a", "row 3 at 10, 2")]


def test_late_rows_stay_late_after_a_restart():
    runner = Runner(Diary)
    runner.give(("a", 3, 20))
    runner.advance(10)
    runner.restart()
    runner.give(("a", 3, 9))
    assert runner.said == [("a", "row 3 at 9, 1")]


class Clock:
    """Sets its timer again, five milliseconds later."""

    def process(self, rows, state):
        for row in rows.to_pylist():
            state.set_timer(row["k"], row["at"])

    def on_timers(self, timers, state):
        times = timers[EVENT_TIME_COLUMN].to_pylist()
        for key, time in zip(timers["k"].to_pylist(), times, strict=True):
            state.set_timer(key, time + 5)
        return pa.table({"k": timers["k"], "said": list(map(str, times))})


@pytest.mark.parametrize("watermarks", [[], [3], [0, 7, 12]])
@pytest.mark.parametrize("step", [1, 100_000])
def test_at_the_end_timers_fire_up_to_the_last_row_and_then_once(watermarks, step):
    runner = Runner(Clock, step=step)
    runner.give(("a", 0, 0), ("b", 0, 12))
    for watermark in watermarks:
        runner.advance(watermark, runner.restart)
    runner.advance(END_OF_TIME, runner.restart)
    assert runner.by_key() == {"a": [("a", time) for time in ("0", "5", "10", "15")], "b": [("b", "12")]}


def test_the_work_of_one_step_is_bounded():
    runner = Runner(Clock, rows_at_once=10, step=500)
    runner.give(*((f"k{n}", 0, 0) for n in range(30)))
    sizes = []
    while True:
        result = runner.operator.advance_watermark(100)
        sizes.append(0 if result is None else len(result))
        if not runner.operator.has_pending_results:
            break
        runner.restart()
    assert sum(sizes) == 30 * 20
    assert max(sizes) <= 100


def test_only_rows_that_wait_at_a_commit_are_stored_and_chunks_are_written_once():
    runner = Runner(Diary)
    runner.give(("a", 3, 5), ("a", 3, 7))
    runner.advance(7)
    runner.operator.flush()
    assert chunks(runner) == []
    runner.give(("a", 3, 30), ("a", 3, 20))
    runner.operator.flush()
    (chunk,) = chunks(runner)
    runner.environment.commit()
    runner.advance(25)
    runner.operator.flush()
    assert chunk not in dict(changed_pairs(runner.environment.changes("p")))
    assert chunks(runner) == [chunk]
    runner.restart()
    assert ("a", "row 3 at 30, 4") in runner.advance(30)
    runner.operator.flush()
    assert chunks(runner) == []


def chunks(runner):
    return [key for key, _ in runner.environment.store("p").scan(b"pr", b"ps")]


def test_rows_that_fail_are_skipped_and_nothing_else():
    class Picky(Silence):
        def process(self, rows, state):
            super().process(rows, state)
            if any(n < 0 for n in rows["n"].to_pylist()):
                raise ValueError("below zero")

    runner = Runner(Picky, OnError.SKIP)
    runner.give(*(("a", -1 if n % 10 == 3 else 1, n) for n in range(100)))
    assert runner.advance(END_OF_TIME) == [("a", "90")]
    assert runner.operator.counters() == {"failed": 10}


def test_null_and_equal_times_are_no_problem():
    runner = Runner(Silence)
    runner.give((None, 1, 5), (None, 1, 5), ("a", 1, 5))
    assert sorted(runner.advance(END_OF_TIME), key=str) == [("a", "1"), (None, "2")]
