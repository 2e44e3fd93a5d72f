"""Duplicates against a plain reading of their definition, over batches, watermarks and restarts."""

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.groups import Keep
from streamapp_runtime.operators.dedup import Dedup
from streamapp_runtime.operators.dedup_within import DedupWithin
from streamapp_runtime.state.memory_store import MemoryEnvironment

KEY = pa.schema([("k", pa.string()), ("f", pa.float64())])
WITHIN = 10

keys = st.tuples(st.sampled_from(["x", "y", None]), st.sampled_from([0.0, -0.0, 1.5, None]))
times = st.one_of(st.none(), st.integers(-30, 60))
batches = st.lists(st.lists(st.tuples(keys, times), min_size=1, max_size=6), max_size=10)


def table(rows):
    return pa.table(
        {
            "k": pa.array([key[0] for key, _, _ in rows], pa.string()),
            "f": pa.array([key[1] for key, _, _ in rows], pa.float64()),
            "n": pa.array([number for _, number, _ in rows], pa.int64()),
            EVENT_TIME_COLUMN: pa.array([time for _, _, time in rows], pa.int64()),
        }
    )


def numbered(batches):
    number = 0
    for batch in batches:
        yield [(key, number + index, time) for index, (key, time) in enumerate(batch)]
        number += len(batch)


def numbers(result):
    return [] if result is None else result.column("n").to_pylist()


@settings(max_examples=150)
@given(batches=batches, restarts=st.booleans())
def test_the_first_row_of_a_key_passes_and_no_other(batches, restarts):
    environment, seen = MemoryEnvironment(), set()
    dedup = Dedup(environment.store("d"), KEY, Keep.FIRST)
    for batch in numbered(batches):
        if restarts:
            dedup.flush()
            dedup = Dedup(environment.store("d"), KEY, Keep.FIRST)
        expected = []
        for key, number, _ in batch:
            expected += [] if key in seen else [number]
            seen.add(key)
        assert numbers(dedup.process(table(batch))) == expected


@settings(max_examples=150)
@given(batches=batches, restarts=st.booleans())
def test_the_last_result_of_a_key_is_its_latest_row(batches, restarts):
    environment, rows, results = MemoryEnvironment(), [], {}
    dedup = Dedup(environment.store("d"), KEY, Keep.LAST)
    for batch in numbered(batches):
        if restarts:
            dedup.flush()
            dedup = Dedup(environment.store("d"), KEY, Keep.LAST)
        rows += batch
        passed = numbers(dedup.process(table(batch)))
        assert len({rows[number][0] for number in passed}) == len(passed)
        results.update({rows[number][0]: number for number in passed})
        latest = {}
        for key, number, time in rows:
            age = -(10**9) if time is None else time
            if key not in latest or latest[key][0] <= age:
                latest[key] = age, number
        assert results == {key: number for key, (_, number) in latest.items()}


@settings(max_examples=150)
@given(batches=batches, watermarks=st.lists(st.integers(-40, 70), min_size=10, max_size=10), restarts=st.booleans())
def test_a_row_passes_unless_one_of_its_key_passed_near_it(batches, watermarks, restarts):
    environment, passed, watermark = MemoryEnvironment(), [], None
    dedup = DedupWithin(environment.store("d"), KEY, WITHIN)
    dropped = {"late": 0, "undated": 0}
    for batch, later in zip(numbered(batches), watermarks, strict=False):
        expected = []
        for key, number, time in batch:
            if time is None or (watermark is not None and time < watermark):
                dropped["undated" if time is None else "late"] += 1
            elif not any(key == other and abs(time - at) <= WITHIN for other, at in passed):
                passed.append((key, time))
                expected.append(number)
        assert numbers(dedup.process(table(batch))) == expected
        if watermark is None or later > watermark:
            watermark = later
            assert dedup.advance_watermark(watermark) is None
        if restarts:
            counted = dedup.counters()
            dropped = {reason: count - counted[reason] for reason, count in dropped.items()}
            dedup = DedupWithin(environment.store("d"), KEY, WITHIN)
            if watermark is not None:
                dedup.resume(watermark)
    assert dedup.counters() == dropped
    dedup.advance_watermark(END_OF_TIME - 1)
    assert list(environment.store("d").scan()) == []
