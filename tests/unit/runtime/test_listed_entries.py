"""Large lists of windows: what one more value costs, how large records get, and results however values are kept."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_aggregate
from streamapp_core.schema import parse_schema
from streamapp_runtime.operators.aligned_window import AlignedWindow
from streamapp_runtime.operators.early_results import EarlyResults
from streamapp_runtime.operators.session_window import SessionWindow
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryStore

ENGINE = SqlEngine()
SCHEMA = parse_schema("k string, v bigint, s string")
COLUMNS = pa.schema([("k", pa.string()), ("v", pa.int64()), ("s", pa.string()), EVENT_TIME_FIELD])
RECORD_BYTES = 1_000_000
"""The default limit of Kafka's clients for one record."""
LISTS = {
    "count(distinct v)": lambda rows: len({v for v, _ in rows}),
    "collect_list(v)": lambda rows: [v for v, _ in sorted(rows, key=lambda row: row[1])],
    "collect_set(v)": lambda rows: sorted({v for v, _ in rows}),
    "collect_set(struct(v)).v": lambda rows: sorted({v for v, _ in rows}),
    "sum(distinct v)": lambda rows: sum({v for v, _ in rows}),
    "percentile_disc(0.5) within group (order by v)": lambda rows: float(
        sorted(v for v, _ in rows)[(len(rows) - 1) // 2]
    ),
    "listagg(v, ',')": lambda rows: ",".join(str(v) for v, _ in sorted(rows, key=lambda row: row[1])),
}
GAP = 10
KINDS = ("window", "session")


def operator_of(kind, store, select, inline=None, **options):
    aggregation = check_aggregate(select, ["k"], SCHEMA)
    if kind == "session":
        return SessionWindow(ENGINE, store, aggregation, GAP, inline)
    return AlignedWindow(ENGINE, store, aggregation, length=1_000, step=1_000, inline=inline, **options)


def rows_of(rows):
    listed = [{"k": "x", "v": v, "s": "" if v is None else str(v), EVENT_TIME_FIELD.name: time} for v, time in rows]
    return pa.Table.from_pylist(listed, COLUMNS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("select", [*LISTS, "mode(v)"])
def test_one_more_value_of_a_large_list_is_small(kind, select):
    store = MemoryStore()
    operator = operator_of(kind, store, f"{select} as l")
    for first, count in ((0, 5_000), (5_000, 1)):
        store.changed.clear()
        operator.process(rows_of([(v, 7) for v in range(first, first + count)]))
        operator.flush()
    assert len(store.changed) == len(["value", "group"])
    assert sum(len(store.get(key)) for key in store.changed) < 60


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(
    batches=st.lists(
        st.tuples(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 60)), min_size=1, max_size=6), st.booleans()),
        max_size=8,
    ),
    inline=st.sampled_from([1, 2, 4]),
)
def test_lists_are_those_of_all_rows_over_restarts_and_merges(kind, batches, inline):
    select = ", ".join(f"{text} as l{place}" for place, text in enumerate(LISTS))
    store, rows = MemoryStore(), []
    operator = operator_of(kind, store, select, inline)
    for batch, restarted in batches:
        operator.process(rows_of(batch))
        rows += batch
        if restarted:
            operator.flush()
            operator = operator_of(kind, store, select, inline)
    closed = operator.advance_watermark(END_OF_TIME)
    found = [
        [row[f"l{place}"] for place in range(len(LISTS))] for row in ([] if closed is None else closed.to_pylist())
    ]
    groups = sessions_of(rows) if kind == "session" else [rows] if rows else []
    expected = [[of_rows(group) for of_rows in LISTS.values()] for group in groups]
    assert Counter(map(repr, found)) == Counter(map(repr, expected))
    operator.flush()
    assert [key for key, _ in store.scan() if not key.endswith(b"dx")] == []


def sessions_of(rows):
    """Return the rows of each session in the order of their arrival."""
    ends = []
    for time in sorted(time for _, time in rows):
        if ends and time - ends[-1] <= GAP:
            ends[-1] = time
        else:
            ends.append(time)
    return [[row for row in rows if before < row[1] <= end] for before, end in zip([-1, *ends], ends, strict=False)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inline", [2, 1_000])
@pytest.mark.parametrize("select", ["collect_list(s)", "collect_set(s)", "mode(s, true)"])
def test_large_values_fit_records_and_leave_nothing(kind, inline, select):
    store = MemoryStore()
    texts = [letter * 400_000 for letter in "abcde"] + ["f" * 2_000_000]
    for begin in range(0, len(texts), 2):
        operator = operator_of(kind, store, f"size(collect_list(s)) as n, {select} as l", inline)
        rows = rows_of([(begin, begin), (begin, begin + 1)])
        operator.process(rows.set_column(2, "s", [texts[begin : begin + 2]]))
        operator.flush()
        assert max(len(value) for _, value in store.scan()) <= RECORD_BYTES
    (held,) = operator.stored_rows()
    assert held.rows.column("n").to_pylist() == [len(texts)]
    (result,) = operator.advance_watermark(END_OF_TIME).to_pylist()
    assert result["n"] == len(texts)
    assert result["l"] == (texts[0] if select.startswith("mode") else texts)
    operator.flush()
    assert [key for key, _ in store.scan() if not key.endswith(b"dx")] == []


def test_early_results_have_all_values():
    now = 0
    early = EarlyResults(lambda: now, every=1)
    operator = operator_of("window", MemoryStore(), "collect_list(v) as l", 1, early=early)
    found = []
    for v in range(4):
        operator.process(rows_of([(v, 9 - v)]))
        now += 1
        (row,) = operator.emit_early().to_pylist()
        found.append(row["l"])
        operator.flush()
    assert found == [[0], [1, 0], [2, 1, 0], [3, 2, 1, 0]]


@settings(max_examples=20, deadline=None)
@given(batches=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=1, max_size=6))
def test_of_equally_frequent_values_the_same_is_chosen_however_they_are_kept(batches):
    found = set()
    for inline in (1, 1_000):
        operator = operator_of("window", MemoryStore(), "mode(v) as l", inline)
        for batch in batches:
            operator.process(rows_of([(v, 5) for v in batch]))
            operator.flush()
        (row,) = operator.advance_watermark(END_OF_TIME).to_pylist()
        found.add(row["l"])
    assert len(found) == 1
