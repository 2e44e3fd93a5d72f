"""Keys in wrong partitions are found, all of them and no others, whatever the counts and encodings."""

import struct
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.plan.partition_claims import PartitionClaim
from streamapp_core.spec.job import OnBrokenClaim
from streamapp_core.spec.streams import KeyFormat
from streamapp_core.ssp import Ssp
from streamapp_core.tasks import MODULO
from streamapp_runtime.errors import ClaimBroken
from streamapp_runtime.processor.claim_checker import ClaimChecker
from streamapp_runtime.rows.misplaced_keys import MisplacedKey, keys_of_other_files, misplaced_keys
from support.hashed_keys import partition_of

ENCODINGS = {
    KeyFormat.STRING: (pa.int64(), 63, lambda key: str(key).encode()),
    KeyFormat.INT: (pa.int32(), 31, lambda key: struct.pack(">i", key)),
    KeyFormat.LONG: (pa.int64(), 63, lambda key: struct.pack(">q", key)),
}


def claim(initial=4, now=4, form=KeyFormat.STRING, *, hashed=True, nulls_meet=False):
    return PartitionClaim(
        stream="in",
        columns=("k",),
        fields=(),
        key_format=form,
        initial_partitions=tuple(MODULO.initial_partitions(now, initial)),
        initial_count=initial,
        hashed=hashed,
        nulls_meet=nulls_meet,
    )


def column(keys, kind=None):
    return pa.chunked_array([pa.array(keys, kind or pa.int64())])


@pytest.mark.parametrize("form", ENCODINGS)
@given(data=st.data(), initial=st.integers(2, 6), factor=st.integers(1, 4))
def test_rows_that_any_count_of_a_growth_put_there_are_right_and_others_are_not(form, data, initial, factor):
    kind, bits, encode = ENCODINGS[form]
    now = initial * factor
    partition = data.draw(st.integers(0, now - 1))
    keys = data.draw(st.lists(st.integers(-(2**bits), 2**bits - 1), max_size=20))
    wrong = [
        MisplacedKey(position, partition_of(encode(key), initial))
        for position, key in enumerate(keys)
        if partition_of(encode(key), initial) != partition % initial
    ]
    assert misplaced_keys(column(keys, kind), partition, claim(initial, now, form)) == wrong
    for position, key in enumerate(keys):
        if partition in {partition_of(encode(key), initial), partition_of(encode(key), now)}:
            assert position not in {found.position for found in wrong}


def test_a_row_without_a_key_has_a_place_only_where_it_reaches_a_group():
    assert misplaced_keys(column([None]), 1, claim()) == []
    assert misplaced_keys(column([None]), 1, claim(nulls_meet=True)) == [MisplacedKey(0, 0)]
    assert misplaced_keys(column([None]), 0, claim(nulls_meet=True)) == []


def test_numbers_that_do_not_fit_have_no_place():
    assert misplaced_keys(column([2**40]), 1, claim(form=KeyFormat.INT)) == []


def test_a_key_in_two_files_is_found_as_long_as_it_is_remembered():
    known = {}
    files = claim(hashed=False)
    assert keys_of_other_files(column([1, 2, None, 1]), 0, files, known, 2) == []
    assert keys_of_other_files(column([3, 2, None]), 1, files, known, 2) == [MisplacedKey(1, 0)]
    assert keys_of_other_files(column([3]), 0, files, known, 2) == []
    assert len(known) == 2


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def checked(checker):
    """Return how many rows were checked; one of them was wrong."""
    return checker.broken()["in"].checked


def rows(count, key):
    return pa.table({"k": [key] * count})


def test_the_first_rows_are_checked_and_then_some_now_and_then():
    clock = Clock()
    checker = ClaimChecker({"in": claim()}, OnBrokenClaim.REPORT, clock, Random(1))
    wrong = next(key for key in range(100) if partition_of(str(key), 4) != 0)
    found = []
    for seconds, count in [(0.0, 60), (0.0, 1_000), (0.0, 1_000), (1.9, 1_000), (0.2, 1_000), (2.1, 3)]:
        clock.now += seconds
        checker.check(Ssp("hub", "in", 0), rows(count, wrong), lambda row: row)
        found.append(checked(checker))
    assert found == [60, 100, 110, 110, 120, 123]


def test_a_wrong_row_is_named_with_its_place_and_what_to_do():
    checker = ClaimChecker({"in": claim(2, 4)}, OnBrokenClaim.FAIL, Clock(), Random(1))
    wrong = next(key for key in range(100) if partition_of(str(key), 2) == 1)
    checker.check(Ssp("hub", "other", 2), rows(1, wrong), lambda row: row)
    message = (
        rf"hub\.in\[2\], offset 7: the row with key k = {wrong} is in partition 2, but belongs in 1 or 3 by murmur2"
    )
    with pytest.raises(ClaimBroken, match=message):
        checker.check(Ssp("hub", "in", 2), rows(3, wrong), lambda row: 7 + row)
