"""Streams that a run reads from and to the times and offsets that its spec names."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_runtime.errors import RuntimeFailure
from support import read_positions
from support.growth import Growing
from support.read_positions import positions

LOG = {"log": {"path": "log.db"}}


def test_from_a_time_to_a_time_rows_are_read_once_after_a_stop_and_while_more_come(tmp_path):
    read_positions.play_times(Growing(tmp_path, LOG))


def test_from_offsets_to_offsets_partitions_that_are_not_named_are_read_as_a_whole(tmp_path):
    read_positions.play_offsets(Growing(tmp_path, LOG))


def test_a_time_that_is_later_than_all_records_is_the_end_and_an_earlier_one_the_beginning(tmp_path):
    source = Growing(tmp_path, LOG, partitions=1)
    source.write(0, 0, count=1)
    assert positions(source, startingTimestamp="2999-01-01T00:00:00Z") == ({0: 2}, {0: 2})
    assert positions(source, endingTimestamp="1999-01-01T00:00:00Z") == ({}, {0: 0})
    assert positions(source, startingTimestamp="1999-01-01T00:00:00+01:00") == ({0: 0}, {0: 2})
    both = positions(source, startingTimestamp="2999-01-01T00:00:00Z", endingTimestamp="2999-01-01T00:00:00Z")
    assert both == ({0: 2}, {0: 2})


def test_offsets_go_before_the_time_beside_them(tmp_path):
    source = Growing(tmp_path, LOG, partitions=2)
    source.write(0, 0, 0, 1, 1, 1, count=2)
    found = positions(source, startingTimestamp="2999-01-01T00:00:00Z", startingOffsets={"1": 1})
    assert found == ({0: 3, 1: 1}, {0: 3, 1: 3})


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"startingOffsets": {"1": 3}}, r"in\.startingOffsets: partition 1 of app\.in .* offset 3: .* ends at 2"),
        ({"startingOffsets": {"4": 0}}, r"in\.startingOffsets: app\.in has no partition 4; it has 2"),
        ({"endingOffsets": {"0": 9}}, r"in\.endingOffsets: partition 0 of app\.in .* offset 9"),
        ({"startingOffsets": {"0": 1}, "endingTimestamp": "1999-01-01T00:00:00Z"}, "it ends at 0"),
    ],
)
def test_offsets_that_a_partition_does_not_hold_are_refused(tmp_path, fields, why):
    source = Growing(tmp_path, LOG, partitions=2)
    source.write(0, 0, 1, 1, count=2)
    with pytest.raises(RuntimeFailure, match=why):
        positions(source, **fields)


@settings(max_examples=20)
@given(times=st.lists(st.integers(1_000_000, 1_000_009), max_size=12), at=st.integers(999_999, 1_000_011))
def test_a_time_is_the_first_record_that_is_not_older(tmp_path_factory, times, at):
    source = Growing(tmp_path_factory.mktemp("log"), LOG, partitions=1)
    source.write(*[0] * len(times), count=1, at=times)
    admin = source.admin()
    found = admin.offsets_for_times([source.stream("in")], at)
    admin.close()
    (offset,) = found.values()
    assert all(time < at for time in times[:offset])
    assert offset == len(times) or times[offset] >= at
