"""Samples of keys: two of them have in common what can be expected of so few."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.rows.file_key_sample import FileKeySample
from streamapp_runtime.rows.partitioning import key_hashes

KEYS = st.lists(st.one_of(st.none(), st.integers(0, 200)), max_size=60)


def column(*batches):
    return pa.chunked_array([pa.array(batch, pa.int64()) for batch in batches], pa.int64())


def lowest(keys, limit):
    distinct = sorted({key for key in keys if key is not None})
    hashes = key_hashes(column(distinct)).tolist()
    return {str(key) for _, key in sorted(zip(hashes, distinct, strict=True))[:limit]}


@given(st.lists(KEYS, max_size=5), st.integers(1, 20))
def test_a_sample_has_the_keys_with_the_lowest_hashes_whatever_the_batches(batches, limit):
    sample = FileKeySample(limit)
    for batch in batches:
        sample.add(column(batch[:7], batch[7:]), 3)
    assert sample.files == dict.fromkeys(lowest([key for batch in batches for key in batch], limit), 3)


@given(KEYS, KEYS, st.integers(1, 20))
def test_samples_of_two_processors_share_the_lowest_keys_that_both_have(mine, theirs, limit):
    samples = FileKeySample(limit), FileKeySample(limit)
    for file, (sample, keys) in enumerate(zip(samples, (mine, theirs), strict=True)):
        sample.add(column(keys), file)
    found = samples[0].files.keys() & samples[1].files.keys()
    assert found == lowest(mine, limit) & lowest(theirs, limit)


def test_a_key_keeps_the_file_where_it_was_found_first():
    sample = FileKeySample(10)
    sample.add(column([1, 2]), 0)
    sample.add(column([2, 3]), 1)
    assert sample.files == {"1": 0, "2": 0, "3": 1}
