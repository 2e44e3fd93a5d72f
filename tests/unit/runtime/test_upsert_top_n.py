"""The first rows of groups of rows that replace each other against a plain reading of their definition."""

import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import check_ordering
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_runtime.operators.upsert_top_n import UpsertTopN
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.tombstones import DELETED_COLUMN, DELETED_FIELD
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_systems.arrow_types import arrow_schema

ENGINE = SqlEngine()
SCHEMA = parse_schema("id int, g double, price double, name string")
COLUMNS = arrow_schema(SCHEMA)
CHANGES = pa.schema([*COLUMNS, EVENT_TIME_FIELD, DELETED_FIELD])
ORDER = check_ordering("price desc, upper(name)", ("g",), SCHEMA)

LONG = "n" * 600
"""Its sort key is longer than a key of a store."""
rows = st.tuples(
    st.sampled_from([1.0, math.nan, None]),
    st.sampled_from([None, math.nan, math.inf, -1.0, 0.0, -0.0, 2.5]),
    st.sampled_from(["a", "B", "b", None, LONG, LONG + "b", LONG + "a"]),
)
changes = st.tuples(st.integers(0, 7), st.none() | rows)
batches = st.lists(st.lists(changes, min_size=1, max_size=8), max_size=8)


def table(batch, time=0):
    dictionaries = [
        {"id": id_, **dict(zip(COLUMNS.names[1:], row or (None,) * 3, strict=True)), EVENT_TIME_COLUMN: time}
        | {DELETED_COLUMN: row is None}
        for id_, row in batch
    ]
    return pa.Table.from_pylist(dictionaries, CHANGES)


def order(id_, row):
    """Order as Spark does: nulls are the last of a descending order and the first of an ascending one, NaN is most."""
    _, price, name = row
    least = (2, 0) if price is None else (0, 0) if math.isnan(price) else (1, -price)
    return (*least, (0, "") if name is None else (1, name.upper()), id_)


def shown(value):
    """Make values comparable: NaN is one value, zeros are two."""
    return repr(value)


def first_rows(current, n):
    groups = {}
    for id_, row in sorted(current.items(), key=lambda item: order(*item)):
        groups.setdefault(shown(row[0]), []).append((id_, row))
    return {group: ordered[:n] for group, ordered in groups.items()}


def opened(environment, n, place):
    store = environment.store("top")
    return UpsertTopN(ENGINE, store, ORDER, COLUMNS, ["id"], n=n, place=place, deletes=True)


@pytest.mark.parametrize(("n", "place"), [(1, None), (3, None), (3, "place"), (2, "place")])
@settings(max_examples=60)
@given(batches=batches, restarts=st.booleans())
def test_folded_results_are_the_first_rows_of_what_is_there(n, place, batches, restarts):
    environment, current, results = MemoryEnvironment(), {}, {}
    top = opened(environment, n, place)
    for time, batch in enumerate(batches):
        if restarts:
            top.flush()
            top = opened(environment, n, place)
        changed = top.process(table(batch, time))
        for id_, row in batch:
            current.pop(id_, None)
            if row is not None:
                current[id_] = row
        for row in [] if changed is None else changed.to_pylist():
            assert row.pop(EVENT_TIME_COLUMN) == time
            key = (shown(row["g"]), row.get(place)) if place or n == 1 else row["id"]
            if row.pop(DELETED_COLUMN):
                assert results.pop(key, None) is not None
            else:
                results[key] = shown(list(row.values()))
        expected = {}
        for group, ordered in first_rows(current, n).items():
            for number, (id_, row) in enumerate(ordered, 1):
                values = [id_, *row, *([number] if place else [])]
                expected[(group, number if place else None) if place or n == 1 else id_] = shown(values)
        assert results == expected
    if not current:
        assert list(environment.store("top").scan()) == []


def test_a_row_is_emitted_only_where_something_changed():
    environment = MemoryEnvironment()
    top = opened(environment, 2, "place")
    top.process(table([(number, (1.0, float(number), "a")) for number in range(5)]))
    assert top.process(table([(1, (1.0, 1.5, "a")), (0, None)])) is None
    changed = top.process(table([(3, (1.0, 2.5, "a"))])).to_pylist()
    assert [(row["id"], row["place"], row[DELETED_COLUMN]) for row in changed] == [(3, 2, False)]
    changed = top.process(table([(4, None)])).to_pylist()
    assert [(row["id"], row["place"]) for row in changed] == [(3, 1), (2, 2)]


def test_large_rows_are_kept_in_chunks_that_a_changelog_takes():
    environment = MemoryEnvironment()
    names = [number * "n" for number in (1_200_000, 900_000, 950_000)]
    for id_, name in enumerate(names):
        top = opened(environment, 1, None)
        emitted = top.process(table([(id_, (1.0, 1.0, name))]))
        assert emitted is None if id_ == 2 else emitted.column("name").to_pylist() == [name]
    assert max(len(value) for _, value in environment.store("top").scan()) <= 900_000
    for id_ in range(3):
        top.process(table([(id_, None)]))
    assert list(environment.store("top").scan()) == []
