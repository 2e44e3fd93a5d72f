"""Kernels against plain Python, value by value; nothing that they get is an error."""

import json
import zlib
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.data_types import VARIANT
from streamapp_core.expressions.kernels import KERNELS
from streamapp_runtime.kernels import KERNEL_FUNCTIONS
from streamapp_runtime.kernels.byte_kernels import crc32, decoded, encoded, repaired_utf8, sha2
from streamapp_runtime.kernels.hash_kernels import murmur3, xxhash64
from streamapp_runtime.kernels.number_kernels import grouped_number, half_even, half_up, other_base
from streamapp_runtime.kernels.number_patterns import char_to_number, number_to_char
from streamapp_runtime.kernels.text_kernels import edit_distance, formatted
from streamapp_runtime.kernels.url_kernels import url_part
from streamapp_runtime.kernels.variant_kernels import parsed_variant
from streamapp_runtime.kernels.zone_kernels import zone_name
from streamapp_systems.arrow_types import arrow_type

TEXTS = st.text(max_size=80)
LONGS = st.integers(-(2**63), 2**63 - 1)
WHOLE = st.integers(-(10**9), 10**9)
MANY = 20
"""Times that rows are repeated: few rows are hashed in another way than many."""
MASK32, MASK64 = 2**32 - 1, 2**64 - 1


def texts(*values):
    return pa.array(values, pa.string())


def ints(*values):
    return pa.array(values, pa.int32())


def rotated(value, places, bits):
    return ((value << places) | (value >> (bits - places))) & (2**bits - 1)


def signed(value, bits):
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def murmur_word(seed, word):
    mixed = rotated(word * 0xCC9E2D51 & MASK32, 15, 32) * 0x1B873593 & MASK32
    return (rotated(seed ^ mixed, 13, 32) * 5 + 0xE6546B64) & MASK32


def murmur_of(data, seed=42):
    """Hash bytes as Spark does: what is behind the last word goes byte by byte, with its sign."""
    whole = len(data) // 4 * 4
    words = [int.from_bytes(data[place : place + 4], "little") for place in range(0, whole, 4)]
    for word in [*words, *(signed(byte, 8) & MASK32 for byte in data[whole:])]:
        seed = murmur_word(seed, word)
    seed ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        seed = (seed ^ (seed >> shift)) * factor & MASK32
    return signed(seed ^ (seed >> 16), 32)


@given(st.lists(st.none() | TEXTS, min_size=1, max_size=10))
def test_murmur3_of_texts_is_that_of_one_text_at_a_time(values):
    expected = [42 if value is None else murmur_of(value.encode()) for value in values]
    for many in (1, MANY):
        assert murmur3(pa.array(values * many, pa.string())).to_pylist() == expected * many


@given(st.lists(st.none() | LONGS, min_size=1, max_size=10), st.integers(0, 3))
def test_murmur3_of_numbers_is_that_of_their_bytes_also_of_a_part_of_an_array(values, start):
    def number(value):
        return 42 if value is None else murmur_of((value & MASK64).to_bytes(8, "little"))

    assert murmur3(pa.array(values, pa.int64()).slice(start)).to_pylist() == [number(value) for value in values[start:]]


@given(st.data())
def test_a_list_is_hashed_as_its_elements_are_one_after_the_other(data):
    kind, elements = data.draw(
        st.sampled_from([(pa.string(), TEXTS), (pa.int64(), LONGS), (pa.bool_(), st.booleans())])
    )
    rows = data.draw(st.lists(st.lists(st.none() | elements, max_size=4) | st.none(), min_size=1, max_size=6))
    width = max((len(row) for row in rows if row), default=0)
    columns = [pa.array([row[place] if row and place < len(row) else None for row in rows], kind)
               for place in range(max(width, 1))]  # fmt: skip
    lists = pa.array(rows, pa.list_(kind))
    for hashed in (murmur3, xxhash64):
        assert hashed(lists) == hashed(*columns)
        assert hashed(pa.StructArray.from_arrays([lists, lists], ["a", "b"])) == hashed(lists, lists)


@given(st.data())
def test_long_values_are_hashed_one_by_one_as_short_ones_are_side_by_side(data):
    kinds = {
        pa.int32(): st.integers(-(2**31), 2**31 - 1),
        pa.int64(): LONGS,
        pa.bool_(): st.booleans(),
        pa.float64(): st.floats(),
        pa.float32(): st.floats(width=32),
        pa.decimal128(5, 2): st.decimals("-9", "9", places=2),
        pa.decimal128(30, 2): st.decimals("-9e20", "9e20", places=2),
        pa.string(): TEXTS,
        pa.list_(pa.string()): st.lists(st.none() | st.text(max_size=2), max_size=3),
        pa.struct([("a", pa.int8()), ("b", pa.binary())]): st.fixed_dictionaries(
            {"a": st.none() | st.integers(0, 9), "b": st.none() | st.binary(max_size=70)}
        ),
    }
    kind = data.draw(st.sampled_from(list(kinds)))
    row = data.draw(st.lists(st.none() | kinds[kind], min_size=1, max_size=4)) * 20
    for hashed in (murmur3, xxhash64):
        parts = [pa.array([value], kind) for value in row]
        assert hashed(pa.array([[], row, None, row[:1]], pa.list_(kind)))[1] == hashed(*parts)[0]


@given(st.binary(min_size=40, max_size=100))
def test_long_runs_of_bytes_are_hashed_as_in_plain_python(data):
    data = data * 100
    columns = pa.array([b"", data, b"a"])
    assert murmur3(columns)[1].as_py() == murmur_of(data)
    assert xxhash64(columns)[1].as_py() == xxhash_of(data)


def test_decimals_are_hashed_with_all_their_digits():
    number = Decimal("9999999999999999999999999999.9999999999")
    assert murmur3(pa.array([number], pa.decimal128(38, 10)))[0].as_py() == -817514053  # Spark's own result


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", -7444071767201028348), ("a", -8582455328737087284), ("Spark", -4294468057691064905), ("x" * 100, None)],
)
def test_xxhash64_of_texts(text, expected):
    """The first are Spark's own results."""
    assert xxhash64(texts(text))[0].as_py() == (xxhash_of(text.encode()) if expected is None else expected)


def xxhash_of(data, seed=42):
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                          0x27D4EB2F165667C5)  # fmt: skip

    def round_(lane, word):
        return rotated((lane + word * p2) & MASK64, 31, 64) * p1 & MASK64

    def word(place, size):
        return int.from_bytes(data[place : place + size], "little")

    place = 0
    if len(data) >= 32:
        lanes = [(seed + p1 + p2) & MASK64, (seed + p2) & MASK64, seed, (seed - p1) & MASK64]
        while len(data) - place >= 32:
            lanes = [round_(lane, word(place + 8 * i, 8)) for i, lane in enumerate(lanes)]
            place += 32
        result = sum(rotated(lane, by, 64) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK64
        for lane in lanes:
            result = ((result ^ round_(0, lane)) * p1 + p4) & MASK64
    else:
        result = (seed + p5) & MASK64
    result = (result + len(data)) & MASK64
    for size in (8, 4, 1):
        while len(data) - place >= size:
            number = word(place, size)
            if size == 8:
                result = (rotated(result ^ round_(0, number), 27, 64) * p1 + p4) & MASK64
            elif size == 4:
                result = (rotated(result ^ (number * p1 & MASK64), 23, 64) * p2 + p3) & MASK64
            else:
                result = rotated(result ^ (number * p5 & MASK64), 11, 64) * p1 & MASK64
            place += size
    result = (result ^ (result >> 33)) * p2 & MASK64
    result = (result ^ (result >> 29)) * p3 & MASK64
    return signed(result ^ (result >> 32), 64)


@given(st.lists(st.none() | st.binary(max_size=100), min_size=1, max_size=10))
def test_xxhash64_of_bytes_is_that_of_one_value_at_a_time(values):
    expected = [42 if value is None else xxhash_of(value) for value in values]
    for many in (1, MANY):
        assert xxhash64(pa.array(values * many, pa.binary())).to_pylist() == expected * many


@given(st.lists(st.none() | st.binary(max_size=20), min_size=1, max_size=5))
def test_checksums_and_repaired_texts(values):
    column = pa.array(values, pa.binary())
    assert crc32(column).to_pylist() == [None if value is None else zlib.crc32(value) for value in values]
    for value, text in zip(values, repaired_utf8(column).to_pylist(), strict=True):
        assert text is None if value is None else text == value.decode(errors="replace")
    sizes = [(None if value is None else 96) for value in values]
    lengths = [None if value is None else len(value) for value in sha2(column, ints(*[384] * len(values))).to_pylist()]
    assert lengths == sizes


@given(TEXTS, st.sampled_from(["UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "US-ASCII", "ISO-8859-1"]))
def test_what_is_encoded_is_decoded(text, charset):
    data = encoded(texts(text), texts(charset))
    assert decoded(data, texts(charset))[0].as_py() in (text, None)
    assert data[0].is_valid or charset in ("US-ASCII", "ISO-8859-1")


@given(st.text("abé🙂", max_size=8), st.text("abé🙂", max_size=8))
def test_edit_distance_is_that_of_the_definition(left, right):
    table = {(i, 0): i for i in range(len(left) + 1)} | {(0, j): j for j in range(len(right) + 1)}
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a != b))
    assert edit_distance(texts(left), texts(right))[0].as_py() == table[len(left), len(right)]


def test_the_edit_distance_to_no_text_is_the_length_at_once():
    assert edit_distance(texts("é" * 10_000_000), texts(""))[0].as_py() == 10_000_000


@given(st.floats(-1e12, 1e12), st.integers(-5, 10))
@pytest.mark.parametrize("kernel, mode", [(half_even, ROUND_HALF_EVEN), (half_up, ROUND_HALF_UP)])
def test_kernels_round_the_written_digits(kernel, mode, value, places):
    expected = float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), mode))
    assert kernel(pa.array([value]), ints(places))[0].as_py() == pytest.approx(expected, abs=0)


@pytest.mark.parametrize(
    "written, name",
    [
        ("Europe/Paris", "Europe/Paris"),
        ("PST", "America/Los_Angeles"),
        ("UTC", "UTC"),
        ("GMT-3", "GMT-03:00"),
        ("UTC+05:30", "GMT+05:30"),
        ("+01:02:03", None),
        ("europe/paris", None),
        ("nowhere", None),
        (None, None),
    ],
)
def test_a_zone_in_a_text_has_the_name_that_duckdb_knows(written, name):
    assert zone_name(texts(written)).to_pylist() == [name]


@given(st.integers(-(2**63) + 1, 2**63 - 1), st.integers(2, 36))
def test_a_number_in_another_base_is_the_number(number, base):
    written = other_base(texts(str(number)), ints(10), ints(-base))[0].as_py()
    assert int(written, base) == number
    unsigned = other_base(texts(str(number)), ints(10), ints(base))[0].as_py()
    assert int(unsigned, base) == number % 2**64


FORMATS = ("S000000000000", "999,999,999,999MI", "000,000,000,000PR", "$999999999999.99S", "000000000000")


@given(WHOLE, st.sampled_from(FORMATS))
def test_a_number_is_read_as_it_was_written(number, form):
    number = (number if set(form) & set("SMP") else abs(number)) or 1  # no digit is written of 0 by 9
    written = number_to_char(texts(str(number)), texts(form))
    assert Decimal(char_to_number(written, texts(form))[0].as_py()) == number


@given(st.decimals(-(10**9), 10**9, places=3))
def test_a_grouped_number_has_commas_and_its_places(number):
    written = grouped_number(texts(f"{number:f}"), pa.array([None], pa.float64()), texts("3 1 2 2"))[0].as_py()
    expected = number.quantize(Decimal("0.01"), ROUND_HALF_EVEN)
    assert written == f"{expected:,f}"


@given(WHOLE, st.text("abc é%", max_size=5), st.integers(1, 15))
def test_a_format_is_that_of_python_where_both_have_it(number, text, width):
    form = f"%{width}d|%-{width}d|%0{width}d|%+d|%{width}s|%-{width}s|%x"
    values = (number, number, number, number, text, text, abs(number))
    columns = [pa.array([value]) for value in values]
    assert formatted(texts(form), *columns)[0].as_py() == form % values


URL_TEXT = st.text("ab1-._~%4:/?#[]@!$&'()*+,;= é", max_size=12)
PARTS = ("PROTOCOL", "AUTHORITY", "USERINFO", "HOST", "PATH", "QUERY", "FILE", "REF", "host")


@given(URL_TEXT | TEXTS, st.sampled_from(("", "http:", "http://", "//", "http://h/")))
def test_any_text_is_a_url_or_not_and_its_parts_are_of_it(text, start):
    url = start + text
    parts = url_part(texts(*[url] * len(PARTS)), texts(*PARTS)).to_pylist()
    assert all(part is None or part in url for part in parts)
    assert parts[-1] is None


@given(st.sampled_from(("http", "ftp+x")), st.sampled_from(("h", "a.b-c.de", "1.2.3.4", "[::1]")), st.booleans())
def test_a_url_falls_into_the_parts_that_it_was_made_of(scheme, host, user):
    authority = ("u:p@" if user else "") + host + ":80"
    url = f"{scheme}://{authority}/a/b?c=d&e#f"
    expected = [scheme, authority, "u:p" if user else None, host, "/a/b", "c=d&e", "/a/b?c=d&e", "f", None]
    assert url_part(texts(*[url] * len(PARTS)), texts(*PARTS)).to_pylist() == expected


def test_every_kernel_has_a_function():
    assert set(KERNEL_FUNCTIONS) == set(KERNELS)
    assert len({kernel.sql_name for kernel in KERNELS}) == len(KERNELS)


SQUARES = st.integers(0, 3).flatmap(
    lambda size: st.lists(
        st.lists(st.none() | st.integers(-1, 1), min_size=size, max_size=size), min_size=size, max_size=size
    )
)
ARGUMENTS = {
    "array<array<int>>": SQUARES,
    "string": TEXTS | st.text("019,.$<>-+ Nna", max_size=6),
    "binary": st.binary(max_size=9),
    "int": st.integers(-(2**31), 2**31 - 1) | st.integers(-40, 40),
    "bigint": LONGS,
    "double": st.floats(),
    "float": st.floats(width=32),
    "array<float>": st.lists(st.none() | st.floats(width=32), max_size=9),
    "array<double>": st.lists(st.none() | st.floats(), max_size=9),
    "array<string>": st.lists(st.none() | TEXTS, max_size=4),
    "boolean": st.booleans(),
    "array<boolean>": st.lists(st.none() | st.booleans(), max_size=4),
}
JSON_TEXTS = TEXTS | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
).map(json.dumps)
XML_OPTIONS = '{"attribute_prefix":"_","value_tag":"_VALUE","attributes":true,"trims":true,"local_names":false}'
LITERALS = {
    "number_to_char": {-1: "S9,999.99"},
    "char_to_number": {-1: "S9,999.99"},
    "grouped_number": {-1: "3 1 0 2"},
    "from_json": {-1: "struct<a:int>"},
    "from_csv": {1: "struct<a:int,b:string>", 2: ","},
    "to_csv": {1: ","},
    "from_xml": {1: "struct<a:int,b:date>", 2: XML_OPTIONS},
    "xml_values": {1: XML_OPTIONS},
    "schema_of_xml": {1: XML_OPTIONS},
    "csv_values": {1: ","},
    "read_variant": {1: "array<string>", 2: "Europe/Paris"},
    "variant_json": {1: "+02:00"},
    "tuples_of_both": {0: ["union", "double", "tuple", "sum", "12"]},
}
"""The arguments, by place, that are never a row's."""


TYPED = {kernel.sql_name: kernel for kernel in KERNELS if kernel.parameters is not None}


@pytest.mark.parametrize("name", TYPED)
@settings(max_examples=20)
@given(data=st.data())
def test_no_value_is_an_error_and_results_have_their_type(name, data):
    kernel = TYPED[name]
    columns = [
        pa.array(data.draw(st.lists(st.none() | ARGUMENTS[str(one)], min_size=3, max_size=3)), arrow_type(one))
        if one != VARIANT
        else parsed_variant(pa.array(data.draw(st.lists(st.none() | JSON_TEXTS, min_size=3, max_size=3)), pa.string()))
        for one in kernel.parameters
    ]
    if kernel.name in ("half_even", "half_up"):
        columns[1] = ints(-3, 0, 400)
    for place, literal in LITERALS.get(kernel.name, {}).items():
        columns[place] = pa.array([literal] * 3, columns[place].type)
    if kernel.name in ("number_to_char", "grouped_number"):
        columns[0] = texts("-1.50", None, "0")
    if kernel.name in ("encoded", "decoded"):
        columns[1] = texts("UTF-16", "US-ASCII", None)
    result = KERNEL_FUNCTIONS[kernel](*columns)
    assert len(result) == 3
    assert result.type == arrow_type(kernel.result)
