"""The comparison of rows: in any order or that of a key; a difference leads from one to the other."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.app_tests.compare_rows import ComparedRow, compare_rows


def row(key, value):
    return ComparedRow(text=f"{key}={value}", values={"key": key, "value": value})


ROWS = st.lists(st.builds(row, st.sampled_from("ab"), st.integers(0, 2)), max_size=6)


def signs(lines, sign):
    return Counter(line.text for line in lines if line.sign == sign)


@given(ROWS, ROWS)
def test_in_any_order_the_difference_is_that_of_the_multisets(expected, written):
    lines = compare_rows(expected, written)
    wanted, there = (Counter(row.text for row in rows) for rows in (expected, written))
    assert signs(lines, "-") == wanted - there
    assert signs(lines, "+") == there - wanted
    assert bool(lines) == (wanted != there)
    if lines:
        assert signs(lines, " ") == wanted & there


@given(ROWS, ROWS)
def test_in_the_order_of_a_key_each_key_has_its_sequence(expected, written):
    def sequences(rows):
        return {key: [row.text for row in rows if row.values["key"] == key] for key in "ab"}

    wanted, there = sequences(expected), sequences(written)
    lines = compare_rows(expected, written, ["key"])
    differ = [key for key in "ab" if wanted[key] != there[key]]
    assert signs(lines, "-") == Counter(text for key in differ for text in wanted[key])
    assert signs(lines, "+") == Counter(text for key in differ for text in there[key])


@given(ROWS, st.randoms())
def test_an_order_that_no_key_has_makes_no_difference(rows, random):
    mixed = sorted(rows, key=lambda row: row.values["key"])
    assert compare_rows(rows, mixed, ["key"]) == ()
    random.shuffle(mixed)
    assert compare_rows(rows, mixed) == ()
