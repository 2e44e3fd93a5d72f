"""Operators one behind another, restarted after any step: nothing comes twice, early, late, or is missed."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.control_snapshot import ControlSnapshot
from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import OverFrames, check_aggregate, check_ordering
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_core.spec.job import OnError
from streamapp_core.spec.operators import JoinType
from streamapp_runtime.functions.keyed_state import KeyedState
from streamapp_runtime.functions.stateful_function import StatefulFunction
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.as_of_join import AsOfJoin
from streamapp_runtime.operators.interval_join import IntervalJoin
from streamapp_runtime.operators.operator import BaseOperator
from streamapp_runtime.operators.ordered_process import OrderedProcess
from streamapp_runtime.operators.over import Over
from streamapp_runtime.operators.row_operators import Merge
from streamapp_runtime.operators.session_window import SessionWindow
from streamapp_runtime.operators.stateful_process import StatefulProcess
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.checkpoint import Checkpoint, decode_checkpoint, encode_checkpoint
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_runtime.tasks.pipeline import Node, Pipeline

ENGINE = SqlEngine()
COLUMNS = pa.schema([("k", pa.int64()), ("n", pa.int64())])
NOTHING = ControlSnapshot(watermarks={}, intermediate=(), sources=()).model_dump_json()
COUNT = check_aggregate("sum(n) as n", ["k"], parse_schema("k bigint, n bigint"))
TOTAL = check_aggregate("sum(n) as n", [], parse_schema("k bigint, n bigint"))
LAST_ROWS = OverFrames(
    aggregation=check_aggregate("sum(n) as total", ["k"], parse_schema("k bigint, n bigint")),
    ordering=check_ordering(None, ["k"], parse_schema("k bigint, n bigint")),
)
KEYS = 4
BOUNDS = ("window_start", "window_end")


class Sent(BaseOperator):
    """Stands at the end of a pipeline; what it gets outlives a restart."""

    def __init__(self, rows):
        self.rows = rows

    def process(self, rows):
        plain = rows.drop_columns([name for name in BOUNDS if name in rows.column_names])
        bounds = [rows.column(name).cast(pa.int64()).to_pylist() for name in BOUNDS if name in rows.column_names]
        self.rows += [tuple(map(str, row)) for row in zip(*bounds, *plain.to_pydict().values(), strict=True)]


class Delayed:
    """Returns its rows, and one more some milliseconds after each; that one sets a timer, too, once."""

    def process(self, rows, state):
        for key, time in zip(rows["k"].to_pylist(), rows[EVENT_TIME_COLUMN].to_pylist(), strict=True):
            state.set_timer(key, time + 3)
            state.put(key, (state.get(key) or 0) + 1)
        return rows

    def on_timers(self, timers, state):
        for key, time in zip(timers["k"].to_pylist(), timers[EVENT_TIME_COLUMN].to_pylist(), strict=True):
            if state.get(key):
                state.put(key, state.get(key) - 1)
                state.set_timer(key, time + 2)
        return timers.append_column("n", pa.array([1] * len(timers), pa.int64()))


def window(environment, name, *, aggregation=COUNT, length=4, step=None, limit=2):
    return AlignedWindow(ENGINE, environment.store(name), aggregation, length=length, step=step or length, limit=limit)


def session(environment, name):
    return SessionWindow(ENGINE, environment.store(name), COUNT, 3)


def ordered(environment, name):
    store = environment.store(name)
    function = StatefulFunction(name, Delayed, COLUMNS, [COLUMNS.field("k")], KeyedState(store))
    return OrderedProcess(name, function, store, OnError.FAIL, BadRows(), rows_at_once=2, step=1)


def arrival(environment, name):
    function = StatefulFunction(name, Delayed, COLUMNS, [COLUMNS.field("k")], KeyedState(environment.store(name)))
    return StatefulProcess(name, function, OnError.FAIL, BadRows())


def join(environment, name):
    right = pa.schema([("k", pa.int64()), ("m", pa.int64())])
    return IntervalJoin(
        environment.store(name), keys=(["k"], ["k"]), schemas=(COLUMNS, right), kind=JoinType.FULL, before=5, after=5
    )


def over(environment, name):
    return Over(ENGINE, environment.store(name), LAST_ROWS, COLUMNS, rows=2, reach=None, limit=2)


def as_of(environment, name):
    right = pa.schema([("k", pa.int64()), ("m", pa.int64())])
    return AsOfJoin(
        ENGINE,
        environment.store(name),
        keys=(["k"], ["k"]),
        schemas=(COLUMNS, right),
        keeps_unmatched=True,
        within=5,
        limit=2,
    )


FIRST = {
    "window": window,
    "sliding": lambda environment, name: window(environment, name, length=4, step=2),
    "session": session,
    "ordered": ordered,
    "arrival": arrival,
    "over": over,
}
SECOND = {
    **FIRST,
    "total": lambda environment, name: window(environment, name, aggregation=TOTAL, length=2),
    "join": join,
    "asOf": as_of,
}


class Narrowed(BaseOperator):
    """Gives the rows of any operator the columns that the next one reads."""

    def process(self, rows):
        return rows.select([*COLUMNS.names, EVENT_TIME_COLUMN])


def build(environment, first, second, emitted, totals):
    """Merge what the first operator emits with rows that come another way, and give both to the second one."""
    read = frozenset(["in", "around"])

    def node(name, operator, *inputs, ports=None, delay=0):
        return Node(
            name=name,
            operator=operator,
            inputs=inputs,
            ports=ports or (operator.process,) * len(inputs),
            streams=read,
            max_output_delay=delay,
        )

    one, narrowed, merged = FIRST[first](environment, "one"), Narrowed(), Merge([*COLUMNS.names, EVENT_TIME_COLUMN])
    nodes = [node("one", one, "in"), node("narrowed", narrowed, "one"), node("merged", merged, "narrowed", "around")]
    two = SECOND[second](environment, "two")
    if second in ("join", "asOf"):
        ports = (two.process_left, lambda rows: two.process_right(rows.rename_columns(["k", "m", EVENT_TIME_COLUMN])))
        nodes.append(node("two", two, "narrowed", "around", ports=ports, delay=two.max_output_delay))
    else:
        nodes.append(node("two", two, "merged"))
    sent, three = Sent(emitted), window(environment, "three", aggregation=TOTAL, length=6)
    total = Sent(totals)
    nodes += [node("sent", sent, "two"), node("three", three, "two"), node("total", total, "three")]
    return Pipeline(nodes)


def batch(times):
    return pa.table(
        {
            "k": pa.array([index % KEYS for index in range(len(times))], pa.int64()),
            "n": pa.array([1 << index for index in range(len(times))], pa.int64()),
            EVENT_TIME_COLUMN: pa.array(times, pa.int64()),
        }
    )


def steps(earliest):
    """Steps: rows, relative to the watermark, of one of the inputs; how far the watermark moves; restarts."""
    rows = st.lists(st.integers(earliest, 12), max_size=8)
    step = st.tuples(st.sampled_from(["in", "around"]), rows, st.sampled_from([0, 1, 5, 20]), st.booleans())
    return st.lists(step, min_size=2, max_size=8)


def run(first, second, steps, *, restarts):
    """Return what the second operator has emitted, what the window behind it has, and the late rows."""
    environment, emitted, totals, late = MemoryEnvironment(), [], [], 0
    pipeline, watermark = build(environment, first, second, emitted, totals), 0
    for source, offsets, moved, restarted in [*steps, *[("in", [], END_OF_TIME, True)] * 1_000]:
        if offsets:
            pipeline.push(source, batch([watermark + offset for offset in offsets]))
        watermark = min(watermark + moved, END_OF_TIME)
        risen = pipeline.advance(lambda _, at=watermark: at)
        if watermark == END_OF_TIME and not risen:
            break
        pipeline.flush()
        if restarts and restarted:
            late += late_rows(pipeline)
            checkpoint = Checkpoint(positions={}, control=NOTHING, not_used={}, watermarks=pipeline.watermarks)
            pipeline = build(environment, first, second, emitted, totals)
            pipeline.resume(decode_checkpoint(encode_checkpoint(checkpoint)).watermarks)
    assert not pipeline.has_pending_results
    return sorted(emitted), sorted(totals), late + late_rows(pipeline)


def late_rows(pipeline):
    return sum(counts.get("late", 0) for counts in pipeline.counters().values())


@pytest.mark.parametrize("second", sorted({*SECOND} - {"arrival"}))
@pytest.mark.parametrize("first", FIRST)
@settings(max_examples=5, deadline=None)
@given(steps=steps(earliest=0))
def test_restarts_change_no_result(first, second, steps):
    assert run(first, second, steps, restarts=True) == run(first, second, steps, restarts=False)


@pytest.mark.parametrize("second", ["window", "sliding", "total", "join", "ordered"])
@pytest.mark.parametrize("first", ["window", "sliding", "ordered"])
@settings(max_examples=5, deadline=None)
@given(steps=steps(earliest=-8))
def test_late_rows_reopen_no_window_after_a_restart(first, second, steps):
    """Which of them are late depends on when they come; that a window comes once does not."""
    emitted, totals, _ = run(first, second, steps, restarts=True)
    windows = [row[:-2] for row in (totals if second in ("join", "ordered") else emitted)]
    assert len(set(windows)) == len(windows)


def test_a_window_behind_one_with_many_results_stays_closed():
    """A late row comes after a restart, while the first window has more results than fit a step."""
    closed, pending = ("around", [1], 10, False), ("in", [0, 0, 0, 0], 10, True)
    emitted, _, late = run("window", "total", [closed, pending, ("around", [-19], 0, False)], restarts=True)
    assert [row[:2] for row in emitted] == [("0", "2000"), ("10000", "12000")]
    assert late == 1


def test_timers_that_are_set_after_the_end_do_not_fire_at_a_restart():
    steady, restarted = (run("arrival", "window", [("in", [0], 1, True)], restarts=given) for given in (False, True))
    assert restarted == steady
