"""Windows with more results than a commit may have: they are emitted in parts, all before the marker of their end."""

import pyarrow as pa
import pytest

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.group_states import GroupStates
from streamapp_runtime.rows.row_codec import encode_row
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_runtime.tasks.pipeline import Node, Pipeline

ENGINE = SqlEngine()
LENGTH, KEYS, MOST = 10, 100, 30
PER_KEY = check_aggregate("count(*) as c", ["k"], parse_schema("k bigint"))
KEYS_WITH = check_aggregate("count(*) as keys", ["c"], parse_schema("k bigint, c bigint"))


class Sent:
    """Stands at the end of a pipeline."""

    has_pending_results = False

    def __init__(self):
        self.rows = []

    def process(self, rows):
        self.rows += rows.to_pylist()

    def advance_watermark(self, watermark):
        """Nothing follows from it."""

    def flush(self):
        """Do nothing: there is no state."""


def pipeline(environment):
    """Count the rows of each key, then the keys with as many: a window behind another one."""
    options = {"length": LENGTH, "step": LENGTH}
    steps = {
        "counted": AlignedWindow(ENGINE, environment.store("counted"), PER_KEY, **options, limit=MOST),
        "together": AlignedWindow(ENGINE, environment.store("together"), KEYS_WITH, **options),
        "sent": Sent(),
    }
    nodes = [
        Node(name=name, operator=step, inputs=(before,), ports=(step.process,), streams=frozenset(["in"]))
        for (name, step), before in zip(steps.items(), ["in", "counted", "together"], strict=True)
    ]
    return Pipeline(nodes), steps["sent"]


def rows(time):
    return pa.table({"k": range(KEYS), EVENT_TIME_COLUMN: pa.array([time] * KEYS, pa.int64())})


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("watermark", [LENGTH, END_OF_TIME])
def test_no_part_of_the_results_is_late_for_what_comes_behind(watermark, restarts):
    environment = MemoryEnvironment()
    made, sent = pipeline(environment)
    made.push("in", rows(5))
    parts = 0
    while made.advance(lambda _: watermark):
        parts += 1
        assert made.has_pending_results is (parts < 4)
        assert [node.watermark for node in made.nodes] == [watermark if parts == 4 else None] * 3
        assert sent.rows == [] or parts == 4
        made.flush()
        if restarts and parts < 4:
            made, sent = pipeline(environment)
    assert parts == 4
    assert [(row["c"], row["keys"]) for row in sent.rows] == [(1, KEYS)]
    assert list(environment.store("counted").scan()) == []


def test_what_a_later_watermark_settles_is_taken_after_the_rest_of_the_one_before():
    store = MemoryEnvironment().store("s")
    states = GroupStates(store)
    for number in range(9):
        store.put(b"%d" % number, encode_row([number]))
    taken = [states.pop_below(b"5", 2), states.pop_below(b"8", 2), states.pop_below(b"8", 2)]
    assert states.has_pending_results
    while states.has_pending_results:
        taken.append(states.pop_below(b"8", 2))
    assert [number for rows in taken for (number,) in rows] == list(range(8))
    assert all(len(rows) <= 2 for rows in taken)
    assert [key for key, _ in store.scan()] == [b"8"]
