"""The comparison of rows: in any order or that of a key; a difference leads from one to the other."""

import math
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


FLOATS = st.floats(-1e300, 1e300, allow_subnormal=False)


def measured(key, *values):
    return ComparedRow(text=f"{key}={values}", values={"key": key, "values": (key, values)})


@given(st.lists(st.tuples(st.sampled_from("ab"), FLOATS), max_size=6), st.randoms())
def test_last_digits_of_floating_numbers_make_no_difference(rows, random):
    expected = [measured(key, value) for key, value in rows]
    written = [
        measured(key, math.nextafter(value, random.choice([-math.inf, math.inf]))) for key, value in rows if value
    ]
    written += [measured(key, value) for key, value in rows if not value]
    assert compare_rows(sorted(expected, key=lambda row: row.text), sorted(written, key=lambda row: row.text)) == ()
    random.shuffle(written)
    assert compare_rows(expected, written) == ()


@given(st.floats(1e-300, 1e300), st.sampled_from(["any order", "an order"]))
def test_the_ninth_digit_does(value, order):
    lines = compare_rows([measured("a", value)], [measured("a", value * (1 + 2e-8))], ["key"] * (order == "an order"))
    assert [line.sign for line in lines] == ["-", "+"]


def test_a_number_at_the_middle_between_nine_digits_is_equal_to_its_neighbours():
    below, above = math.nextafter(12345678.35, 0), math.nextafter(12345678.35, math.inf)
    assert compare_rows([measured("a", below)], [measured("a", above)]) == ()
    assert compare_rows([measured("a", below)], [measured("a", above)], ["key"]) == ()
