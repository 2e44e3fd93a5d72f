"""Encoded messages can be decoded; a record that can't be decoded is reported with its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.control import (
    EndOfStream,
    MalformedMessage,
    UndecodableMessageError,
    UserMessage,
    Watermark,
    decode,
    encode,
)
from streamapp_core.ssp import Ssp

BY = Ssp("kafka", "by", 3)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
TIMES = st.integers(-(2**63), 2**63 - 1)
COMMON = {"task_count": st.integers(1, 2**31), "idle": st.booleans()}
ONE = {**COMMON, "version": st.just(1)}
MESSAGES = st.one_of(
    st.builds(UserMessage, data=st.binary()),
    st.builds(Watermark, timestamps=st.tuples(st.tuples(NAMES, TIMES)), **ONE),
    st.builds(Watermark, timestamps=st.lists(st.tuples(NAMES, TIMES), min_size=1).map(tuple), **COMMON),
    st.builds(EndOfStream, tasks=st.tuples(NAMES), **ONE),
    st.builds(EndOfStream, tasks=st.lists(NAMES, min_size=1).map(tuple), **COMMON),
)
FIELDS = {"version": 1, "taskName": "a", "taskCount": 1, "timestamp": 5}


@given(MESSAGES)
def test_decoding_undoes_encoding(message):
    assert decode(encode(message), ssp=BY, offset=0) == message


@given(st.binary(max_size=60))
def test_random_bytes_are_user_data_or_an_error_with_a_place(record):
    if record[:1] == b"\x00":
        assert decode(record, ssp=BY, offset=1234) == UserMessage(data=record[1:])
        return
    with pytest.raises(UndecodableMessageError, match=r"kafka\.by\[3\] at offset 1234: ") as refused:
        decode(record, ssp=BY, offset=1234)
    assert (refused.value.ssp, refused.value.offset) == (BY, 1234)


@pytest.mark.parametrize(
    "field, value",
    [
        ("version", True),
        ("version", "1"),
        ("taskName", ""),
        ("taskName", 7),
        ("taskCount", 0),
        ("taskCount", True),
        ("taskCount", 1.0),
        ("timestamp", 1.5),
        ("timestamp", "5"),
        ("timestamp", 2**63),
        ("idle", 1),
    ],
)
def test_a_wrong_value_names_its_field(field, value):
    record = b"\x01" + json.dumps(FIELDS | {field: value}).encode()

    with pytest.raises(MalformedMessage, match=field):
        decode(record, ssp=BY, offset=0)


@pytest.mark.parametrize(
    "data",
    [b"\xff", b'{"version":1,"taskName":"\xff"}', b"[" * 100_000, b'{"version":1,"task_name":"a","taskCount":1}'],
)
def test_data_that_is_no_such_json_is_malformed(data):
    with pytest.raises(MalformedMessage):
        decode(b"\x02" + data, ssp=BY, offset=0)


def test_names_are_written_as_they_are():
    assert "Aufgabe-größe".encode() in encode(EndOfStream(tasks=("Aufgabe-größe",), task_count=1))


def test_version_one_speaks_for_one_task():
    with pytest.raises(ValueError, match="too many values"):
        encode(EndOfStream(tasks=("a", "b"), task_count=2, version=1))
