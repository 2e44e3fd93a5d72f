"""Positions as they are written on a command line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.replay.positions import Positions, parse_positions
from streamapp_core.spec.base import parse_moment
from streamapp_core.time_formats import format_milliseconds

TIMES = st.integers(0, 253_402_300_799_999)
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)
OFFSETS = st.dictionaries(
    NAMES, st.dictionaries(st.integers(0, 9_999), st.integers(0, 2**49), min_size=1, max_size=4), max_size=4
)


@given(time=st.none() | TIMES, offsets=OFFSETS, data=st.data())
def test_what_is_written_is_read_in_any_order(time, offsets, data):
    texts = [f"{name}:{number}={offset}" for name, found in offsets.items() for number, offset in found.items()]
    texts += [] if time is None else [format_milliseconds(time)]
    assert parse_positions(data.draw(st.permutations(texts))) == Positions(time=time, offsets=offsets)


@given(TIMES)
def test_a_moment_is_the_same_in_all_zones(time):
    assert parse_moment(format_milliseconds(time)) == time


def test_a_moment_has_a_zone():
    assert parse_moment("2026-01-01T01:00+01:00") == parse_moment("2026-01-01T00:00:00Z") == 1_767_225_600_000


@pytest.mark.parametrize(
    "text",
    ["2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", "0000-01-01T00:00:00Z", "1969-12-31T00:00:00Z"],
)
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(ValueError, match=r"is no time|is before 1970"):
        parse_moment(text)


def test_the_word_for_all_stands_alone():
    assert parse_positions(["earliest"], default="earliest") == parse_positions([], default="earliest") == Positions()
    with pytest.raises(ValueError, match="or earliest"):
        parse_positions(["latest"], default="earliest")
    with pytest.raises(ValueError, match="is no time"):
        parse_positions(["earliest"])
