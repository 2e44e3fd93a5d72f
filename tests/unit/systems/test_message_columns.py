"""Messages as columns are the messages that they were made of, by every way of the protocol."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_systems.protocols import Message, MessageColumns, MessageTuple
from streamapp_systems.protocols.message_columns import decode_headers, encode_headers

BYTES = st.none() | st.binary(max_size=12)
HEADERS = st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=3).map(tuple)


def columns(messages, headers=None):
    encoded = None
    if headers is not None:
        encoded = pa.array([encode_headers(found) if found else None for found in headers], pa.binary())
    return MessageColumns(
        offset_column=np.array([message.offset for message in messages], np.int64),
        timestamp_column=np.array([message.timestamp for message in messages], np.int64),
        key_column=pa.array([message.key for message in messages], pa.binary()),
        value_column=pa.array([message.value for message in messages], pa.binary()),
        header_column=encoded,
    )


@st.composite
def records(draw):
    offsets = sorted(draw(st.sets(st.integers(0, 40), max_size=12)))
    times = st.integers(-(1 << 63), (1 << 63) - 1)
    return [Message(offset, draw(times), draw(BYTES), draw(BYTES)) for offset in offsets]


@given(messages=records(), begin=st.integers(-5, 45), end=st.integers(-5, 45))
def test_they_are_those_of_a_tuple(messages, begin, end):
    made, told = columns(messages).between(begin, end), MessageTuple(messages).between(begin, end)
    assert list(made) == list(told)
    assert [made[at] for at in range(len(made))] == list(told)
    assert (len(made), made.values, made.keys, made.timestamps) == (len(told), told.values, told.keys, told.timestamps)
    assert all(made.headers(at) == () for at in range(len(made)))


@given(messages=records(), cut=st.integers(0, 12), headers=st.booleans())
def test_what_was_cut_can_be_joined(messages, cut, headers):
    told = [(("name", b"%d" % message.offset),) for message in messages]
    whole = columns(messages, told if headers else None)
    first, second = columns(messages[:cut]), whole.slice(min(cut, len(messages)), len(messages))
    joined = first.joined([second])
    assert list(joined) == messages
    assert [joined.headers(at) for at in range(len(joined))] == [
        told[at] if headers and at >= cut else () for at in range(len(messages))
    ]
    assert second.value_bytes == sum(len(message.value or b"") for message in messages[cut:])


def test_the_ends_of_a_run_are_its_first_and_last_offset():
    made = columns([Message(offset, 0, None, b"x") for offset in (3, 5, 9)]).slice(1, 3)
    assert (made.first_offset, made.last_offset, made.value_bytes) == (5, 9, 2)


@given(headers=st.lists(HEADERS, max_size=6), first=st.integers(0, 6))
def test_headers_come_back_as_they_were(headers, first):
    made = columns([Message(at, 0, None, None) for at in range(len(headers))], headers)
    assert [made.headers(at) for at in range(len(headers))] == headers
    rest = made.slice(first, len(headers))
    assert [rest.headers(at) for at in range(len(rest))] == headers[first:]


def test_headers_whose_names_are_no_utf_8_can_t_be_read():
    assert decode_headers(encode_headers((("name", b"\xff"),))) == (("name", b"\xff"),)
    assert decode_headers(encode_headers((("name", b"1"),)).replace(b"name", b"\xff\xfe\xfd\xfc")) is None


def test_columns_of_different_lengths_are_refused():
    message = columns([Message(0, 0, None, None)])
    with pytest.raises(ValueError, match="1 offsets are of the lengths"):
        MessageColumns(
            offset_column=message.offset_column,
            timestamp_column=message.timestamp_column,
            key_column=message.key_column,
            value_column=pa.array([], pa.binary()),
        )
