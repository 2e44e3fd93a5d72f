"""Messages of CSV: one record each, read as Python's csv module reads it; what is written is read again."""

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import CsvOptions, StreamFormat, StreamSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.message_formats import encode_messages, message_decoder
from streamapp_runtime.rows.tombstones import KeyColumn, replace_tombstones
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import Message, MessageTuple
from support.plan_documents import document, found, planned

SSP = Ssp("k", "s", 0)


def stream(**options):
    return StreamSpec(system="log", format=StreamFormat.CSV, csv=CsvOptions(**options))


def read(columns, *values, **options):
    decoder = message_decoder(parse_schema(columns), stream(**options), (), None, "UTC")
    messages = MessageTuple(Message(10 + n, 0, None, value) for n, value in enumerate(values))
    found = decoder.decode(messages, SSP)
    return [tuple(row.values()) for row in found.rows.to_pylist()], {bad.offset - 10: bad.reason for bad in found.bad}


ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.text(alphabet=st.characters(codec="utf-8"), max_size=5),
        st.none() | st.floats(allow_nan=False),
        st.none() | st.text(alphabet='",;\r\n x', max_size=5),
    ),
    max_size=5,
)


@given(ROWS, st.sampled_from(",;|\t"), st.sampled_from(["", "NA", "x"]))
def test_what_is_written_is_read_again(rows, delimiter, null):
    columns = "a bigint, b string, c double, d string"
    table = pa.Table.from_pylist(
        [dict(zip("abcd", row, strict=True)) for row in rows], arrow_schema(parse_schema(columns))
    )
    options = {"delimiter": delimiter, "nullValue": null}
    values = encode_messages(table, stream(**options)).to_pylist()
    assert read(columns, *values, **options) == (rows, {})
    for value, row in zip(values, rows, strict=True):
        (theirs,) = csv.reader(io.StringIO(value.decode(), newline=""), delimiter=delimiter, strict=True)
        assert [theirs[1], theirs[3]] == [null if each is None else each for each in (row[1], row[3])]


@given(st.lists(st.text(alphabet='",\r\nab\ufeff', max_size=8).map(str.encode), max_size=6))
def test_a_message_says_the_same_alone_and_among_others(values):
    alone = [read("a string, b string", value) for value in values]
    rows, reasons = read("a string, b string", *values)
    assert rows == [row for found, _ in alone for row in found]
    assert sorted(reasons) == [number for number, (_, bad) in enumerate(alone) if bad]


def test_a_byte_order_mark_is_text_wherever_its_message_stands():
    mark = "\ufeff".encode()
    values = [mark + b'"x', mark + mark, mark]
    assert read("a string", *values) == ([('\ufeff"x',), ("\ufeff\ufeff",), ("\ufeff",)], {})


@pytest.mark.parametrize(
    "value, reason",
    [
        (b"5", "the record has 1 values, not 2"),
        (b"6,a,b", "the record has 3 values, not 2"),
        (b"", "the record is empty, and has 2 values"),
        (b'4,"open', "it is no one record of CSV"),
        (b'9,"a"b', "it is no one record of CSV"),
        (b"1,a\n2,b", "it is no one record of CSV"),
        (b"1,a\n\n", "it is no one record of CSV"),
        (b"x,1", "column a: 'x' is no bigint"),
        (b"8,\xff", "is no UTF-8 text"),
    ],
)
def test_what_is_no_record_is_bad_alone(value, reason):
    rows, reasons = read("a bigint, b string", b"1,x", value, b'2,"a,\n""b"\r\n', b'3,5" pipe', b",")
    assert rows == [(1, "x"), (2, 'a,\n"b'), (3, '5" pipe'), (None, None)]
    assert list(reasons) == [1]
    assert reason in reasons[1]


def test_the_only_column_may_be_empty():
    assert read("a string", b"", b'""', b"x", b"") == ([(None,), ("",), ("x",), (None,)], {})
    assert read("a string", b"", b"NA", b'"NA"', nullValue="NA") == ([("",), (None,), ("NA",)], {})
    assert read("a string") == ([], {})


def test_tombstones_are_rows_with_their_key():
    key = KeyColumn(pa.field("a", pa.int64()))
    messages = MessageTuple([Message(0, 0, b"5", None), Message(1, 0, b"6", b"6,x")])
    decoder = message_decoder(parse_schema("a bigint, b string"), stream(), (), None, "UTC")
    assert decoder.decode(replace_tombstones(messages, key), SSP).rows.to_pylist() == [
        {"a": 5, "b": None},
        {"a": 6, "b": "x"},
    ]


def app(select="*", **source):
    streams = {
        "in": {"system": "log", "format": "csv", "schema": "a int, b array<int>", **source},
        "out": {"system": "log", "format": "csv"},
    }
    operators = [{"name": "some", "from": "in", "map": select}, {"name": "sent", "from": "some", "sendTo": "out"}]
    return document(operators, streams=streams, systems={"log": {"log": {"path": "l.db"}}}, defaultSystem="log")


def test_what_csv_can_not_hold_is_refused():
    assert found(app(), {"in": 1, "out": 1}) == {
        ("NotSupported", "spec.streams.in.format"),
        ("NotSupported", "spec.streams.out.format"),
    }
    assert found(app(schema="a int", csv={"delimiter": '"'}), {"in": 1, "out": 1}) == {
        ("NotSupported", "spec.streams.in.csv.delimiter")
    }
    two = app(schema="a int")
    two["spec"]["operators"] += [
        {"name": "other", "from": "in", "map": "a, 1 as b"},
        {"name": "sent-too", "from": "other", "sendTo": "out"},
    ]
    (problem,) = planned(two, {"in": 1, "out": 1}).problems
    assert (problem.path, "select the same columns" in problem.message) == ("spec.streams.out", True)
