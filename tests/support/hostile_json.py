"""Random schemas, JSON messages of them, and what goes wrong with messages: all by one source of random numbers.

With Hypothesis' source a failing example gets smaller; with Python's own, millions of messages are made.
"""

import json
import random
from collections.abc import Sequence

import pyarrow as pa

from streamapp_systems.variants.variant_columns import ARROW_VARIANT, is_variant

NAMES = ["a", "b", "name", "at", "n1", "a longer name", "ä", "x" * 40, ""]
_PLAIN = [
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.date32(),
    pa.timestamp("us"),
    pa.timestamp("us", tz="UTC"),
]
_TEXTS = [
    '"a"', '""', '"a text of more than sixteen bytes"', '"\\u00e4\\n\\"\\\\\\/"', '"ä€😀"', '"\\ud83d\\ude00"',
    '"\\u0000"', '"0123456789abcde\\t"', '"0123456789abcdef"', '"\x7f"', '"0123456789abcdeä"',
]  # fmt: skip
_NUMBERS = [
    "0", "-0", "1", "-1", "127", "128", "-129", "32767", "65536", "2147483647", "2147483648", "-2147483649",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1.0", "1.5", "-0.0", "0.1", "1e2", "1E+2",
    "1e-7", "1e400", "-1e400", "1e-400", "9007199254740993", "12345678901234567890", "1234567890123456789012345",
    "0.30000000000000004", "2.2250738585072011e-308", "5e-324", "1.7976931348623159e308", "3.5e38", "3.4028236e38",
    "16777217", "1.00000017881393432617187499", "1.50", "1.555", "999.99", "1000", "0e10", "0.00000000000000000000001",
    "99999999999999999999999999999999999999", "100000000000000000000000000000000000000", "253402300800", "-62135596801",
    "1" * 130, "0." + "0" * 200 + "1", "1e99999999999999999999",
]  # fmt: skip
_TIMES = [
    "2024-05-01T10:00:00Z", "2024-05-01 10:00:00.123456789+02:00", "2024-05-01T10:00:00.5", "2024-05-01", "",
    " 2024-05-01T10:00:00", "2024-02-30", "2023-02-29T00:00:00Z", "2000-02-29", "1900-02-29", "0001-01-01T00:00:00Z",
    "0000-12-31", "9999-12-31T23:59:59.999999Z", "2024-05-01T10:00", "2024-05-01T10", "2024-05-01T24:00:00Z",
    "2024-05-01T10:00:60Z", "2024-05-01T10:00:00+0530", "2024-05-01T10:00:00-23", "2024-05-01T10:00:00+24:00",
    "2024-05-01T10:00:00.Z", "2024-05-01t10:00:00z", "1969-12-31T23:59:59.999999-00:01", "2024-03-31T02:30:00",
    "2024-10-27T02:30:00", "+2024-05-01", "2024-05-01T10:00:00 Z", "2024-05-01T1\\u0030:00:00Z",
]  # fmt: skip
_STRANGE = [
    "NaN", "-Infinity", "01", "-", "+1", ".5", "1.", "1e", "nul", "tru", "True", "", '"', '"\\', '"\\u12"', '"\\x"',
    '"\\ud800"', '"\\udc00\\ud800"', '"\t"', '"a\nb"', "[", "{", "[1,]", '{"a":1,}', "[1 2]", '{"a" 1}', "{1:1}", "'a'",
    "[" * 70 + "]" * 70, "[" * 3_000 + "]" * 3_000, '{"a":' * 70 + "1" + "}" * 70, "//", '"1"', '"true"', "1 1",
    '{"a":1,"a":2}', '{"\\u0061":1}', "[null]", "[[[]]]",
]  # fmt: skip
_BYTES = [
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\x00",
    b"\x1f",
    b"\xef\xbb\xbf",
    b"\\",
    b'"',
]
_UNKNOWN = ["1", "null", '"ä"', '[1,{"b":[]}]', '{"a":1}', "1e999", "true", "-0.5e-3", '"\\ud83d\\ude00"']


def random_schema(draw: random.Random) -> pa.Schema:
    """Return a schema of some columns, of any types."""
    names = draw.sample(NAMES, draw.randint(1, 5))
    return pa.schema([(name, _random_type(draw, 3)) for name in names])


def _random_type(draw: random.Random, depth: int) -> pa.DataType:
    match draw.randint(0, 9 if depth else 6):
        case 0 | 1 | 2 | 3:
            return draw.choice(_PLAIN)
        case 4:
            return pa.string()
        case 5:
            precision = draw.choice([1, 5, 18, 38])
            return pa.decimal128(precision, draw.choice([0, min(2, precision), precision]))
        case 6:
            return draw.choice([pa.binary(), ARROW_VARIANT])
        case 7:
            names = draw.sample(NAMES, draw.randint(1, 4))
            return pa.struct([(name, _random_type(draw, depth - 1)) for name in names])
        case 8:
            return pa.list_(_random_type(draw, depth - 1))
        case _:
            keys = draw.choice([pa.string(), pa.string(), pa.int32(), pa.timestamp("us", tz="UTC")])
            return pa.map_(keys, _random_type(draw, depth - 1))


def random_message(draw: random.Random, schema: pa.Schema, oddities: float) -> bytes:
    """Return an object with some of the columns; each value is of another type, or none, with this likelihood."""
    return _object(draw, list(schema), oddities).encode(errors="surrogatepass")


def mutated(draw: random.Random, message: bytes) -> bytes:
    """Return a message that was cut, or has bytes more, fewer or others somewhere."""
    at = draw.randint(0, len(message))
    to = min(len(message), at + draw.choice([1, 2, 5, 20]))
    match draw.randint(0, 7):
        case 0:
            return message[:at]
        case 1:
            return message[:at] + message[to:]
        case 2:
            return message[:at] + draw.choice(_BYTES) + message[at:]
        case 3:
            return message[:at] + draw.choice(_STRANGE).encode() + message[to:]
        case 4:
            return message[:at] + message[at:to] * 2 + message[to:]
        case 5:
            return message[:at] + bytes([draw.randint(0, 255)]) + message[at + 1 :]
        case 6:
            return message + draw.choice([b" ", b"\n", b"x", b"}", b"{}", b"\x00", b",", b"null"])
        case _:
            return draw.choice([b"\xef\xbb\xbf", b" ", b"[", b"\x00", b"\n"]) + message


def _value(draw: random.Random, kind: pa.DataType, oddities: float) -> str:
    if draw.random() < 0.1:
        return "null"
    if draw.random() < oddities:
        return draw.choice([*_STRANGE, *_NUMBERS, *_TEXTS, *map(json.dumps, _TIMES)])
    if is_variant(kind):
        return draw.choice([*_UNKNOWN, *_NUMBERS])
    if pa.types.is_struct(kind):
        return _object(draw, kind.fields, oddities)
    if pa.types.is_list(kind):
        return "[" + _gap(draw) + ",".join(_value(draw, kind.value_type, oddities) for _ in range(_few(draw))) + "]"
    if pa.types.is_map(kind):
        entries = (f"{_key(draw, kind.key_type)}:{_value(draw, kind.item_type, oddities)}" for _ in range(_few(draw)))
        return "{" + ",".join(entries) + _gap(draw) + "}"
    return _plain(draw, kind)


def _plain(draw: random.Random, kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return draw.choice(["true", "false"])
    if pa.types.is_integer(kind):
        least = -(1 << kind.bit_width - 1)
        return str(draw.choice([draw.randint(least, -least - 1), draw.randint(-9, 99), least, -least - 1]))
    if pa.types.is_floating(kind):
        usual = ["2.5", "7", repr(draw.random()), repr(draw.uniform(-1e9, 1e9)), repr(draw.lognormvariate(0, 9))]
        return draw.choice(_NUMBERS) if draw.random() < 0.05 else draw.choice(usual)
    if pa.types.is_decimal(kind):
        digits = str(draw.randrange(10 ** max(kind.precision - kind.scale, 0)))
        behind = f".{str(draw.randrange(10**kind.scale)).zfill(kind.scale)}" if kind.scale else ""
        number = f"{digits}{behind}"
        if draw.random() < 0.05:
            number = draw.choice(_NUMBERS)
        return draw.choice([number, f"-{number}", f'"{number}"'])
    if pa.types.is_temporal(kind):
        times = [f"{draw.randint(1, 9999):04}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"]
        if pa.types.is_timestamp(kind):
            fraction = f".{draw.randrange(10**6):06}"[: draw.choice([0, 2, 4, 7])]
            times.append(f"{times[0]}T{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:59{fraction}")
            times.append(times[-1] + draw.choice(["Z", "+02:00", "-11:30"]) if kind.tz is not None else times[-1])
        odd = draw.random() < 0.05
        return draw.choice([f'"{draw.choice(_TIMES)}"', *_epochs(draw)]) if odd else json.dumps(times[-1])
    if pa.types.is_binary(kind):
        return draw.choice(['"YWI="', '""', '"YQ=="'])
    return draw.choice(_TEXTS)


def _epochs(draw: random.Random) -> list[str]:
    return [str(draw.randrange(2 * 10**9)), str(draw.randint(-(10**17), 10**18))]


def _key(draw: random.Random, kind: pa.DataType) -> str:
    if pa.types.is_string(kind):
        return draw.choice([*_TEXTS[:5], *(f'"k{draw.randrange(40)}"' for _ in range(9)), '"\\u0061"'])
    if pa.types.is_integer(kind):
        return f'"{draw.choice(["1", "01", "-0", " 2", "x", *(str(draw.randrange(40)) for _ in range(9))])}"'
    return f'"{draw.choice(_TIMES)}"'


def _object(draw: random.Random, fields: Sequence[pa.Field], oddities: float) -> str:
    given: list[pa.Field | None] = [field for field in fields if draw.random() < 0.9]
    if draw.random() < 0.3:
        given.insert(draw.randint(0, len(given)), None)
    if draw.random() < 0.2:
        draw.shuffle(given)
    if given and draw.random() < 0.03:
        given.append(draw.choice(given))
    gap = _gap(draw)
    return "{" + ",".join(_member(draw, field, gap, oddities) for field in given) + _gap(draw) + "}"


def _member(draw: random.Random, field: pa.Field | None, gap: str, oddities: float) -> str:
    if field is None:
        name = draw.choice(["unknown", "u", "", "é", "a\\u0062"])
        return f'{gap}"{name}":{gap}{draw.choice([*_UNKNOWN, *_NUMBERS])}{gap}'
    return f'{gap}"{field.name}"{gap}:{gap}{_value(draw, field.type, oddities)}{gap}'


def _gap(draw: random.Random) -> str:
    return draw.choice(["", "", "", "", " ", "\n\t", "\r\n  "])


def _few(draw: random.Random) -> int:
    return draw.choice([0, 1, 2, 3, 3, 20])
