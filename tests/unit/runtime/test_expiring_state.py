"""State that ends by event time against a plain reading of its definition, whatever comes when, over restarts."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import check_aggregate, check_ordering
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_core.spec.groups import Keep
from streamapp_runtime.operators.dedup import Dedup
from streamapp_runtime.operators.expiring_states import ExpiringStates
from streamapp_runtime.operators.kept_rows import KeptRows
from streamapp_runtime.operators.regular_join import RegularJoin
from streamapp_runtime.operators.retracting_aggregate import RetractingAggregate
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.operators.top_n import TopN
from streamapp_runtime.rows.event_time_column import EVENT_TIME_FIELD
from streamapp_runtime.rows.tombstones import DELETED_COLUMN
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment, MemoryStore

TTL = 200
KEY = pa.schema([("k", pa.string())])
COLUMNS = parse_schema("k string, n bigint")
ARROW = pa.schema([("k", pa.string()), ("n", pa.int64())])
ENGINE = SqlEngine()
PLACES = 3

keys = st.sampled_from(["x", "y", "z", None])
times = st.one_of(st.integers(0, 1_500), st.integers(0, 1_500), st.integers(0, 1_500), st.none())
batches = st.lists(st.tuples(keys, times), min_size=1, max_size=6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), batches),
        st.tuples(st.just("others"), batches),
        st.tuples(st.just("watermark"), st.integers(0, 600)),
        st.tuples(st.sampled_from(["flush", "restart"]), st.none()),
    ),
    max_size=30,
)


def table(rows):
    schema = ARROW.append(EVENT_TIME_FIELD)
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def plain(result):
    return [] if result is None else [tuple(row.values()) for row in result.to_pylist()]


class Alive:
    """The definition: what has not ended at a watermark, and what comes too late."""

    def __init__(self):
        self.watermark = -(10**9)
        self.dropped = Counter(late=0, undated=0)

    def usable(self, rows):
        for _, _, time in rows:
            self.dropped["undated"] += time is None
            self.dropped["late"] += time is not None and self.ended(time)
        return [row for row in rows if row[2] is not None and not self.ended(row[2])]

    def ended(self, time):
        return self.watermark > time + TTL


class Groups(Alive):
    """All rows of each key since its beginning."""

    def __init__(self):
        super().__init__()
        self.rows = {}

    def take(self, batch):
        """Add a batch; return for each of its keys the rows before it and those of the batch."""
        found = {}
        for row in self.usable(batch):
            known = self.rows.get(row[0], [])
            if row[0] not in found:
                forgotten = bool(known) and self.ended(max(time for _, _, time in known))
                found[row[0]] = ([] if forgotten else known, [])
            found[row[0]][1].append(row)
        self.rows.update({key: before + added for key, (before, added) in found.items()})
        return found


def first_rows(groups):
    return {added[0] for before, added in groups.values() if not before}


def last_rows(groups):
    passed = set()
    for before, added in groups.values():
        _, newest = max((time, place) for place, (_, _, time) in enumerate(added))
        if all(time <= added[newest][2] for _, _, time in before):
            passed.add(added[newest])
    return passed


def totals(groups):
    joined = {key: before + added for key, (before, added) in groups.items()}
    return {
        (key, sum(n for _, n, _ in rows), len({n % 5 for _, n, _ in rows}), max(time for _, _, time in rows))
        for key, rows in joined.items()
    }


def aggregate(store):
    select = "sum(n) as n, count(distinct n % 5) as kinds"
    return Aggregate(ENGINE, store, check_aggregate(select, ["k"], COLUMNS), TTL, inline=2)


def run(build, steps, check):
    """Run an operator of groups through steps, and `check` what each batch gives by the definition."""
    environment, model, number = MemoryEnvironment(), Groups(), 0
    operator, dropped = build(environment.store("s")), Counter()
    for step, argument in steps:
        if step == "watermark":
            model.watermark = max(model.watermark, 0) + argument
            assert operator.advance_watermark(model.watermark) is None
        elif step in ("rows", "others"):
            batch = [(key, number + place, time) for place, (key, time) in enumerate(argument)]
            number += len(batch)
            check(operator.process(table(batch)), model.take(batch))
        else:
            operator.flush()
            if step == "restart":
                dropped += Counter(operator.counters())
                operator = build(environment.store("s"))
                operator.resume(model.watermark)
    assert dropped + Counter(operator.counters()) == +model.dropped
    operator.flush()
    operator.advance_watermark(10**6)
    assert [key for key, _ in environment.store("s").scan() if key != b"dx"] == []


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda store: Dedup(store, KEY, Keep.FIRST, TTL), first_rows),
        (lambda store: Dedup(store, KEY, Keep.LAST, TTL), last_rows),
        (aggregate, totals),
    ],
    ids=["first", "last", "aggregate"],
)
def test_a_key_starts_again_once_the_watermark_has_left_its_last_row(build, expected):
    @settings(max_examples=60)
    @given(steps=steps)
    def check(steps):
        def emitted(result, groups):
            assert set(plain(result)) == expected(groups)

        run(build, steps, emitted)

    check()


@settings(max_examples=60)
@given(steps=steps)
def test_no_place_of_a_group_that_was_forgotten_stays_beside_the_new_ones(steps):
    ordering = check_ordering("n desc", ["k"], COLUMNS)
    shown, expected = {}, {}

    def emitted(result, groups):
        for row in [] if result is None else result.to_pylist():
            if row[DELETED_COLUMN]:
                shown.pop((row["k"], row["place"]), None)
            else:
                shown[row["k"], row["place"]] = row["n"]
        for key, (before, added) in groups.items():
            best = sorted((n for _, n, _ in before + added), reverse=True)[:PLACES]
            for place in range(1, PLACES + 1):
                expected.pop((key, place), None)
            expected.update({(key, place): n for place, n in enumerate(best, 1)})
        assert shown == expected

    run(
        lambda store: TopN(ENGINE, store, ordering, ARROW, n=PLACES, place="place", ttl=TTL),
        steps,
        emitted,
    )


@settings(max_examples=60)
@given(steps=steps)
def test_a_key_that_starts_again_counts_once_behind_it(steps):
    columns = parse_schema("k string, n bigint, kinds bigint")
    behind = check_aggregate("count(*) as keys, sum(n) as n, count(distinct n) as different", [], columns)
    retracting, newest = RetractingAggregate(ENGINE, MemoryStore(), behind, ["k"], inline=2), {}

    def emitted(result, groups):
        newest.update({key: n for key, n, _, _ in totals(groups)})
        if result is not None:
            (row,) = retracting.process(result).to_pylist()
            assert (row["keys"], row["n"], row["different"]) == (
                len(newest),
                sum(newest.values()),
                len(set(newest.values())),
            )

    run(aggregate, steps, emitted)


@settings(max_examples=60)
@given(steps=steps)
def test_a_row_matches_until_the_watermark_has_left_it(steps):
    environment, model, number = MemoryEnvironment(), Alive(), 0
    right = pa.schema([("k", pa.string()), ("m", pa.int64())])

    def build():
        return RegularJoin(environment.store("j"), keys=(["k"], ["k"]), schemas=(ARROW, right), ttl=TTL)

    join, dropped = build(), Counter()
    kept = {"rows": [], "others": []}
    for step, argument in steps:
        if step == "watermark":
            model.watermark = max(model.watermark, 0) + argument
            assert join.advance_watermark(model.watermark) is None
        elif step == "rows":
            batch = [(key, number + place, time) for place, (key, time) in enumerate(argument)]
            number += len(batch)
            usable = model.usable(batch)
            kept[step] += usable
            assert Counter(plain(join.process_left(table(batch)))) == pairs(usable, kept["others"], model)
        elif step == "others":
            batch = [(key, number + place, time) for place, (key, time) in enumerate(argument)]
            number += len(batch)
            usable = model.usable(batch)
            kept[step] += usable
            rows = table(batch).rename_columns(["k", "m", EVENT_TIME_COLUMN])
            assert Counter(plain(join.process_right(rows))) == pairs(kept["rows"], usable, model)
        else:
            join.flush()
            if step == "restart":
                dropped += Counter(join.counters())
                join = build()
                join.resume(model.watermark)
    assert dropped + Counter(join.counters()) == +model.dropped
    join.flush()
    join.advance_watermark(10**6)
    assert list(environment.store("j").scan()) == []


def pairs(left, right, alive):
    return Counter(
        (key, n, m, max(time, other_time))
        for key, n, time in left
        for other, m, other_time in right
        if key is not None and key == other and not alive.ended(time) and not alive.ended(other_time)
    )


def test_a_watermark_examines_some_keys_and_the_next_one_goes_on():
    store = MemoryEnvironment().store("s")
    states = ExpiringStates(store, TTL, examined_at_once=10)
    names = [b"%03d" % number for number in range(35)]
    states.get_all(names)
    states.put_all(names, [[number] for number in range(35)])
    states.flush()
    left = []
    for earliest in range(1_000, 1_004):
        states.expire(earliest)
        assert states.get_all(names) == [None] * len(names)
        left.append(len(list(store.scan(b"k", b"l"))))
    assert left == [25, 15, 5, 0]


def test_a_key_with_ever_newer_rows_moves_once_in_a_ttl():
    store = MemoryEnvironment().store("s")
    states = ExpiringStates(store, TTL)
    entries = set()
    for time in range(0, 10 * TTL, 5):
        states.get_all([b"x"])
        states.put_all([b"x"], [[time]])
        states.expire(time - TTL)
        entries |= {key for key, _ in store.scan(b"t", b"u")}
        assert len(list(store.scan(b"t", b"u"))) == 1
    assert len(entries) <= 11


def test_a_block_between_others_ends_and_its_rows_are_found_no_more():
    store = MemoryEnvironment().store("j")
    kept = KeptRows(store, b"l", ["k"])

    def add(number, time):
        kept.add(table([("x", number, time)]))
        kept.flush()

    def found(rows):
        probe = pa.chunked_array([["x"]])
        return sorted(n for _, part in rows.candidates(probe) for n in part.column("n").to_pylist())

    for number, time in enumerate([9_000, 5, 7, 9_000, 6, 9_000]):
        add(number, time)
    kept.expire(100)
    assert found(kept) == [0, 3, 5]
    for number in range(6, 30):
        add(number, 9_000)
    assert found(kept) == [0, 3, *range(5, 30)]
    kept.flush()
    again = KeptRows(store, b"l", ["k"])
    again.resume(100)
    assert found(again) == [0, 3, *range(5, 30)]
