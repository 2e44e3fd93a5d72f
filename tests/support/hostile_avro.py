"""Random schemas of Avro, the columns that they are read as, records of them, and what goes wrong with records.

All is by one source of random numbers: with Hypothesis' source a failing example gets smaller; with Python's own,
millions of records are made.
"""

import json
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from streamapp_core.avro.avro_columns import columns_of_avro, find_mismatches
from streamapp_core.avro.avro_schema import AvroKind, AvroLogical, AvroSchemaError, AvroType, parse_avro_schema
from streamapp_core.data_types import Column, DataType
from streamapp_core.schema import (
    BIGINT,
    BINARY,
    DOUBLE,
    FLOAT,
    STRING,
    Schema,
    SchemaError,
    TypeKind,
    array_of,
    map_of,
    struct_of,
)

_PLAIN: Sequence[Any] = [
    "boolean", "int", "long", "float", "double", "bytes", "string",
    *({"type": "long", "logicalType": name} for name in (
        "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis", "local-timestamp-micros",
        "time-micros",
    )),
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10},
    {"type": "bytes", "logicalType": "decimal", "precision": 1},
]  # fmt: skip
_NUMBERS = [0, 1, -1, 2, 63, -64, 64, 127, 128, 300, 2**14, 2**24, 2**24 + 1, -(2**24), 2**31 - 1, -(2**31), 19_000]
_LONG = [
    2**31,
    -(2**31) - 1,
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**63 - 1,
    -(2**63),
    1_700_000_000_000_000,
    2**55,
    2**56 - 1,
]
_DAYS = [0, -719_162, 2_932_896, 19_700, -1]
_BEYOND_DAYS = [-719_163, 2_932_897, 2**31 - 1]
_TEXTS = ["", "a", "key", "exactly8", "a text of more than sixteen bytes", "ä€😀", "x" * 200, "\x00"]
_NO_TEXTS = [b"\xff", b"0123456\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a text, and \xe2\x82", b"\xc0\x80"]
_DECIMAL, _UUID_FIXED = "decimal", "uuid"
_FLOATS = [0.0, -0.0, 1.5, -1e10, float("inf"), float("nan"), 5e-324, 3.4e38]
_BROKEN = [
    b"\x00",
    b"\x02",
    b"\x01",
    b"\xff",
    b"\x80",
    b"\xff" * 10,
    b"\xff" * 9 + b"\x01",
    b"\xfe\xff\xff\xff\x0f",
    b"\x7f",
]


def random_avro(draw: random.Random) -> tuple[AvroType, Schema]:
    """Return the schema of a record, and columns that it is read as."""
    while True:
        fields = _fields(draw, 3, count())
        avro = parse_avro_schema(json.dumps({"type": "record", "name": "r", "fields": fields}))
        try:
            schema = columns_of_avro(avro)
        except (AvroSchemaError, SchemaError):
            continue
        varied = Schema(_columns(draw, avro, schema.columns))
        fits = bool(varied.columns) and all(mismatch.missing for mismatch in find_mismatches(avro, varied))
        return avro, varied if fits else schema


def random_record(draw: random.Random, avro: AvroType, oddities: float) -> bytes:
    """Return a record; each value is one that its column can't hold, or none of its type, with this likelihood."""
    if avro.kind is AvroKind.RECORD:
        return b"".join(random_record(draw, field.type, oddities) for field in avro.fields)
    if avro.kind is AvroKind.UNION:
        odd = draw.random() < oddities / 4
        number = draw.randrange(len(avro.parts))
        chosen = draw.choice([-1, len(avro.parts), 2**63 - 1]) if odd else number
        return _number(draw, chosen) + random_record(draw, avro.parts[number], oddities)
    if avro.kind in (AvroKind.ARRAY, AvroKind.MAP):
        return _blocks(draw, avro, oddities)
    return _plain(draw, avro, odd=draw.random() < oddities)


def broken(draw: random.Random, record: bytes) -> bytes:
    """Return a record that was cut, or has bytes more, fewer or others somewhere."""
    at = draw.randint(0, len(record))
    to = min(len(record), at + draw.choice([1, 1, 2, 5, 20]))
    changes: Sequence[Callable[[], bytes]] = [
        lambda: record[:at],
        lambda: record[:at] + record[to:],
        lambda: record[:at] + draw.choice(_BROKEN) + record[to:],
        lambda: record[:at] + draw.choice(_BROKEN) + record[at:],
        lambda: record[:at] + record[at:to] * 2 + record[to:],
        lambda: record[:at] + bytes([draw.randint(0, 255)]) + record[at + 1 :],
        lambda: record + draw.choice(_BROKEN),
    ]
    return draw.choice(changes)()


def _fields(draw: random.Random, depth: int, numbers: "count[int]") -> list[dict[str, Any]]:
    names = draw.sample("abcdefg", draw.randint(1, 4))
    return [{"name": name, "type": _type(draw, depth, numbers)} for name in names]


def _type(draw: random.Random, depth: int, numbers: "count[int]") -> Any:
    below = depth - 1
    match draw.randint(0, 12 if depth else 7):
        case 0 | 1 | 2 | 3:
            return draw.choice(_PLAIN)
        case 4:
            return ["null", draw.choice(_PLAIN)]
        case 5:
            return {"type": "enum", "name": f"n{next(numbers)}", "symbols": ["A", "B", "a longer symbol", ""]}
        case 6:
            return {"type": "fixed", "name": f"n{next(numbers)}", "size": draw.choice([0, 1, 7, 16, 20])}
        case 7:
            size, kind = draw.choice([(1, _DECIMAL), (9, _DECIMAL), (16, _DECIMAL), (20, _DECIMAL), (16, _UUID_FIXED)])
            digits = {"precision": draw.choice([2, 20]), "scale": draw.choice([0, 2])} if kind == _DECIMAL else {}
            return {"type": "fixed", "name": f"n{next(numbers)}", "size": size, "logicalType": kind, **digits}
        case 8:
            return {"type": "record", "name": f"n{next(numbers)}", "fields": _fields(draw, below, numbers)}
        case 9:
            # an element has a byte at least
            element = {"type": "record", "name": f"n{next(numbers)}", "fields": [
                {"name": "first", "type": draw.choice(["int", ["null", "string"]])}, *_fields(draw, below, numbers)
            ]}  # fmt: skip
            return {"type": "array", "items": draw.choice([element, draw.choice(_PLAIN), ["null", element]])}
        case 10:
            return {"type": "map", "values": _type(draw, below, numbers)}
        case _:
            parts = [_type(draw, below, numbers) for _ in range(draw.randint(1, 3))]
            parts = [part for part in parts if not isinstance(part, list)]
            return [*parts[:1], "null", *parts[1:]] if draw.random() < 0.7 else parts or ["null", "int"]


def _columns(draw: random.Random, record: AvroType, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns that records fit as well: some are left out, absent, of wider types, or elsewhere."""
    given = [column for column in columns if draw.random() < 0.8]
    varied = [Column(column.name, _varied(draw, _field(record, column.name), column.type)) for column in given]
    if draw.random() < 0.3:
        varied.append(Column("z", draw.choice([STRING, BIGINT, array_of(BIGINT), struct_of([Column("y", STRING)])])))
    if draw.random() < 0.3:
        draw.shuffle(varied)
    return tuple(varied)


def _field(record: AvroType, name: str) -> AvroType:
    found = record.get(name)
    assert found is not None
    return found.type


def _varied(draw: random.Random, avro: AvroType, to: DataType) -> DataType:
    branch = avro.branches[0]
    if len(avro.branches) > 1:
        fields = [part for part in to.fields if draw.random() < 0.7] if to.kind is TypeKind.STRUCT else []
        return struct_of(fields) if fields else to
    match to.kind:
        case TypeKind.STRUCT:
            return struct_of(_columns(draw, branch, to.fields) or to.fields)
        case TypeKind.ARRAY:
            return array_of(_varied(draw, branch.parts[0], to.element))
        case TypeKind.MAP:
            return map_of(STRING, _varied(draw, branch.parts[0], to.value))
        case TypeKind.DECIMAL:
            return replace(to, precision=38, scale=to.scale + draw.choice([0, 0, 3]))
        case _:
            decimal = DataType(TypeKind.DECIMAL, precision=38, scale=draw.choice([0, 2, 19]))
            return draw.choice([to, to, BIGINT, FLOAT, DOUBLE, STRING, BINARY, decimal])


def _plain(draw: random.Random, avro: AvroType, *, odd: bool) -> bytes:
    match avro.kind:
        case AvroKind.NULL:
            return b""
        case AvroKind.BOOLEAN:
            return draw.choice([b"\x02", b"\xff"]) if odd else draw.choice([b"\x00", b"\x01"])
        case AvroKind.INT | AvroKind.LONG:
            return _number(draw, _whole(draw, avro, odd=odd))
        case AvroKind.FLOAT:
            return struct.pack("<f", draw.choice(_FLOATS)) if not odd else draw.randbytes(4)
        case AvroKind.DOUBLE:
            return struct.pack("<d", draw.choice(_FLOATS)) if not odd else draw.randbytes(8)
        case AvroKind.ENUM:
            return _number(draw, draw.choice([-1, len(avro.symbols)]) if odd else draw.randrange(len(avro.symbols)))
    value = _bytes(draw, avro, odd=odd)
    return value if avro.kind is AvroKind.FIXED else _number(draw, len(value)) + value


def _whole(draw: random.Random, avro: AvroType, *, odd: bool) -> int:
    if avro.logical is AvroLogical.DATE:
        return draw.choice(_BEYOND_DAYS if odd else _DAYS)
    if "timestamp" in avro.logical:
        unit = {"millis": 1_000, "micros": 1_000_000, "nanos": 1_000_000_000}[avro.logical.rpartition("-")[2]]
        day = draw.choice(_BEYOND_DAYS[:2] if odd else _DAYS)
        return max(-(2**63), min(2**63 - 1, (day * 86_400 * unit) + (0 if odd else draw.choice([0, 1, 999]))))
    if avro.kind is AvroKind.INT:
        return draw.choice(_LONG if odd else _NUMBERS)
    return draw.choice([*_NUMBERS, *_LONG])


def _bytes(draw: random.Random, avro: AvroType, *, odd: bool) -> bytes:
    if avro.logical is AvroLogical.DECIMAL:
        most = 10**avro.precision - 1
        digits = draw.choice(
            [0, 1, -1, most, -most, most // 3, *([most + 1, 10**38, -(2**127), 2**200] if odd else [])]
        )
        size = avro.size if avro.kind is AvroKind.FIXED else draw.choice([0, 0, 1]) + (digits.bit_length() + 8) // 8
        fitting = digits if digits.bit_length() < size * 8 else 0
        return fitting.to_bytes(size, "big", signed=True)
    if avro.kind is AvroKind.FIXED:
        return draw.randbytes(avro.size)
    if avro.kind is AvroKind.STRING or draw.random() < 0.5:
        return draw.choice(_NO_TEXTS) if odd else draw.choice(_TEXTS).encode()
    return draw.randbytes(draw.choice([0, 3, 8, 20]))


def _blocks(draw: random.Random, avro: AvroType, oddities: float) -> bytes:
    parts = []
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        elements = draw.choice([1, 2, 3, 15])
        block = b"".join(_element(draw, avro, oddities) for _ in range(elements))
        odd = draw.random() < oddities / 4
        number = draw.choice([elements + 1, 2**40, 2**63 - 1, -(2**63)]) if odd else elements
        sized = draw.random() < 0.5 and number > 0
        size = draw.choice([len(block), len(block), 0, -1, 2**63 - 1])
        parts.append((_number(draw, -number) + _number(draw, size) if sized else _number(draw, number)) + block)
    return b"".join(parts) + b"\x00"


def _element(draw: random.Random, avro: AvroType, oddities: float) -> bytes:
    value = random_record(draw, avro.parts[0], oddities)
    if avro.kind is AvroKind.ARRAY:
        return value
    odd = draw.random() < oddities / 4
    number = draw.randrange(3 if draw.random() < oddities else 10**6)
    key = draw.choice(_NO_TEXTS) if odd else f"{draw.choice(_TEXTS)}{number}".encode()
    return _number(draw, len(key)) + key + value


def _number(draw: random.Random, value: int) -> bytes:
    """Return a whole number as Avro has it; it may be longer than it has to."""
    bits = (value << 1 ^ value >> 63) & (1 << 64) - 1
    found = bytearray()
    while bits > 0x7F:
        found.append(bits & 0x7F | 0x80)
        bits >>= 7
    found.append(bits)
    while len(found) < 10 and draw.random() < 0.01:
        found[-1] |= 0x80
        found.append(0)
    return bytes(found)
