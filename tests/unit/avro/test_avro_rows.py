"""Values of Avro as rows: what fastavro writes is read, what is written fastavro reads, and broken bytes fail alone."""

import datetime
import decimal
import io
import json
import uuid

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.avro.avro_columns import columns_of_avro, find_mismatches
from streamapp_core.avro.avro_schema import AvroKind, AvroLogical, AvroType, parse_avro_schema
from streamapp_core.avro.avro_writing import avro_schema_of
from streamapp_core.schema import parse_schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.avro.avro_decoding import AvroRowReader
from streamapp_systems.avro.avro_encoding import AvroRowWriter

EPOCH = datetime.datetime.fromisoformat("1970-01-01")
DAYS = (-719_162, 2_932_896)
MANY = 60
"""So many arrays are read all at once, few ones one after the other."""
TIMES = st.integers(DAYS[0] * 86_400, (DAYS[1] + 1) * 86_400 - 1)
PLAIN = [
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
    {"type": "int", "logicalType": "date"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 9},
    {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
    {"type": "string", "logicalType": "uuid"},
]


@st.composite
def schemas(draw, depth=2, number=None):
    """Return a schema of any type but unions, with names of its own."""
    names = number if number is not None else iter(range(10_000))
    kinds = ["plain", "enum", "fixed", "decimal", "uuid"] + (["record", "array", "map", "union"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    named = {"name": f"N{next(names)}", "namespace": draw(st.sampled_from(["a", "a.b"]))}
    below = schemas(depth=depth - 1, number=names)
    match kind:
        case "enum":
            return {"type": "enum", **named, "symbols": ["A", "B", "C"]}
        case "fixed":
            return {"type": "fixed", **named, "size": draw(st.integers(1, 20))}
        case "decimal":
            return {"type": "fixed", **named, "size": 17, "logicalType": "decimal", "precision": 20, "scale": 3}
        case "uuid":
            return {"type": "fixed", **named, "size": 16, "logicalType": "uuid"}
        case "record":
            fields = draw(st.lists(below, min_size=1, max_size=3))
            return {"type": "record", **named, "fields": [{"name": f"f{n}", "type": t} for n, t in enumerate(fields)]}
        case "array":
            return {"type": "array", "items": draw(below.filter(lambda part: part != "null"))}
        case "map":
            return {"type": "map", "values": draw(below)}
        case "union":
            parts = draw(st.lists(below, min_size=1, max_size=3)) + draw(st.sampled_from([[], ["null"]]))
            distinct = {branch_name(part): part for part in parts if not isinstance(part, list)}
            return [*distinct.values()] or ["null", "long"]
        case _:
            return draw(st.sampled_from(PLAIN))


def branch_name(schema):
    if isinstance(schema, str):
        return schema
    return schema.get("name") or schema["type"]


def values(schema):
    """Return values of a schema in their plain form: numbers and bytes, a union as a pair of its branch and value."""
    kind = schema if isinstance(schema, str) else "union" if isinstance(schema, list) else schema["type"]
    meaning = schema.get("logicalType", "") if isinstance(schema, dict) else ""
    if meaning == "date":
        return st.integers(*DAYS)
    if "timestamp" in meaning:
        unit = 1_000 if meaning.endswith("millis") else 1_000_000
        return st.builds(lambda second, part: second * unit + part, TIMES, st.integers(0, unit - 1))
    if meaning == "decimal":
        most = 10 ** schema["precision"] - 1
        size = schema.get("size")
        digits = st.integers(-most, most)
        return digits.map(lambda n: n.to_bytes(size or (n.bit_length() + 8) // 8, "big", signed=True))
    match kind:
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "int":
            return st.integers(-(2**31), 2**31 - 1)
        case "long":
            return st.integers(-(2**63), 2**63 - 1)
        case "float":
            return st.floats(width=32)
        case "double":
            return st.floats()
        case "bytes":
            return st.binary(max_size=20)
        case "string":
            return st.uuids().map(str) if meaning else st.text(max_size=20)
        case "enum":
            return st.sampled_from(schema["symbols"])
        case "fixed":
            return st.binary(min_size=schema["size"], max_size=schema["size"])
        case "array":
            return st.lists(values(schema["items"]), max_size=4)
        case "map":
            return st.dictionaries(st.text(max_size=3), values(schema["values"]), max_size=3)
        case "record":
            return st.fixed_dictionaries({field["name"]: values(field["type"]) for field in schema["fields"]})
        case _:
            return st.one_of([st.tuples(st.just(n), values(part)) for n, part in enumerate(schema)])


def written(schema, value):
    """Return a value by fastavro's plain writer; a branch of a union is written ahead of its value, as Avro has it."""
    out = io.BytesIO()
    _write(out, schema, value)
    return out.getvalue()


def _write(out, schema, value):
    kind = schema if isinstance(schema, str) else "union" if isinstance(schema, list) else schema["type"]
    match kind:
        case "union":
            number, inner = value
            fastavro.schemaless_writer(out, "long", number)
            _write(out, schema[number], inner)
        case "record":
            for field in schema["fields"]:
                _write(out, field["type"], value[field["name"]])
        case "array" | "map":
            entries = list(value.items()) if kind == "map" else value
            for at in range(0, len(entries), 2):
                _write_block(out, schema, kind, entries[at : at + 2], sized=at % 4 == 0)
            fastavro.schemaless_writer(out, "long", 0)
        case _:
            plain = schema if isinstance(schema, str) else {k: v for k, v in schema.items() if k != "logicalType"}
            fastavro.schemaless_writer(out, plain, value)


def _write_block(out, schema, kind, entries, *, sized):
    block = io.BytesIO()
    for entry in entries:
        if kind == "map":
            fastavro.schemaless_writer(block, "string", entry[0])
            _write(block, schema["values"], entry[1])
        else:
            _write(block, schema["items"], entry)
    fastavro.schemaless_writer(out, "long", -len(entries) if sized else len(entries))
    if sized:
        fastavro.schemaless_writer(out, "long", len(block.getvalue()))
    out.write(block.getvalue())


def meaning(avro: AvroType, value):
    """Return what a value is in a row."""
    if avro.kind is AvroKind.UNION:
        number, inner = value
        if avro.parts[number].kind is AvroKind.NULL:
            return None
        own = meaning(avro.parts[number], inner)
        kinds = {str(columns_of_avro(one("f", part)).columns[0].type) for part in avro.branches}
        if len(kinds) == 1 or kinds in ({"int", "bigint"}, {"float", "double"}):
            return own
        place = [n for n, part in enumerate(avro.parts) if part.kind is not AvroKind.NULL].index(number)
        return {f"member{n}": own if n == place else None for n in range(len(avro.branches))}
    if avro.logical is AvroLogical.DECIMAL:
        return decimal.Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-avro.scale, decimal.Context(prec=60))
    if avro.logical is AvroLogical.DATE:
        return EPOCH.date() + datetime.timedelta(days=value)
    if "timestamp" in avro.logical:
        micros = value * (1_000 if avro.logical.endswith("millis") else 1)
        zone = None if avro.logical.startswith("local") else datetime.UTC
        return (EPOCH + datetime.timedelta(microseconds=micros)).replace(tzinfo=zone)
    if avro.logical is AvroLogical.UUID and avro.kind is AvroKind.FIXED:
        return str(uuid.UUID(bytes=value))
    match avro.kind:
        case AvroKind.RECORD:
            return {field.name: meaning(field.type, value[field.name]) for field in avro.fields}
        case AvroKind.ARRAY:
            return [meaning(avro.parts[0], part) for part in value]
        case AvroKind.MAP:
            return [(key, meaning(avro.parts[0], part)) for key, part in value.items()]
        case AvroKind.FLOAT:
            return float(np.float32(value))
        case _:
            return value


def one(name, avro):
    from streamapp_core.avro.avro_schema import AvroField

    return AvroType(kind=AvroKind.RECORD, name="r", fields=(AvroField(name, avro),))


def same(found, expected):
    """Return whether values are equal, not-a-number to itself."""
    return repr(found) == repr(expected).replace("datetime.timezone.utc", "zoneinfo.ZoneInfo(key='UTC')")


@st.composite
def cases(draw):
    fields = draw(st.lists(schemas().filter(holds_values), min_size=1, max_size=3))
    for number, field in enumerate(fields):
        fields[number] = json.loads(json.dumps(field).replace('"N', f'"R{number}N'))
    schema = {"type": "record", "name": "Row", "fields": [{"name": f"c{n}", "type": t} for n, t in enumerate(fields)]}
    return schema, draw(st.lists(values(schema), min_size=1, max_size=5))


def holds_values(schema):
    """Return whether a schema has a column: a null that is nothing else has none, at any level."""
    match schema:
        case "null" | ["null"]:
            return False
        case list():
            return all(holds_values(part) for part in schema if part != "null")
        case {"type": "array", "items": inner} | {"type": "map", "values": inner}:
            return holds_values(inner)
        case {"type": "record", "fields": fields}:
            return all(holds_values(field["type"]) for field in fields)
        case _:
            return True


@given(cases())
def test_what_is_written_is_read_as_what_it_means(case):
    schema, rows = case
    avro = parse_avro_schema(json.dumps(schema))
    columns = columns_of_avro(avro)
    assert list(find_mismatches(avro, columns)) == []
    encoded = [b"head" + written(schema, row) for row in rows]
    many, _, _ = AvroRowReader(avro, columns).read(encoded * MANY, 4)
    found, good, why = AvroRowReader(avro, columns).read(encoded, 4)
    assert repr(many.to_pylist()) == repr(found.to_pylist() * MANY)
    assert (why, good.all()) == ({}, True)
    assert [same(row, meaning(avro, value)) for row, value in zip(found.to_pylist(), rows, strict=True)] == [
        True
    ] * len(rows), (found.to_pylist(), [meaning(avro, value) for value in rows])
    found.validate(full=True)


@given(cases(), st.data())
def test_broken_bytes_fail_alone(case, data):
    """Whatever a value's bytes are, the others are read, and it is refused alone as it is among others."""
    schema, rows = case
    avro = parse_avro_schema(json.dumps(schema))
    reader = AvroRowReader(avro, columns_of_avro(avro))
    whole = [written(schema, row) for row in rows]
    broken = bytearray(data.draw(st.sampled_from(whole)))
    for _ in range(data.draw(st.integers(1, 3))):
        match data.draw(st.sampled_from(["cut", "change", "add"])):
            case "cut":
                del broken[data.draw(st.integers(0, len(broken))) :]
            case "add":
                broken += data.draw(st.binary(min_size=1, max_size=12))
            case _ if broken:
                broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    place = data.draw(st.integers(0, len(whole)))
    found, good, why = reader.read([*whole[:place], bytes(broken), *whole[place:]])
    found.validate(full=True)
    alone, alone_good, alone_why = reader.read([bytes(broken)])
    assert good[place] == alone_good[0]
    assert (place in why) == (not good[place])
    assert why.get(place) == alone_why.get(0)
    others, _, _ = reader.read(whole)
    expected = others.to_pylist()
    expected[place:place] = alone.to_pylist()
    assert repr(found.to_pylist()) == repr(expected)
    assert set(np.flatnonzero(~good)) <= {place}


WRITTEN = (
    "s string, b boolean, t tinyint, h smallint, i int, l bigint, f float, d double, x binary, p decimal(38,10), "
    "q decimal(5,0), day date, at timestamp, local timestamp_ntz, list array<array<int>>, m map<string,decimal(9,2)>, "
    "o struct<a:string,b:struct<c:bigint>>, os array<struct<k:int>>"
)
INTEGERS = {"t": 8, "h": 16, "i": 32, "l": 64}
NULLABLE = {
    "s": st.text(max_size=9),
    "b": st.booleans(),
    **{name: st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in INTEGERS.items()},
    "f": st.floats(width=32),
    "d": st.floats(),
    "x": st.binary(max_size=200),
    "p": st.integers(-(10**38) + 1, 10**38 - 1).map(lambda n: decimal.Decimal(n).scaleb(-10, decimal.Context(prec=60))),
    "q": st.integers(-99_999, 99_999).map(decimal.Decimal),
    "day": st.dates(),
    "at": st.datetimes(timezones=st.just(datetime.UTC)),
    "local": st.datetimes(),
    "list": st.lists(st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=3), max_size=3),
    "m": st.dictionaries(st.text(max_size=3), st.none() | st.just(decimal.Decimal("1.50")), max_size=3).map(
        lambda entries: list(entries.items())
    ),
    "o": st.fixed_dictionaries(
        {
            "a": st.none() | st.text(max_size=3),
            "b": st.none() | st.fixed_dictionaries({"c": st.none() | st.integers(0, 9)}),
        }
    ),
    "os": st.lists(st.none() | st.fixed_dictionaries({"k": st.none() | st.integers(0, 9)}), max_size=3),
}


@given(st.lists(st.fixed_dictionaries({name: st.none() | value for name, value in NULLABLE.items()}), max_size=5))
def test_what_is_written_fastavro_reads_and_is_read_again(rows):
    columns = parse_schema(WRITTEN)
    table = pa.Table.from_pylist(rows, schema=arrow_schema(columns))
    document = avro_schema_of(columns, "out")
    record = parse_avro_schema(json.dumps(document))
    encoded = AvroRowWriter(record, columns).write(table, b"12345").to_pylist()
    again, good, _ = AvroRowReader(record, columns).read(encoded, 5)
    assert good.all()
    assert repr(again.to_pylist()) == repr(table.to_pylist())
    theirs = fastavro.parse_schema(document)
    for value, row in zip(encoded, table.to_pylist(), strict=True):
        stream = io.BytesIO(value[5:])
        found = fastavro.schemaless_reader(stream, theirs, None)
        assert stream.read() == b""
        expected = {**row, "m": None if row["m"] is None else dict(row["m"])}
        assert same(expected, found)


ARRAYS = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": %s}}]}'


@pytest.mark.parametrize(
    "items, value, reason",
    [
        ('"long"', b"\xfe\xff\xff\xff\x0f", "a: more elements are announced than there are bytes for"),
        ('"long"', b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", "a: more elements are announced"),
        ('"double"', b"\x04" + bytes(15), "a: more elements are announced than there are bytes for"),
        ('"string"', b"\x02\xfe\xff\xff\xff\xff\x0f", "it ends in a[]"),
        ('"string"', b"\x02\x01", "it ends in a[]"),
        ('"string"', b"\x02\x02\xff\x00", "a[]: it is no UTF-8 text"),
        (
            '{"type": "array", "items": "double"}',
            b"\x02\xfe\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(20),
            "a[]: more elements are announced than there are bytes for",
        ),
        ('"int"', b"\x02\x80\x80\x80\x80\x10\x00", "a[]: it is no int"),
        ('"long"', b"\x02" + b"\xff" * 10 + b"\x00", "a number has more than 64 bits"),
        ('"boolean"', b"\x02\x02\x00", "a[]: 2 is no boolean"),
        ('["null", "int"]', b"\x02\x04\x00", "a[]: there is no choice 2: there are 2"),
        ('"int"', b"\x00\x00", "bytes are left after the record"),
        ('"int"', b"", "it ends in a number"),
    ],
)
def test_what_can_not_be_read_says_why(items, value, reason):
    avro = parse_avro_schema(ARRAYS % items)
    unchecked = any(text in reason for text in ("UTF-8", "no int", "no boolean"))
    for columns in (columns_of_avro(avro), *(() if unchecked else (parse_schema("other int"),))):
        _, good, why = AvroRowReader(avro, columns).read([b"\x00", value, b"\x00"])
        assert good.tolist() == [True, False, True]
        assert why[1].startswith(reason), why
