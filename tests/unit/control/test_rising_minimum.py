"""The minimum rises with its lowest member, and only then."""

from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.control.rising_minimum import RisingMinimum

MEMBERS = st.sampled_from("abcd")
CHANGES = st.lists(st.tuples(MEMBERS, st.one_of(st.just("out"), st.none(), st.integers(0, 9))))


@given(CHANGES)
def test_it_is_the_highest_minimum_of_complete_members(changes):
    minimum, members, highest = RisingMinimum(), {}, None

    for member, time in changes:
        if time == "out":
            minimum.remove(member)
            members.pop(member, None)
        else:
            minimum.put(member, time)
            members[member] = time
        minimum.advance()

        if members and None not in members.values():
            highest = max(min(members.values()), highest or 0)
        assert minimum.value == highest
        assert len(minimum) == len(members)


def test_changes_before_settling_count_as_one():
    minimum = RisingMinimum()
    minimum.put("a", 1)
    minimum.put("b", None)
    minimum.advance()

    minimum.remove("b")
    minimum.remove("a")
    minimum.advance()

    assert minimum.value is None
