"""Arrays as sets, against lists of Python."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.kernels.array_kernels import common_places, first_places, missing_places, overlap

_FLAGS = st.none() | st.lists(st.none() | st.booleans(), max_size=3)
_POINTS = st.fixed_dictionaries({"a": st.none() | st.integers(0, 1), "b": _FLAGS})
ELEMENTS = {
    pa.int32(): st.integers(-2, 2),
    pa.string(): st.text("ab", max_size=2),
    pa.binary(): st.binary(max_size=1),
    pa.float64(): st.sampled_from([0.0, 1.5, float("inf")]),
    pa.float32(): st.sampled_from([0.0, 1.5]),
    pa.bool_(): st.booleans(),
    pa.list_(pa.string()): st.lists(st.none() | st.text("ab", max_size=1), max_size=3),
    pa.struct([("a", pa.int8()), ("b", pa.list_(pa.bool_()))]): _POINTS,
    pa.list_(pa.struct([("a", pa.int8()), ("b", pa.list_(pa.bool_()))])): st.lists(st.none() | _POINTS, max_size=2),
}  # fmt: skip


@st.composite
def pairs_of_columns(draw):
    kind = draw(st.sampled_from(list(ELEMENTS)))
    array = st.none() | st.lists(st.none() | ELEMENTS[kind], max_size=6)
    rows = draw(st.lists(st.tuples(array, array), max_size=6))
    skipped = draw(st.integers(0, 2))
    return [
        (pa.array([row[side] for row in rows], pa.list_(kind)).slice(skipped), [row[side] for row in rows[skipped:]])
        for side in (0, 1)
    ]


def places(values):
    return [place for place, value in enumerate(values, 1) if value not in values[: place - 1]]


@given(pairs_of_columns())
def test_places_are_those_that_a_search_finds(columns):
    (arrays, rows), (others, more) = columns
    firsts = [None if row is None else places(row) for row in rows]
    assert first_places(arrays).to_pylist() == firsts

    def chosen(there):
        return [
            None if row is None or other is None else [place for place in first if (row[place - 1] in other) == there]
            for row, other, first in zip(rows, more, firsts, strict=True)
        ]

    assert common_places(arrays, others).to_pylist() == chosen(True)
    assert missing_places(arrays, others).to_pylist() == chosen(False)


@given(pairs_of_columns())
def test_arrays_overlap_in_a_value_or_perhaps_in_a_null(columns):
    (arrays, rows), (others, more) = columns

    def overlaps(row, other):
        if row is None or other is None:
            return None
        if any(value is not None and value in other for value in row):
            return True
        return None if row and other and None in [*row, *other] else False

    assert overlap(arrays, others).to_pylist() == list(map(overlaps, rows, more))


@pytest.mark.parametrize("nested", [False, True])
def test_long_arrays_of_one_row_are_no_pairs_of_elements(nested):
    """A search of each element among all would take hours."""
    values = [[number] for number in range(100_000)] if nested else list(range(100_000))
    column = pa.array([values])
    assert first_places(column)[0].values.to_pylist() == list(range(1, 100_001))
    assert len(common_places(column, column)[0]) == 100_000
    assert len(missing_places(column, column)[0]) == 0
    assert overlap(column, column).to_pylist() == [True]
