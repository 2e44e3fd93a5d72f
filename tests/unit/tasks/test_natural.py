"""Natural order is what people expect."""

from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.tasks import natural_key


def test_numbers_count_as_numbers():
    names = ["Partition 10", "Partition 2", "a10b2", "a10b10", "a9"]

    assert sorted(names, key=natural_key) == ["Partition 2", "Partition 10", "a9", "a10b2", "a10b10"]


@given(st.lists(st.text(alphabet="a0123-", max_size=6), unique=True))
def test_all_names_can_be_compared_and_none_are_equal(names):
    keys = [natural_key(name) for name in names]

    assert all(one < other or other < one for one in keys for other in keys if one is not other)
