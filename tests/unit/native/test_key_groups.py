"""Numbers and the order of keys against dictionaries and sorted lists."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_systems.native.key_groups import KeyGroups, order_of
from support.compilers import native

KEYS = st.binary(max_size=3) | st.sampled_from([b"common prefix", b"common prefix \0", b"common prefix 1", b"x" * 70])


@given(st.lists(st.lists(KEYS, max_size=20), max_size=5))
def test_each_key_has_one_number(batches):
    groups, numbers = KeyGroups(native()), {}
    for batch in batches:
        given_numbers = groups.number(pa.array([b"before", *batch], pa.binary())[1:])
        assert given_numbers.tolist() == [numbers.setdefault(key, len(numbers)) for key in batch]
        assert len(groups) == len(numbers)
        assert groups.keys(given_numbers).to_pylist() == batch


def test_many_keys_are_told_apart():
    groups, keys = KeyGroups(native()), [b"key %d" % number for number in range(50_000)]
    for start in range(0, len(keys), 7_000):
        groups.number(pa.array(keys[start : start + 7_000]))
    numbers = groups.number(pa.array(keys[::-1]))
    assert numbers.tolist() == list(range(len(keys)))[::-1]
    assert groups.keys(numbers).to_pylist() == keys[::-1]


def test_numbers_that_no_key_has_are_refused():
    groups = KeyGroups(native())
    numbers = groups.number(pa.array([b"a"]))
    for wrong in (numbers + 1, numbers - 1):
        with pytest.raises(ValueError, match="no key"):
            groups.keys(wrong)


@given(st.lists(KEYS, max_size=50))
def test_the_order_is_that_of_bytes_and_stable(keys):
    order = order_of(native(), pa.array([b"before", *keys], pa.binary())[1:])
    assert order.tolist() == sorted(range(len(keys)), key=keys.__getitem__)
