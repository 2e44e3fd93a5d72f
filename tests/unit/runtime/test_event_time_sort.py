"""Rows by event time: each once, none before an earlier one, whatever comes when, over restarts."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_runtime.operators.event_time_sort import EventTimeSort
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.state.memory_store import MemoryEnvironment

TIMES = st.none() | st.integers(-30, 60)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), st.lists(TIMES, min_size=1, max_size=6)),
        st.tuples(st.just("watermark"), st.integers(-30, 60)),
        st.tuples(st.just("flush"), st.none()),
        st.tuples(st.just("restart"), st.none()),
    ),
    max_size=30,
)


class Sorted:
    """The operator, on a store that outlives restarts; what it has emitted."""

    def __init__(self, limit):
        self.environment, self.limit = MemoryEnvironment(), limit
        self.watermark, self.emitted, self.counted = None, [], {"late": 0, "undated": 0}
        self.open()

    def open(self):
        self.operator = EventTimeSort(self.environment.store("s"), self.limit)
        if self.watermark is not None:
            self.operator.resume(self.watermark)

    def restart(self):
        self.operator.flush()
        for name, count in self.operator.counters().items():
            self.counted[name] += count
        self.open()

    def advance(self, watermark):
        self.watermark = max(watermark, -(1 << 62) if self.watermark is None else self.watermark)
        while True:
            rows = self.operator.advance_watermark(self.watermark)
            if rows is not None:
                assert len(rows) <= self.limit
                self.emitted += zip(rows["n"].to_pylist(), rows[EVENT_TIME_COLUMN].to_pylist(), strict=True)
            if not self.operator.has_pending_results:
                return


@settings(max_examples=100)
@given(steps=STEPS, limit=st.sampled_from([1, 3, 1000]))
def test_each_row_in_time_comes_once_in_order_when_the_watermark_has_passed_it(steps, limit):
    tested, waiting, expected = Sorted(limit), [], []
    number = 0
    dropped = {"late": 0, "undated": 0}
    for step, argument in [*steps, ("restart", None), ("watermark", END_OF_TIME)]:
        if step == "rows":
            rows = [(number + place, time) for place, time in enumerate(argument)]
            number += len(rows)
            columns = {"n": pa.array([n for n, _ in rows]), EVENT_TIME_COLUMN: [time for _, time in rows]}
            assert (
                tested.operator.process(pa.table(columns).cast(pa.schema([("n", pa.int64()), EVENT_TIME_FIELD])))
                is None
            )
            late = [time is not None and tested.watermark is not None and time < tested.watermark for _, time in rows]
            dropped["late"] += sum(late)
            dropped["undated"] += sum(time is None for _, time in rows)
            waiting += [row for row, is_late in zip(rows, late, strict=True) if row[1] is not None and not is_late]
        elif step == "watermark":
            tested.advance(argument)
            due = [row for row in waiting if row[1] < tested.watermark]
            expected += sorted(due, key=lambda row: (row[1], row[0]))
            waiting = [row for row in waiting if row not in due]
            assert tested.emitted == expected
        else:
            getattr(tested.operator if step == "flush" else tested, step)()
    assert waiting == []
    tested.restart()
    assert tested.counted == dropped
