"""Hashes of keys are those of the Java client, natively as by numpy."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.spec.streams import KeyFormat
from streamapp_runtime.rows.partitioning import key_hashes, partition_numbers
from streamapp_systems.native.key_hashing import hash_keys
from streamapp_systems.native.library import native_library, without_native_library
from support.machine import need

KEYS = {
    pa.binary(): st.binary(max_size=20),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.float64(): st.floats(allow_nan=False),
}


@pytest.fixture(autouse=True)
def native():
    why = native_library().why_absent
    need(() if why is None else (why,))


@given(st.data(), st.sampled_from(list(KEYS)), st.integers(1, 9))
def test_hashes_and_partitions_are_those_without_the_library(data, kind, count):
    keys = pa.array(data.draw(st.lists(KEYS[kind] | st.none(), max_size=12)), kind)
    column = pa.chunked_array([keys.slice(data.draw(st.integers(0, len(keys)))), keys])
    forms = [KeyFormat.STRING, *([KeyFormat.INT] if kind == pa.int32() else [])]
    for form in forms:
        partitions = partition_numbers(column, count, form).tolist()
        hashes = key_hashes(column).tolist()
        with without_native_library():
            assert partitions == partition_numbers(column, count, form).tolist()
            assert hashes == key_hashes(column).tolist()


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 40), min_size=2, max_size=6), st.integers(0, 30))
def test_offsets_that_leave_the_data_are_refused(offsets, size):
    numbers = np.zeros(len(offsets), np.int64)
    keys = pa.Array.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(numbers), pa.py_buffer(bytes(size))]
    )
    numbers[:] = offsets  # Arrow itself refuses them
    if offsets[0] >= 0 and offsets[-1] <= size and offsets == sorted(offsets):
        assert len(hash_keys(keys)) == len(keys)
    else:
        with pytest.raises(ValueError, match="malformed: the offsets of a key are outside of its data"):
            hash_keys(keys)
