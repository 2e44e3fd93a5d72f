"""The order that a lambda says, against sorts of Python."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.kernels.sort_kernels import sorted_places

KIND = pa.list_(pa.list_(pa.int32()))
KEYS = st.lists(st.integers(0, 9), max_size=60)


def compared(keys):
    return [[left - right for right in keys] for left in keys]


def order(*rows):
    return sorted_places(pa.array(rows, KIND)).to_pylist()


@given(st.lists(st.none() | KEYS, max_size=4))
def test_what_agrees_is_a_stable_sort(rows):
    expected = [
        None if keys is None else [place + 1 for place in sorted(range(len(keys)), key=keys.__getitem__)]
        for keys in rows
    ]
    assert order(*(None if keys is None else compared(keys) for keys in rows)) == expected


@given(st.lists(st.lists(st.integers(-1, 1), min_size=31, max_size=31), min_size=31, max_size=31), st.integers(0, 31))
def test_few_elements_have_an_order_whatever_is_said_of_them(comparisons, size):
    places = order([row[:size] for row in comparisons[:size]])[0]
    assert sorted(places) == list(range(1, size + 1))


@given(st.integers(32, 50), st.data())
def test_many_elements_whose_comparisons_contradict_have_none(size, data):
    comparisons = compared(list(range(size)))
    one, other = data.draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=2, unique=True))
    comparisons[one][other] = data.draw(st.sampled_from([None, 0, -comparisons[one][other]]))
    assert order(comparisons) == [None]


def test_an_unknown_comparison_counts_where_it_is_needed():
    assert order([[None, 1], [1, None]], [[0, None], [None, 0]], [[None]]) == [[1, 2], None, [1]]


def test_comparisons_of_a_part_of_a_column_are_its_own():
    rows = pa.array([compared([2, 1]), None, compared([3, 1, 2]), compared([])], KIND).slice(1)
    assert sorted_places(rows).to_pylist() == [None, [2, 3, 1], []]
