"""The first rows of groups and of windows against a plain reading of their definition, over batches and restarts."""

import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.expressions import check_ordering
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.operators.top_n import TopN
from streamapp_runtime.operators.window_top_n import WindowTopN
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment, MemoryStore
from streamapp_systems.arrow_types import arrow_schema

ENGINE = SqlEngine()
SCHEMA = parse_schema("k string, price double, name string, tags array<string>")
COLUMNS = arrow_schema(SCHEMA)
ORDER = check_ordering("price desc, upper(name)", ("k",), SCHEMA)
N = 3

prices = st.sampled_from([None, math.nan, math.inf, -1.0, 0.0, -0.0, 2.5, 7.0])
tags = st.one_of(st.none(), st.lists(st.sampled_from(["t", "u"]), max_size=2))
rows = st.tuples(st.sampled_from(["x", "y", None]), prices, st.sampled_from(["a", "B", None]), tags)
batches = st.lists(st.lists(st.tuples(rows, st.integers(0, 39)), min_size=1, max_size=6), max_size=8)


def table(batch):
    columns = [list(column) for column in zip(*(row for row, _ in batch), strict=True)]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, COLUMNS, strict=True)]
    times = pa.array([time for _, time in batch], pa.int64())
    return pa.Table.from_arrays([*arrays, times], schema=COLUMNS.append(EVENT_TIME_FIELD))


def order(row):
    """Order as Spark does: nulls are the last of a descending order and the first of an ascending one, NaN is most."""
    _, price, name, _ = row
    least = (2, 0) if price is None else (0, 0) if math.isnan(price) else (1, -price)
    return *least, (0, "") if name is None else (1, name.upper())


def shown(values):
    """Make values comparable: NaN is one value, zeros are one."""
    return repr([value + 0.0 if isinstance(value, float) else value for value in values])


@settings(max_examples=150)
@given(batches=batches, restarts=st.booleans())
def test_folded_by_group_and_place_results_are_the_first_rows(batches, restarts):
    environment, places, seen = MemoryEnvironment(), {}, []
    for batch in batches:
        if restarts or not seen:
            top = TopN(ENGINE, environment.store("top"), ORDER, COLUMNS, n=N, place="place")
        changed = top.process(table(batch))
        top.flush()
        seen += [row for row, _ in batch]
        emitted = [] if changed is None else changed.to_pylist()
        assert changed is None or changed.schema.names == [*COLUMNS.names, "place", EVENT_TIME_COLUMN]
        assert len({(row["k"], row["place"]) for row in emitted}) == len(emitted)
        for row in emitted:
            *values, place, time = row.values()
            assert time in {time for other, time in batch if other[0] == row["k"]}
            places[row["k"], place] = shown(values)
        for key in ("x", "y", None):
            group = sorted(order(row) for row in seen if row[0] == key)[:N]
            held = [places[key, place] for place in range(1, len(group) + 1)]
            assert (key, len(group) + 1) not in places
            of_key = {shown(row): order(row) for row in seen if row[0] == key}
            assert [of_key[one] for one in held] == group


@settings(max_examples=100)
@given(batches=batches, seed=st.randoms(use_true_random=False))
def test_equal_rows_have_one_order_whatever_came_first(batches, seed):
    def last(batches):
        top = TopN(ENGINE, MemoryEnvironment().store("top"), ORDER, COLUMNS, n=1, place=None)
        results = {}
        for batch in batches:
            changed = top.process(table(batch))
            results.update({row["k"]: shown(list(row.values())[:-1]) for row in changed.to_pylist()} if changed else {})
        return results

    shuffled = [row for batch in batches for row in batch]
    seed.shuffle(shuffled)
    assert last([[row] for row in shuffled]) == last(batches)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("step", [10, 5])
@settings(max_examples=60)
@given(batches=batches, restarts=st.booleans())
def test_windows_emit_their_first_rows_once_at_their_end(ties, step, batches, restarts):
    length, environment = 10, MemoryEnvironment()

    def opened():
        options = {"length": length, "step": step, "n": 2, "ties": ties, "place": "place", "limit": 4}
        return WindowTopN(ENGINE, environment.store("top"), ORDER, COLUMNS, **options)

    window, watermark, windows, emitted = opened(), -100, {}, Counter()

    def advance(to):
        while (result := window.advance_watermark(to)) is not None or window.has_pending_results:
            for row in result.to_pylist():
                *values, start, end, place, time = row.values()
                start, end = (int(bound.timestamp() * 1000) for bound in (start, end))
                assert (end - start, time) == (length, end - 1)
                emitted[end, row["k"], shown(values), place] += 1

    for number, batch in enumerate(batches):
        assert window.process(table(batch)) is None
        for row, time in batch:
            last = time - time % step + length
            for end in range(last - length + step, last + 1, step):
                if end > watermark and time < end:
                    windows.setdefault((end, row[0]), []).append(row)
        window.flush()
        if restarts:
            window = opened()
            window.resume(watermark)
        watermark = 7 * number
        advance(watermark)
    advance(END_OF_TIME)
    window.flush()
    expected = Counter()
    for (end, key), rows in windows.items():
        ordered = sorted(rows, key=order)
        if ties:
            first = [row for row in ordered if sum(order(other) < order(row) for other in ordered) < 2]
            for row in first:
                expected[end, key, shown(row), 1 + sum(order(other) < order(row) for other in ordered)] += 1
        else:
            for place, row in enumerate(ordered[:2], 1):
                expected[end, key, order(row), place] += 1
    of_row = {shown(row): order(row) for batch in batches for row, _ in batch}
    found = emitted if ties else Counter({(e, k, of_row[r], p): n for (e, k, r, p), n in emitted.items()})
    assert found == expected
    assert list(environment.store("top").scan()) == []


def test_large_rows_are_kept_in_chunks_that_a_changelog_takes():
    environment = MemoryEnvironment()
    names = [number * "n" for number in (1_200_000, 900_000, 950_000)]
    for name in names:
        window = WindowTopN(
            ENGINE, environment.store("w"), ORDER, COLUMNS, length=10, step=10, n=3, ties=False, place=None
        )
        window.process(table([(("x", 1.0, name, None), 5)]))
        window.flush()
    assert max(len(value) for _, value in environment.store("w").scan()) <= 900_000
    window = WindowTopN(ENGINE, environment.store("w"), ORDER, COLUMNS, length=10, step=10, n=3, ties=False, place=None)
    closed = window.advance_watermark(END_OF_TIME)
    assert sorted(map(len, closed.column("name").to_pylist())) == sorted(map(len, names))
    window.flush()
    assert list(environment.store("w").scan()) == []


class CountedReads(MemoryStore):
    """Counts the keys that are looked up."""

    def __init__(self):
        super().__init__()
        self.reads = 0

    def get(self, key):
        self.reads += 1
        return super().get(key)


@pytest.mark.parametrize(("n", "held"), [(1, True), (1_000, False)])
def test_groups_of_many_rows_are_not_all_kept_in_memory(n, held):
    """As many groups as are held with one row each would be 200 million rows with a thousand."""
    store, batch = CountedReads(), table([((f"{number}", 1.0, "a", None), 0) for number in range(250)])
    top = TopN(ENGINE, store, ORDER, COLUMNS, n=n, place="place")
    window = WindowTopN(ENGINE, store, ORDER, COLUMNS, length=10, step=10, n=n, ties=False, place=None)
    for operator in (top, window):
        operator.process(batch)
        operator.flush()
        before = store.reads
        operator.process(batch)
        assert (store.reads == before) is held
