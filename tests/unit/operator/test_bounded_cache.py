from hypothesis import given
from hypothesis import strategies as st

from streamapp_operator.observe.bounded_cache import BoundedCache


class Maker:
    """Makes a value of a key, and counts how often."""

    def __init__(self):
        self.made = []

    def get(self, cache, key, size):
        return cache.get(key, size, lambda: self.made.append(key) or f"value of {key}")


def test_a_value_is_made_once_and_again_when_newer_ones_have_taken_its_room():
    cache, maker = BoundedCache(10), Maker()
    for key in ("a", "b", "a", "c", "a", "b"):
        assert maker.get(cache, key, 4) == f"value of {key}"
    assert maker.made == ["a", "b", "c", "b"]


def test_a_value_larger_than_the_cache_is_given_not_kept_and_drives_nothing_out():
    cache, maker = BoundedCache(10), Maker()
    maker.get(cache, "small", 4)
    for _ in range(2):
        assert maker.get(cache, "large", 11) == "value of large"
    maker.get(cache, "small", 4)
    assert maker.made == ["small", "large", "large"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=50))
def test_every_answer_is_the_keys_value_and_the_newest_that_fit_are_kept(asked):
    cache, maker = BoundedCache(20), Maker()
    sizes = {}
    for key, first_size in asked:
        size = sizes.setdefault(key, first_size)
        assert maker.get(cache, key, size) == f"value of {key}"
        before = len(maker.made)
        maker.get(cache, key, size)
        assert len(maker.made) == before
