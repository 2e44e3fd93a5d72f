"""Summaries: what comes out does not depend on batches and on restarts, and is what their definitions say."""

import collections
import functools
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.kernels.frequent_items import read_items
from streamapp_runtime.kernels.hll_sketches import hll_estimate, hll_of_both, is_hll
from streamapp_runtime.kernels.kll_sketches import read_kll
from streamapp_runtime.kernels.theta_sketches import read_sketch
from streamapp_runtime.kernels.tuple_sketches import read_tuples
from streamapp_runtime.kernels.variant_kernels import parsed_variant, schema_of_variant
from streamapp_runtime.rows.row_codec import decode_row, encode_row
from streamapp_runtime.summaries import summary_of
from streamapp_systems.variants.variant_json import variant_of_json

WHOLE = st.integers(-50, 50)
BYTES = st.binary(max_size=5)


def HLL(logarithm, start, count):  # noqa: N802
    return summary_of("hll_of_values", (logarithm,)).add(None, range(start, start + count))


def ITEMS(values):  # noqa: N802
    summary = summary_of("item_sketch", ("int", 5, "item INT NOT NULL"))
    return summary.result(summary.add(None, [(value,) for value in values]) if values else None)


def TUPLES(keys):  # noqa: N802
    summary = summary_of("tuples_of_values", ("integer", "sum", 5, "int"))
    return summary.result(summary.add(None, [(key, key * 2**25) for key in keys]))


def KLL(k, values):  # noqa: N802
    return summary_of("kll_of_values", ("bigint", k)).add(None, values)


SUMMARIES = {
    ("positions_bitmap", ()): st.integers(0, 32_767),
    ("union_of_bitmaps", ()): BYTES,
    ("intersection_of_bitmaps", ()): BYTES,
    ("count_min", (0.2, 0.9, 7)): WHOLE,
    ("count_min", (0.3, 0.9, -1)): BYTES,
    ("distinct_estimate", (4,)): st.integers(-(2**63), 2**63 - 1),
    ("greatest_values", (3, 1, "int")): st.tuples(st.none() | WHOLE, st.integers(0, 4)),
    ("greatest_values", (2, 0, "double")): st.tuples(WHOLE, st.sampled_from([0.0, 1.5, math.nan])),
    ("most_frequent", ("int",)): WHOLE,
    ("most_frequent", ("string",)): st.sampled_from(["", "a", "é"]),
    ("numeric_histogram", (3, "double")): st.floats(-100, 100),
    ("theta_of_values", (4, "int")): st.integers(0, 60),
    ("theta_of_values", (4, "string")): st.text(max_size=20),
    ("quantiles", ("int", 2, 0.5, 0.1)): WHOLE,
    ("item_sketch", ("int", 5, "item INT NOT NULL")): st.tuples(st.none() | st.integers(0, 30)),
    ("item_sketch_union", ("int", 0, "item INT NOT NULL")): st.builds(ITEMS, st.lists(st.integers(0, 30))),
    ("top_items", ("string", 3, 2)): st.tuples(st.text(max_size=1)),
    ("tuples_of_values", ("double", "sum", 4, "int")): st.tuples(st.integers(0, 60), st.floats(-9, 9)),
    ("tuples_of_values", ("integer", "max", 4, "string")): st.tuples(st.text(max_size=1), WHOLE),
    ("tuple_union", ("integer", "sum", 4)): st.builds(TUPLES, st.lists(st.integers(0, 60))),
    ("tuple_intersection", ("integer", "min")): st.builds(TUPLES, st.lists(st.integers(0, 9))),
    ("hll_of_values", (4,)): st.integers(0, 60),
    ("hll_of_values", (8,)): st.text(max_size=3),
    ("hll_union", (1,)): st.builds(HLL, st.sampled_from([4, 5, 8, 10]), st.integers(0, 60), st.integers(0, 99)),
    ("kll_of_values", ("bigint", 8)): st.integers(-(2**63), 2**63 - 1),
    ("kll_of_values", ("double", 9)): st.floats(width=16),
    ("vector_sum", ()): st.lists(WHOLE, min_size=2, max_size=2) | st.just([None, 1.0]),
    ("vector_mean", ()): st.lists(WHOLE, min_size=1, max_size=2),
    ("kll_merge", ("bigint", 0)): st.builds(KLL, st.sampled_from([8, 20]), st.lists(WHOLE)),
}
TYPED = st.recursive(
    st.none() | st.booleans() | st.integers(0, 300) | st.sampled_from(["x", 0.5, 1.25, 1e300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "A", "b"]), inner, max_size=3),
    max_leaves=5,
)
SUMMARIES["type_of_variants", ()] = TYPED.map(lambda value: variant_of_json(json.dumps(value)))
IN_ANY_ORDER = {"positions_bitmap", "union_of_bitmaps", "intersection_of_bitmaps", "count_min"}
IN_ANY_ORDER |= {"distinct_estimate", "theta_of_values", "vector_sum"}


@given(st.lists(TYPED, min_size=1, max_size=8))
def test_the_type_of_variants_is_that_of_the_elements_of_an_array_of_them(values):
    summary = summary_of("type_of_variants", ())
    found = summary.result(summary.add(None, [variant_of_json(json.dumps(value)) for value in values]))
    [expected] = schema_of_variant(parsed_variant(pa.array([json.dumps(values)]))).to_pylist()
    assert f"ARRAY<{found}>" == expected


def test_a_type_of_variants_that_is_too_much_stays_null():
    summary = summary_of("type_of_variants", ())
    wide = [variant_of_json(json.dumps({f"k{start + n}": 1 for n in range(6_000)})) for start in (0, 6_000)]
    one, other = (summary.add(None, [value]) for value in wide)
    assert summary.result(one).startswith("OBJECT<k0: BIGINT, ")
    for state in (summary.add(None, wide), summary.merge(one, other), summary.merge(stored(one), stored(other))):
        assert summary.result(stored(state)) is None
        assert summary.result(summary.add(stored(state), wide)) is None
        assert summary.result(summary.merge(stored(state), one)) is None
    assert summary.result(None) == "VOID"


def stored(state):
    return decode_row(encode_row([state]))[0]


@pytest.mark.parametrize("call", SUMMARIES, ids=str)
@given(data=st.data())
def test_batches_and_restarts_do_not_matter(call, data):
    batches = data.draw(st.lists(st.lists(SUMMARIES[call], min_size=1, max_size=30), min_size=1, max_size=6))
    summary, state = summary_of(*call), None
    for batch in batches:
        state = stored(summary.add(state, batch))
    at_once = summary.add(None, [value for batch in batches for value in batch])
    assert summary.result(state) == summary.result(stored(at_once))


@pytest.mark.parametrize("call", [call for call in SUMMARIES if call[0] in IN_ANY_ORDER], ids=str)
@given(data=st.data())
def test_sums_and_unions_do_not_depend_on_the_order(call, data):
    values = data.draw(st.lists(SUMMARIES[call], min_size=2, max_size=40))
    cut = data.draw(st.integers(1, len(values) - 1))
    shuffled = data.draw(st.permutations(values))
    summary = summary_of(*call)
    parts = [stored(summary.add(None, part)) for part in (shuffled[:cut], shuffled[cut:])]
    assert summary.result(summary.merge(*parts)) == summary.result(summary.add(None, values))


@pytest.mark.parametrize("call", [call for call in SUMMARIES if call[0] not in IN_ANY_ORDER], ids=str)
@given(data=st.data())
def test_two_groups_become_one(call, data):
    parts = data.draw(st.lists(st.lists(SUMMARIES[call], min_size=1, max_size=20), min_size=2, max_size=2))
    summary = summary_of(*call)
    merged = summary.result(summary.merge(*(stored(summary.add(None, part)) for part in parts)))
    assert len(encode_row([merged])) > 0
    if call[0] == "numeric_histogram":
        assert sum(height for _, height in merged) == pytest.approx(len(parts[0]) + len(parts[1]))


def test_a_position_out_of_the_bitmap_leaves_null_for_good():
    summary = summary_of("positions_bitmap", ())
    state = stored(summary.add(summary.add(None, [1]), [32_768]))
    assert summary.result(summary.add(state, [1])) is None
    assert summary.result(summary.merge(summary.add(None, [1]), state)) is None


@pytest.mark.parametrize("accuracy", [1, 7, 100])
def test_percentiles_of_many_values_are_as_near_as_the_accuracy_says(accuracy):
    values = [at * 7919 % 130_000 for at in range(130_000)]
    summary, state = summary_of("quantiles", ("int", accuracy, 0.25, 0.5, 0.9)), None
    for at in range(0, len(values), 1_700):
        state = stored(summary.add(state, values[at : at + 1_700]))
    assert len(state[0]) < 10_000
    for fraction, found in zip((0.25, 0.5, 0.9), summary.result(state), strict=True):
        assert abs(found - fraction * len(values)) <= len(values) / accuracy + 1


def test_an_estimate_is_near_the_number_of_values():
    summary = summary_of("distinct_estimate", (14,))
    hashes = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 50_000).tolist()
    assert summary.result(summary.add(None, hashes)) == pytest.approx(50_000, rel=0.05)


@given(bytes_=st.binary(max_size=40) | st.binary(max_size=30).map(lambda rest: b"\1\4\3\x3e\1\x1a\xcc\x93" + rest))
def test_bytes_that_are_no_sketch_give_null(bytes_):
    sketch = read_sketch(bytes_)
    for name, parameters in (("theta_union", (4,)), ("theta_intersection", ())):
        summary = summary_of(name, parameters)
        state = stored(summary.add(summary.add(None, [bytes_]), [bytes_]))
        assert (summary.result(summary.merge(state, state)) is None) == (sketch is None)


@given(values=st.lists(st.integers(), min_size=1, max_size=60).map(lambda values: [value % 2**63 for value in values]))
def test_a_sketch_is_read_as_it_was_written(values):
    state = stored(summary_of("theta_of_values", (4, "bigint")).add(None, values))
    written = summary_of("theta_union", (4,)).result(state)
    assert read_sketch(written).to_bytes() == written
    assert read_sketch(written).estimate >= min(len(set(values)), 16)


@given(
    sketch=st.builds(HLL, st.sampled_from([4, 8, 9]), st.just(0), st.sampled_from([0, 1, 7, 8, 40, 300])),
    changed=st.dictionaries(st.integers(0, 400), st.integers(0, 255), max_size=3),
    cut=st.integers(0, 600),
)
def test_what_is_no_sketch_of_registers_gives_null(sketch, changed, cut):
    bytes_ = bytes(changed.get(at, byte) for at, byte in enumerate(sketch))[:cut]
    [estimate] = hll_estimate(pa.array([bytes_])).to_pylist()
    assert (estimate is None) != is_hll(bytes_)
    [both] = hll_of_both(*(pa.array([one]) for one in (bytes_, sketch, True))).to_pylist()
    assert (both is None) != is_hll(bytes_)
    summary = summary_of("hll_union", (1,))
    state = stored(summary.add(summary.add(None, [sketch]), [bytes_]))
    assert (summary.result(summary.merge(state, state)) is None) != is_hll(bytes_)


@given(
    sketch=st.builds(KLL, st.sampled_from([8, 20]), st.lists(WHOLE, max_size=200)),
    changed=st.dictionaries(st.integers(0, 60), st.integers(0, 255), max_size=3),
    cut=st.integers(0, 2000),
)
def test_what_is_no_sketch_of_quantiles_gives_null(sketch, changed, cut):
    bytes_ = bytes(changed.get(at, byte) for at, byte in enumerate(sketch))[:cut]
    read = read_kll("bigint", bytes_)
    summary = summary_of("kll_merge", ("bigint", 0))
    state = stored(summary.add(summary.add(None, [sketch]), [bytes_]))
    assert (summary.result(summary.merge(state, state)) is None) == (read is None)
    if read is not None:
        assert read_kll("bigint", read.to_bytes()).count == read.count
        assert not read.count or read.least <= read.quantile(0.5) <= read.greatest


@pytest.mark.parametrize("order", ["up", "down", "mixed"])
@pytest.mark.parametrize("parts", [1, 7])
def test_ranks_of_many_values_are_as_near_as_the_accuracy_says(order, parts):
    values = [*range(30_000)]
    if order == "mixed":
        values = [value * 7919 % 30_000 for value in values]
    summary = summary_of("kll_of_values", ("bigint", 200))
    ordered = values[::-1] if order == "down" else values
    states = [stored(summary.add(None, ordered[part::parts])) for part in range(parts)]
    sketch = read_kll("bigint", summary.result(functools.reduce(summary.merge, states)))
    assert sketch.count == 30_000
    assert sketch.size < 700
    for value in range(0, 30_000, 1000):
        assert abs(sketch.rank(value) - value / 30_000) < 0.0133
        assert abs(sketch.quantile(value / 30_000) - value) < 0.0133 * 30_000


@given(
    values=st.lists(st.integers(0, 30), max_size=60),
    changed=st.dictionaries(st.integers(0, 60), st.integers(0, 255), max_size=3),
    cut=st.integers(0, 300),
)
def test_what_is_no_sketch_of_items_gives_null(values, changed, cut):
    sketch, *rest = ITEMS(values)
    bytes_ = bytes(changed.get(at, byte) for at, byte in enumerate(sketch))[:cut]
    read = read_items("int", bytes_)
    summary = summary_of("item_sketch_union", ("int", 9, "item INT NOT NULL"))
    state = stored(summary.add(summary.add(None, [(sketch, *rest)]), [(bytes_, *rest)]))
    assert (summary.result(summary.merge(state, stored(state))) is None) == (read is None)


@given(st.lists(st.none() | st.integers(0, 40), min_size=1, max_size=300))
def test_no_item_is_counted_too_often_and_none_that_is_frequent_enough_is_lost(values):
    summary = summary_of("top_items", ("int", 9, 9))
    state = summary.add(None, [(value,) for value in values])
    counts = collections.Counter(values)
    sketch = read_items("int", summary_of("item_sketch", ("int", 9, "")).result(state)[0])
    found = dict(summary.result(state))
    for item, count in found.items():
        assert counts[item] <= count <= counts[item] + sketch.offset
    if not sketch.offset:
        assert sorted(found.values()) == sorted(counts.values())[-9:]


@given(
    sketch=st.builds(TUPLES, st.lists(st.integers(0, 60), max_size=50)),
    changed=st.dictionaries(st.integers(0, 60), st.integers(0, 255), max_size=3),
    cut=st.integers(0, 600),
)
def test_what_is_no_tuple_sketch_gives_null(sketch, changed, cut):
    bytes_ = bytes(changed.get(at, byte) for at, byte in enumerate(sketch))[:cut]
    read = read_tuples("integer", bytes_)
    for call in (("tuple_union", ("integer", "sum", 4)), ("tuple_intersection", ("integer", "sum"))):
        summary = summary_of(*call)
        state = stored(summary.add(summary.add(None, [sketch]), [bytes_]))
        assert (summary.result(summary.merge(state, state)) is None) == (read is None)
