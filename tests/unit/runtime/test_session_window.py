"""Session windows against a plain reading of their definition, over restarts."""

import math
from collections import Counter, defaultdict

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.operators.session_window import SESSION_COLUMN, SessionWindow, number_sessions
from streamapp_runtime.rows.event_time_column import add_event_time
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment

GAP = 5
SCHEMA = parse_schema("k string, n bigint, at bigint")
COLUMNS = pa.schema([("k", pa.string()), ("n", pa.int64()), ("at", pa.int64())])
AGGREGATION = check_aggregate("count(*) as c, sum(n) as s", ["k"], SCHEMA)
ENGINE = SqlEngine()

rows = st.tuples(st.sampled_from(["x", "y", None]), st.integers(0, 9), st.integers(-20, 40))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), st.lists(rows, min_size=1, max_size=8)),
        st.tuples(st.just("watermark"), st.integers(-20, 50)),
        st.tuples(st.just("restart"), st.none()),
    ),
    max_size=20,
)


class Defined:
    """Sessions as sets of rows: the rows of a batch are merged first, then with the open sessions they touch."""

    def __init__(self):
        self.open = []
        self.watermark = -(10**9)
        self.late = 0

    def take(self, batch):
        sessions = [{"k": k, "start": t, "end": t + GAP, "rows": [n]} for k, n, t in batch]
        self.open += [session | {"new": True} for session in sessions]
        while self._merge_two():
            pass
        late = [s for s in self.open if s.get("new") and s["end"] <= self.watermark]
        self.late += sum(len(session["rows"]) for session in late)
        self.open = [session | {"new": False} for session in self.open if session not in late]

    def _merge_two(self):
        for a in self.open:
            for b in self.open:
                if a is not b and a["k"] == b["k"] and a["start"] <= b["end"] and b["start"] <= a["end"]:
                    self.open = [session for session in self.open if session is not a and session is not b]
                    both = {"start": min(a["start"], b["start"]), "end": max(a["end"], b["end"])}
                    self.open.append({"k": a["k"], **both, "rows": a["rows"] + b["rows"], "new": a["new"] and b["new"]})
                    return True
        return False

    def advance(self, watermark):
        self.watermark = max(self.watermark, watermark)
        due = [session for session in self.open if session["end"] <= self.watermark]
        self.open = [session for session in self.open if session not in due]
        return Counter((s["k"], s["start"], s["end"], len(s["rows"]), sum(s["rows"]), s["end"] - 1) for s in due)


@settings(max_examples=150)
@given(steps=steps)
def test_sessions_are_those_of_the_definition(steps):
    environment, defined = MemoryEnvironment(), Defined()
    window = SessionWindow(ENGINE, environment.store("w"), AGGREGATION, GAP)
    watermark, late = None, 0
    for step, argument in [*steps, ("watermark", END_OF_TIME)]:
        if step == "rows":
            table = pa.table(dict(zip(COLUMNS.names, map(list, zip(*argument, strict=True)), strict=True)), COLUMNS)
            assert window.process(add_event_time(table, ["at"])) is None
            defined.take(argument)
        elif step == "restart":
            window.flush()
            late += window.counters()["late"]
            window = SessionWindow(ENGINE, environment.store("w"), AGGREGATION, GAP)
            if watermark is not None:
                assert window.advance_watermark(watermark) is None
        elif watermark is None or argument > watermark:
            watermark = argument
            assert counted(window.advance_watermark(argument)) == defined.advance(argument)
    assert late + window.counters()["late"] == defined.late
    window.flush()
    assert list(environment.store("w").scan()) == []


def counted(table):
    if table is None:
        return Counter()
    rows = zip(
        *(column.to_pylist() if column.type != BOUND else milliseconds(column) for column in table.columns), strict=True
    )
    return Counter(rows)


BOUND = pa.timestamp("us", tz="UTC")


def milliseconds(column):
    return [value // 1_000 for value in column.cast(pa.int64()).to_pylist()]


KEYED = pa.schema(
    [("d", pa.float64()), ("k", pa.string()), ("id", pa.int64()), pa.field(EVENT_TIME_COLUMN, pa.int64())]
)
key_values = st.tuples(st.sampled_from([0.0, -0.0, math.nan, -math.nan, 1.5, None]), st.sampled_from(["x", "", None]))
times = st.integers(-12, 12) | st.sampled_from([-(2**63), 2**63 - 1])


@given(batch=st.lists(st.tuples(key_values, times), min_size=1, max_size=10), cut=st.integers(0, 10))
def test_zeros_and_nans_are_one_key_in_batches_of_several_chunks(batch, cut):
    rows = [(*key, place, time) for place, (key, time) in enumerate(batch)]
    tables = [pa.table(list(zip(*part, strict=True)), KEYED) for part in (rows[:cut], rows[cut:]) if part]
    numbered = number_sessions(pa.concat_tables(tables), ["d", "k"], GAP)
    assert numbered.drop_columns([SESSION_COLUMN]).column("id").to_pylist() == list(range(len(rows)))

    expected, of_key = [], defaultdict(list)
    for (d, k), place, time in ((key, place, time) for place, (key, time) in enumerate(batch)):
        of_key["nan" if d is not None and math.isnan(d) else d, k].append((time, place))
    for members in of_key.values():
        last = None
        for time, place in sorted(members):
            if last is None or time - last > GAP:
                expected.append(set())
            expected[-1].add(place)
            last = time
    found = defaultdict(set)
    for place, session in enumerate(numbered.column(SESSION_COLUMN).to_pylist()):
        found[session].add(place)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, expected))
