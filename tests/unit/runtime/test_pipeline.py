"""Operators one behind another: what one emits is never late for the next."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_core.spec.job import OnError
from streamapp_core.spec.operators import JoinType
from streamapp_runtime.functions.keyed_state import KeyedState
from streamapp_runtime.functions.stateful_function import StatefulFunction
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.interval_join import IntervalJoin
from streamapp_runtime.operators.ordered_process import OrderedProcess
from streamapp_runtime.operators.processing_time import ProcessingTime
from streamapp_runtime.operators.session_window import SessionWindow
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_runtime.tasks.pipeline import Node, Pipeline

ENGINE = SqlEngine()
LEFT, RIGHT = pa.schema([("k", pa.string())]), pa.schema([("k", pa.string()), ("b", pa.int64())])
COUNT = check_aggregate("count(*) as c, count(b) as pairs", ["k"], parse_schema("k string, b bigint"))
ROWS = check_aggregate("count(*) as c", ["k"], parse_schema("k string"))
LENGTH = 4

# How far each row lies ahead of the watermark at the time, and how far that moves afterwards.
STEPS = st.lists(st.tuples(st.sampled_from(["left", "right"]), st.integers(0, 15), st.integers(0, 6)), max_size=30)


class Sent:
    """Stands at the end of a pipeline."""

    has_pending_results = False

    def __init__(self):
        self.rows, self.times = [], []

    def process(self, rows):
        self.rows += rows.to_pylist()

    def advance_watermark(self, watermark):
        self.times.append(watermark)

    def resume(self, watermark):
        """Need nothing of what came before."""

    def flush(self):
        """Keep nothing."""

    def counters(self):
        return {}


def row(side, time):
    columns = {"k": ["a"], "b": [1]} if side == "right" else {"k": ["a"]}
    return pa.table({**columns, EVENT_TIME_COLUMN: pa.array([time], pa.int64())})


@pytest.mark.parametrize("kind", list(JoinType))
@settings(max_examples=30)
@given(steps=STEPS, before=st.sampled_from([0, 10]), after=st.sampled_from([0, 10]))
def test_no_result_of_a_join_is_late_for_a_window_behind_it(kind, steps, before, after):
    environment, both = MemoryEnvironment(), frozenset(["left", "right"])
    store, bounds = environment.store("j"), {"before": before, "after": after}
    join = IntervalJoin(store, keys=(["k"], ["k"]), schemas=(LEFT, RIGHT), kind=kind, **bounds)
    window = AlignedWindow(ENGINE, environment.store("w"), COUNT, length=LENGTH, step=LENGTH)
    sent, joined = Sent(), Sent()
    ports = (join.process_left, join.process_right)
    pipeline = Pipeline(
        [
            Node(
                name="j",
                operator=join,
                inputs=("left", "right"),
                ports=ports,
                streams=both,
                max_output_delay=join.max_output_delay,
            ),
            Node(name="joined", operator=joined, inputs=("j",), ports=(joined.process,), streams=both),
            Node(name="w", operator=window, inputs=("j",), ports=(window.process,), streams=both),
            Node(name="sent", operator=sent, inputs=("w",), ports=(sent.process,), streams=both),
        ]
    )
    watermark = 0
    for side, ahead, moved in [*steps, ("left", 0, END_OF_TIME)]:
        pipeline.push(side, row(side, watermark + ahead))
        watermark = min(watermark + moved, END_OF_TIME)
        pipeline.advance(lambda _, at=watermark: at)
    assert window.counters()["late"] == 0
    assert sum(result["c"] for result in sent.rows) == len(joined.rows)
    assert sent.times == sorted(set(sent.times))
    assert sent.times[-1] == END_OF_TIME


class Echo:
    """Returns its rows, and a row for the end of each three milliseconds later."""

    def process(self, rows, state):
        for time in rows[EVENT_TIME_COLUMN].to_pylist():
            state.set_timer("a", time + 3)
        return rows

    def on_timers(self, timers, state):
        return timers.append_column("b", pa.array([None] * len(timers), pa.int64()))


@settings(max_examples=50)
@given(steps=STEPS, step=st.sampled_from([1, 100, 100_000]))
def test_no_result_of_a_function_in_event_time_order_is_late_for_a_window_behind_it(steps, step):
    environment, reaching = MemoryEnvironment(), frozenset(["right"])
    store = environment.store("p")
    function = StatefulFunction("echo", Echo, RIGHT, [RIGHT.field("k")], KeyedState(store))
    ordered = OrderedProcess("p", function, store, OnError.FAIL, BadRows(), step=step)
    window = AlignedWindow(ENGINE, environment.store("w"), COUNT, length=LENGTH, step=LENGTH)
    sent, emitted = Sent(), Sent()
    pipeline = Pipeline(
        [
            Node(name="p", operator=ordered, inputs=("right",), ports=(ordered.process,), streams=reaching),
            Node(name="emitted", operator=emitted, inputs=("p",), ports=(emitted.process,), streams=reaching),
            Node(name="w", operator=window, inputs=("p",), ports=(window.process,), streams=reaching),
            Node(name="sent", operator=sent, inputs=("w",), ports=(sent.process,), streams=reaching),
        ]
    )
    watermark, times = 0, []
    for _, ahead, moved in [*steps, ("right", 0, END_OF_TIME)]:
        times.append(watermark + ahead)
        pipeline.push("right", row("right", watermark + ahead))
        watermark = min(watermark + moved, END_OF_TIME)
        while pipeline.advance(lambda _, at=watermark: at):
            pass
    assert window.counters()["late"] == 0
    assert len(emitted.rows) == len(times) + len(set(times))
    assert [result[EVENT_TIME_COLUMN] for result in emitted.rows if result["b"]] == sorted(times)
    assert sum(result["c"] for result in sent.rows) == len(emitted.rows)


# Rows (where they read from), how far the clock moves first (a clock may go back), and whether a restart comes before.
TICKS = st.lists(st.tuples(st.sampled_from(["left", "right"]), st.integers(-5, 9), st.booleans()), max_size=30)


@settings(max_examples=50)
@given(ticks=TICKS, session=st.booleans())
def test_windows_by_processing_time_close_once_by_the_clock_and_at_the_end(ticks, session):
    """Event times count for nothing; what comes after has the clock's time, whatever its other streams have."""
    environment, clock, closed, times = MemoryEnvironment(), [1_000], [], []

    def build():
        store, time = environment.store("w"), ProcessingTime(lambda: clock[0], LENGTH)
        made = SessionWindow(ENGINE, store, ROWS, LENGTH) if session else aligned(store)
        after, sent = aligned(environment.store("a")), Sent()
        sent.rows, sent.times = closed, times
        return (
            made,
            after,
            Pipeline(
                [
                    Node(
                        name="w",
                        operator=made,
                        inputs=("left", "right"),
                        ports=(time.stamp(made.process),) * 2,
                        streams=frozenset(["left", "right"]),
                        clock=time,
                    ),
                    node("counts", sent, "w"),
                    node("a", after, "w"),
                ]
            ),
        )

    def node(name, operator, source):
        streams = frozenset(["left", "right"])
        return Node(name=name, operator=operator, inputs=(source,), ports=(operator.process,), streams=streams)

    def aligned(store):
        return AlignedWindow(ENGINE, store, ROWS, length=LENGTH, step=LENGTH)

    made, after, pipeline = build()
    latest = 0
    for source, moved, restarts in ticks:
        if restarts:
            pipeline.flush()
            assert made.counters() == after.counters() == {"late": 0, "undated": 0}
            reached = pipeline.watermarks
            made, after, pipeline = build()
            pipeline.resume(reached)
        clock[0] += moved
        latest = max(latest, clock[0])
        pipeline.push(source, row(source, 7))
        pipeline.advance(lambda _: 5)
        assert times[-1] == latest - latest % LENGTH
        assert all(result["window_end"].timestamp() * 1000 <= times[-1] for result in closed)
    pipeline.advance(lambda _: END_OF_TIME)
    assert sum(result["c"] for result in closed) == len(ticks)
    assert times[-1] == END_OF_TIME
    assert times == sorted(times)
    starts = [result["window_start"] for result in closed]
    assert len(starts) == len(set(starts))
    assert made.counters() == after.counters() == {"late": 0, "undated": 0}


def test_who_reads_what_a_clock_regrouped_follows_the_stream_and_not_the_clock_of_its_own_task():
    """The rows of other tasks come by the stream, when their clocks have long moved on."""
    left, regrouped = frozenset(["left"]), frozenset(["p"])
    window = AlignedWindow(ENGINE, MemoryEnvironment().store("w"), ROWS, length=LENGTH, step=LENGTH)
    time, written, read = ProcessingTime(lambda: 1_000, LENGTH), Sent(), Sent()
    port = time.stamp(window.process)
    pipeline = Pipeline(
        [
            Node(name="w", operator=window, inputs=("left",), ports=(port,), streams=left, clock=time),
            Node(name="p", operator=written, inputs=("w",), ports=(written.process,), streams=left),
            Node(name="read", operator=read, inputs=("p",), ports=(read.process,), streams=regrouped),
        ]
    )
    pipeline.advance(lambda streams: 600 if "p" in streams else 5)
    assert (written.times, read.times) == ([1_000], [600])


def test_a_node_behind_a_clock_and_a_stream_waits_for_both():
    clock, both = [1_000], frozenset(["left", "right"])
    environment = MemoryEnvironment()
    window = AlignedWindow(ENGINE, environment.store("w"), ROWS, length=LENGTH, step=LENGTH)
    time, sent = ProcessingTime(lambda: clock[0], LENGTH), Sent()
    pipeline = Pipeline(
        [
            Node(
                name="w",
                operator=window,
                inputs=("left",),
                ports=(time.stamp(window.process),),
                streams=frozenset(["left"]),
                clock=time,
            ),
            Node(name="sent", operator=sent, inputs=("w", "right"), ports=(sent.process,) * 2, streams=both),
        ]
    )
    pipeline.advance(lambda _: None)
    assert sent.times == []
    for watermark, reached in ((600, 600), (1_100, 1_000)):
        pipeline.advance(lambda streams, at=watermark: at if "right" in streams else 5)
        assert sent.times[-1] == reached
    clock[0] = 1_051
    pipeline.advance(lambda streams: 1_100 if "right" in streams else 5)
    assert sent.times[-1] == 1_048
