"""Messages as rows: what Google's library writes is read, what is written it reads, and broken bytes fail alone."""

import datetime
import decimal
import math

import pyarrow as pa
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.protobuf.proto_columns import columns_of_message, find_mismatches, map_entry
from streamapp_core.protobuf.proto_files import compile_proto, find_message
from streamapp_core.protobuf.proto_writing import proto_text_of
from streamapp_core.schema import parse_schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protobuf.proto_decoding import ProtoRowReader
from streamapp_systems.protobuf.proto_encoding import encode_protobuf_rows
from streamapp_systems.protocols import StreamSystemError

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
PLAIN = [
    "double",
    "float",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "sint32",
    "sint64",
    "fixed32",
    "fixed64",
    "sfixed32",
    "sfixed64",
    "bool",
    "string",
    "bytes",
]
KEYS = [kind for kind in PLAIN if kind not in ("double", "float", "bytes")]
STANDARD = ["google.protobuf.Timestamp"] + [
    f"google.protobuf.{kind}Value" for kind in ("Int32", "UInt64", "Bool", "String", "Bytes", "Double")
]
HEAD = 'import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";\n'
ENUM = "enum Kind { NONE = 0; SOME = 1; LESS = -1; }\n"
INTS = {32: st.integers(-(2**31), 2**31 - 1), 64: st.integers(-(2**63), 2**63 - 1)}
UNSIGNED = {32: st.integers(0, 2**32 - 1), 64: st.integers(0, 2**64 - 1)}


@st.composite
def files(draw):
    """Return the text of a file with one message."""
    syntax = draw(st.sampled_from(["proto2", "proto3"]))
    return f'syntax = "{syntax}"; package a.b;\n{HEAD}{ENUM}{draw(messages("M", syntax, 2))}'


@st.composite
def messages(draw, name, syntax, depth):
    """Return the text of a message."""
    lines = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        inner = f"{name}{number}"
        deep = draw(st.booleans()) if depth else False
        if deep:
            lines.append(draw(messages(inner, syntax, depth - 1)))
        kind = inner if deep else draw(st.sampled_from([*PLAIN, "Kind", *STANDARD]))
        place = f"f{number} = {draw(st.sampled_from([1, 16, 3_000])) * 6 + number}"
        form = draw(st.sampled_from(["plain", "optional", "repeated", "map", "oneof"]))
        match form:
            case "repeated":
                lines.append(f"repeated {kind} {place};")
            case "map":
                lines.append(f"map<{draw(st.sampled_from(KEYS))}, {kind}> {place};")
            case "oneof":
                lines.append(f"oneof o{number} {{ {kind} {place}; int32 x{number} = {100_000 + number}; }}")
            case _:
                label = "optional " if syntax == "proto2" or form == "optional" else ""
                lines.append(f"{label}{kind} {place};")
    return "\n".join([f"message {name} {{", *lines, "}"])


def fill(draw, message):
    """Set some fields of a message."""
    for field in message.DESCRIPTOR.fields:
        entry = map_entry(field)
        if not draw(st.booleans()):
            continue
        if entry is not None:
            for _ in range(draw(st.integers(0, 2))):
                key = draw(scalars(entry[0]))
                if entry[1].message_type is None:
                    getattr(message, field.name)[key] = draw(scalars(entry[1]))
                else:
                    fill(draw, getattr(message, field.name)[key])
        elif field.is_repeated:
            for _ in range(draw(st.integers(0, 3))):
                if field.message_type is None:
                    getattr(message, field.name).append(draw(scalars(field)))
                else:
                    fill(draw, getattr(message, field.name).add())
        elif field.message_type is None:
            setattr(message, field.name, draw(scalars(field)))
        else:
            inner = getattr(message, field.name)
            inner.SetInParent()
            fill(draw, inner)


def scalars(field):
    if field.containing_type.full_name == "google.protobuf.Timestamp":
        return st.integers(-62_135_596_800, 253_402_300_799) if field.name == "seconds" else st.integers(0, 999_999_999)
    match field.type:
        case FieldDescriptor.TYPE_BOOL:
            return st.booleans()
        case FieldDescriptor.TYPE_STRING:
            return st.text(max_size=5)
        case FieldDescriptor.TYPE_BYTES:
            return st.binary(max_size=5)
        case FieldDescriptor.TYPE_ENUM:
            return st.sampled_from([0, 1, -1])
        case FieldDescriptor.TYPE_DOUBLE:
            return st.floats()
        case FieldDescriptor.TYPE_FLOAT:
            return st.floats(width=32)
    numbers = UNSIGNED if field.cpp_type in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64) else INTS
    return numbers[32 if field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32) else 64]


def meaning(message):
    """Return what a message is in a row, as a struct."""
    return {field.name: field_meaning(message, field) for field in message.DESCRIPTOR.fields}


def field_meaning(message, field):
    value, entry = getattr(message, field.name), map_entry(field)
    if entry is not None:
        return {value_meaning(entry[0], key): value_meaning(entry[1], value[key]) for key in value}
    if field.is_repeated:
        return [value_meaning(field, each) for each in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return value_meaning(field, value)


def value_meaning(field, value):
    if field.enum_type is not None:
        return field.enum_type.values_by_number[value].name
    if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64:
        return decimal.Decimal(value)
    if field.message_type is None:
        return "NaN" if isinstance(value, float) and math.isnan(value) else value
    if field.message_type.full_name == "google.protobuf.Timestamp":
        return EPOCH + datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1_000)
    if field.message_type.full_name in STANDARD:
        return value_meaning(value.DESCRIPTOR.fields[0], value.value)
    return meaning(value)


def as_shown(value, kind):
    """Return a value of a row with maps as dictionaries."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: as_shown(each, kind.item_type) for key, each in value}
    if pa.types.is_list(kind):
        return [as_shown(each, kind.value_type) for each in value]
    if pa.types.is_struct(kind):
        return {field.name: as_shown(value[field.name], field.type) for field in kind}
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def shown(rows):
    return [{field.name: as_shown(row[field.name], field.type) for field in rows.schema} for row in rows.to_pylist()]


def message_of(text, name=None):
    return find_message(compile_proto(text), name)


def read(text, columns, *values):
    message = message_of(text, "M")
    schema = columns_of_message(message) if columns is None else parse_schema(columns)
    assert not list(find_mismatches(message, schema))
    rows, kept, reasons = ProtoRowReader(message, schema).read(values)
    rows.validate(full=True)
    assert [number for number, good in enumerate(kept.tolist()) if not good] == sorted(reasons)
    return rows, reasons


@given(st.data(), files())
def test_messages_of_any_schema_are_read(data, text):
    found = GetMessageClass(message_of(text, "M"))
    values = [found() for _ in range(3)]
    for value in values:
        fill(data.draw, value)
    rows, reasons = read(text, None, *(value.SerializeToString() for value in values))
    assert reasons == {}
    assert shown(rows) == [meaning(value) for value in values]


@given(st.data(), files())
def test_broken_messages_fail_alone_and_the_others_are_what_they_say(data, text):
    """Bytes that Google's parser takes are read as it does; others are not."""
    found = GetMessageClass(message_of(text, "M"))
    value = found()
    fill(data.draw, value)
    good = value.SerializeToString()
    at = data.draw(st.integers(0, len(good)))
    junk = data.draw(st.binary(max_size=6))
    broken = good[:at] + junk + good[at + data.draw(st.integers(0, 2)) :]
    rows, reasons = read(text, None, good, broken, good)
    assert set(reasons) <= {1}
    assert [shown(rows)[number] for number in (0, -1)] == [meaning(value)] * 2
    try:
        theirs = found.FromString(broken)
    except DecodeError:
        assert set(reasons) == {1}
    else:
        assert reasons or shown(rows)[1] == meaning(theirs)


WRITTEN = (
    "a tinyint, b smallint, c int, d bigint, e float, f double, g string, h binary, i boolean, j timestamp, "
    "k struct<x:int,at:timestamp,t:struct<z:array<string>>>, l array<struct<x:int,l:array<int>>>, "
    "m map<string,struct<x:timestamp>>, n map<int,bigint>, o map<boolean,string>"
)
TIMES = st.datetimes(timezones=st.just(datetime.UTC))
OPTIONAL = lambda values: st.none() | values  # noqa: E731
WRITTEN_ROWS = st.fixed_dictionaries(
    {
        "a": OPTIONAL(st.integers(-128, 127)),
        "b": OPTIONAL(st.integers(-(2**15), 2**15 - 1)),
        "c": OPTIONAL(INTS[32]),
        "d": OPTIONAL(INTS[64]),
        "e": OPTIONAL(st.floats(width=32, allow_nan=False)),
        "f": OPTIONAL(st.floats(allow_nan=False)),
        "g": OPTIONAL(st.text(max_size=5)),
        "h": OPTIONAL(st.binary(max_size=5)),
        "i": OPTIONAL(st.booleans()),
        "j": OPTIONAL(TIMES),
        "k": OPTIONAL(
            st.fixed_dictionaries(
                {
                    "x": OPTIONAL(INTS[32]),
                    "at": OPTIONAL(TIMES),
                    "t": OPTIONAL(st.fixed_dictionaries({"z": st.lists(st.text(max_size=2), max_size=2)})),
                }
            )
        ),
        "l": st.lists(
            st.fixed_dictionaries({"x": OPTIONAL(INTS[32]), "l": st.lists(INTS[32], max_size=3)}), max_size=3
        ),
        "m": st.dictionaries(st.text(max_size=2), st.fixed_dictionaries({"x": OPTIONAL(TIMES)}), max_size=2),
        "n": st.dictionaries(INTS[32], INTS[64], max_size=2),
        "o": st.dictionaries(st.booleans(), st.text(max_size=2), max_size=2),
    }
)


@given(st.lists(WRITTEN_ROWS, max_size=4), st.integers(0, 2))
def test_what_is_written_is_read_again_by_its_own_file(rows, skipped):
    """Google's library reads it too, and finds nothing that the file does not name."""
    schema = parse_schema(WRITTEN)
    given_rows = [
        {name: list(value.items()) if name in "mno" else value for name, value in row.items()} for row in rows
    ]
    table = pa.Table.from_pylist(given_rows, arrow_schema(schema)).slice(skipped)
    values = encode_protobuf_rows(table, b"head").to_pylist()
    message = message_of(proto_text_of(schema, "com.shop.Out"))
    found, _, reasons = ProtoRowReader(message, schema).read(values, len(b"head"))
    assert reasons == {}
    assert shown(found) == shown(table)
    for value, row in zip(values, rows[skipped:], strict=True):
        theirs = GetMessageClass(message).FromString(value.removeprefix(b"head"))
        assert {field.name for field, _ in theirs.ListFields()} == {
            name for name, each in row.items() if each is not None and each not in ([], {})
        }


PROTO3 = 'syntax = "proto3";\n'


@pytest.mark.parametrize(
    "text, columns, value, row",
    [
        ("message M { optional int32 a = 1 [default = -7]; optional string b = 2; }", None, b"", (-7, None)),
        ('message M { optional string a = 1 [default = "x\\n\\"y"]; }', None, b"", ('x\n"y',)),
        ("message M { optional E a = 1 [default = B]; enum E { A = 1; B = 2; } }", None, b"", ("B",)),
        ("message M { optional E a = 1; enum E { A = 0; B = 2; } }", "a int", b"\x08\x02", (2,)),
        (PROTO3 + "enum E { option allow_alias = true; A = 0; B = 0; } message M { E a = 1; }", None, b"", ("A",)),
        (PROTO3 + "message M { int32 a = 1; }", "a bigint", b"\x08\x05\x08\x07", (7,)),
        (PROTO3 + "message M { int32 a = 1; }", "a decimal(12,2)", b"\x08\x05", (decimal.Decimal("5.00"),)),
        (PROTO3 + "message M { float a = 1; }", "a double", b"", (0.0,)),
        (PROTO3 + "message M { uint64 a = 1; }", "a bigint", b"\x08\x05", (5,)),
        (PROTO3 + "message M { repeated int32 a = 1; }", None, b"\x08\x05\x0a\x02\x06\x07", ([5, 6, 7],)),
        (PROTO3 + "message M { oneof o { int32 a = 1; int32 b = 2; } }", "a int", b"\x08\x05\x10\x06", (None,)),
        (PROTO3 + "message M { oneof o { I a = 1; int32 b = 2; } message I { int32 x = 1; int32 y = 2; } }", None,
         b"\x0a\x02\x08\x01\x10\x05\x0a\x02\x10\x02", ({"x": 0, "y": 2}, None)),
        (PROTO3 + "message M { repeated I l = 1; message I { oneof o { int32 a = 1; int32 b = 2; } } }", None,
         b"\x0a\x00\x0a\x04\x08\x01\x10\x02", ([{"a": None, "b": None}, {"a": None, "b": 2}],)),
        (PROTO3 + "message M { oneof o { int32 a = 1; M b = 2; } }", "a int", b"\x08\x05\x12\x00", (None,)),
        (PROTO3 + "message M { I a = 1; message I { int32 x = 1; int32 y = 2; } }",
         None, b"\x0a\x02\x08\x01\x0a\x02\x10\x02", ({"x": 1, "y": 2},)),
        (PROTO3 + "message M { map<int32, int32> a = 1; }",
         None, b"\x0a\x00\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x01\x10\x03", ([(0, 0), (1, 3)],)),
        (PROTO3 + "message I { int32 x = 1; } message M { map<int32, I> a = 1; }",
         None, b"\x0a\x02\x08\x01", ([(1, {"x": 0})],)),
        (PROTO3 + "message M { M m = 1; int32 a = 2; }", "a int", b"\x0a\x04\x0a\x00\x10\x09\x10\x05", (5,)),
        (PROTO3 + "message M { int32 a = 2; }", None, b"\x10\x05\x7b\x10\x07\x7c", (5,)),
        ("message M { optional group G = 1 { optional int32 x = 1; } optional int32 a = 2; }",
         "a int", b"\x0b\x08\x01\x0c\x10\x05", (5,)),
    ],
)  # fmt: skip
def test_values_mean_what_the_specification_of_protobuf_says(text, columns, value, row):
    rows, reasons = read(text, columns, value)
    assert (reasons, [tuple(found.values()) for found in rows.to_pylist()]) == ({}, [row])


@pytest.mark.parametrize(
    "value",
    [
        b"\x08",
        b"\x12\x05a",
        b"\x12\xff\xff\xff\xff\x07",
        b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\xa2\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x08" + b"\xff" * 10 + b"\x01",
        b"\x12\x01\xff",
        b"\x00\x01",
        b"\x0f",
        b"\x7c",
        b"\x7b" * 1_000_000,
        b"\x1a\x02\x08\x80",
        b'{"a": 1}',
    ],
)
def test_bytes_that_are_no_message_are_bad_and_end_nothing(value):
    """Among them a million groups in one another, and lengths that are beyond all bounds."""
    text = PROTO3 + "message M { int32 a = 1; string b = 2; M c = 3; }"
    columns = "a int, b string, c struct<a:int>"
    with pytest.raises(DecodeError):
        GetMessageClass(message_of(text)).FromString(value)
    rows, reasons = read(text, columns, b"\x08\x01", value, b"\x08\x02")
    assert [row["a"] for row in rows.to_pylist()] == [1, 2]
    assert list(reasons) == [1]


@pytest.mark.parametrize(
    "field, columns, value, reason",
    [
        ("repeated E a = 1; enum E { A = 0; }", "a array<string>", b"\x08\x05", "a[]: M.E has no name for 5"),
        ("uint64 a = 1;", "a bigint", b"\x08" + b"\xff" * 9 + b"\x01", "a: it is more than a bigint holds"),
        ("google.protobuf.Timestamp a = 1;", "a timestamp", b"\x0a\x02\x10\x7f", None),
        ("google.protobuf.Timestamp a = 1;", "a timestamp", b"\x0a\x0b\x10" + b"\xff" * 9 + b"\x01", "years 1 to 9999"),
        ("map<int32, google.protobuf.Timestamp> a = 1;", "a map<int,timestamp>",
         b"\x0a\x0e\x12\x0c\x08" + b"\xff" * 8 + b"\x7f\x10\x01", "a{}: a timestamp is not"),
    ],
)  # fmt: skip
def test_values_that_a_column_can_not_hold_are_bad_records(field, columns, value, reason):
    text = f"{PROTO3}{HEAD}message M {{ {field} }}"
    rows, reasons = read(text, columns, b"", value, b"")
    if reason is None:
        assert rows["a"].to_pylist()[1] == EPOCH
    else:
        assert (len(rows), list(reasons)) == (2, [1])
        assert reason in reasons[1]


@pytest.mark.parametrize(
    "values, instead",
    [
        (pa.array([[1, None]]), "filter(l, x -> x is not null)"),
        (pa.array([[1], None]), "coalesce(l, array())"),
        (pa.array([None], pa.map_(pa.string(), pa.int32())), "coalesce(l, map())"),
        (pa.array([[("a", None)]], pa.map_(pa.string(), pa.int32())), "map_filter(l, (k, v) -> v is not null)"),
        (pa.array([{"x": None}], pa.struct([("x", pa.list_(pa.int32()))])), "coalesce(l.x, array())"),
    ],
)
def test_nulls_that_would_be_read_as_other_values_are_refused(values, instead):
    with pytest.raises(StreamSystemError) as refused:
        encode_protobuf_rows(pa.table({"l": values}))
    assert instead in str(refused.value)


def test_fields_that_no_column_names_are_not_asked_for():
    text = PROTO3 + "message M { string a = 1; bytes b = 2; repeated M c = 3; }"
    rows, reasons = read(text, "b binary", b"\x0a\x01\xff\x12\x01\xff\x1a\x01\xff\x20\x05")
    assert (reasons, rows.to_pylist()) == ({}, [{"b": b"\xff"}])


def test_many_messages_are_read_in_parts():
    text = PROTO3 + "message M { int64 a = 1; }"
    values = [encode_protobuf_rows(pa.table({"a": [n]}))[0].as_py() for n in range(100)] * 300
    values[20_000] = b"\x08"
    rows, reasons = read(text, None, *values)
    assert list(reasons) == [20_000]
    assert rows["a"].to_pylist() == [n % 100 for n in range(30_000) if n != 20_000]
