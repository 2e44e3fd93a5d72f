"""Changelog entries become records in their order, few enough at a time for columns."""

import pytest

from streamapp_runtime.writing.changelog_records import changelog_records

LARGEST = 64 << 20


@pytest.mark.parametrize(
    "sizes", [[], [None], [0], [3, None, 5], [1] * 50_000, [9 << 20] * 8, [None, 65 << 20, 1, None]]
)
def test_all_entries_come_in_their_order_some_at_a_time(sizes):
    values = {size: None if size is None else b"x" * size for size in sizes}
    entries = [(b"k%d" % number, values[size]) for number, size in enumerate(sizes)]
    parts = list(changelog_records(iter(entries)))
    assert [(key, value) for part in parts for _, key, value in part.rows(0)] == entries
    assert all(part.timestamps is None and len(part) > 0 for part in parts)
    assert all(part.values.nbytes <= LARGEST + (1 << 20) or len(part) == 1 for part in parts)
