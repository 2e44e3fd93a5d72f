"""CSV texts: split as Spark does it, whatever their quotes; hostile ones in time and without recursion."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.kernels.csv_tokens import MAX_WRONG_QUOTES, csv_tokens


@pytest.mark.parametrize(
    "text, values",
    [
        ("", None),
        (",", ["", ""]),
        ("1, 0.8", ["1", " 0.8"]),
        ('"a,b",2', ["a,b", "2"]),
        ('"a\\"b" ,2', ['a"b', "2"]),
        ('"a\\\\b",2', ["a\\b", "2"]),
        ('"a""b",2', ['"a""b"', "2"]),
        ('"a" b,2', ['"a" b', "2"]),
        ('"a,2', ["a,2"]),
        ("a\nb,2", ["a\nb", "2"]),
        ('1a"', ['1a"']),
        ('"', ['"']),
    ],
)
def test_a_line_is_split_as_spark_does_it(text, values):
    assert csv_tokens(text, ",") == values


@given(st.lists(st.text(st.characters(exclude_characters='\0",;'), min_size=1), min_size=1))
def test_values_without_quotes_are_split_at_the_separators(values):
    assert csv_tokens(";".join(values), ";") == values


@given(st.text('a",\\ \0\n'))
def test_every_text_has_its_values(text):
    csv_tokens(text, ",")


def test_wrong_quotes_behind_backslashes_nest_to_a_bound():
    line = '"a' + '"\\' * MAX_WRONG_QUOTES
    assert csv_tokens(line, ",") is not None
    assert csv_tokens(line * 10, ",") is None


def test_a_large_line_takes_no_longer_than_its_size():
    start = time.process_time()
    csv_tokens('"' + '\\"' * 500_000 + '"x,' * 100_000, ",")
    assert time.process_time() - start < 30
