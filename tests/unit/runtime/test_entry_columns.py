"""Entries of stores become columns in their order, few enough at a time."""

import pytest

from streamapp_runtime.state.entry_columns import entry_columns
from support.changelogs import changed_pairs

LARGEST = 64 << 20


@pytest.mark.parametrize(
    "sizes", [[], [None], [0], [3, None, 5], [1] * 50_000, [9 << 20] * 8, [None, 65 << 20, 1, None]]
)
def test_all_entries_come_in_their_order_some_at_a_time(sizes):
    values = {size: None if size is None else b"x" * size for size in sizes}
    entries = [(b"k%d" % number, values[size]) for number, size in enumerate(sizes)]
    parts = list(entry_columns(iter(entries)))
    assert changed_pairs(parts) == entries
    assert all(len(part.keys) > 0 for part in parts)
    assert all(part.values.nbytes <= LARGEST + (1 << 20) or len(part.keys) == 1 for part in parts)
