"""Every operator, cast and function of the table gives the values and types that real Spark SQL gives."""

import datetime as dt
import math
import random
import re
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from benchmarks.spark_examples import type_text
from pyspark.sql import SparkSession

from streamapp_core.expressions import (
    NO_FUNCTIONS,
    UserFunctions,
    check_aggregate,
    check_flat_map,
    check_select,
    select_sql,
    table,
)
from streamapp_core.expressions.functions import AGGREGATE_NAMES, BY_NAME, GENERATOR_NAMES
from streamapp_core.expressions.functions.lambdas import LAMBDAS_BY_NAME
from streamapp_core.expressions.sketch_aggregates import SKETCHES
from streamapp_core.expressions.time_zones import app_zone
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.variants.variant_columns import variants_of
from support import aggregates
from support.csv_texts import csv_text
from support.function_calls import FUNCTION_CALLS, NESTED_EXPRESSIONS, SCHEMA, expressions
from support.geometries import sound_wkb
from support.json_texts import json_path, json_text, sound_json_text
from support.spark_oracle import judge_session
from support.variant_calls import VARIANT_CALLS, VARIANT_CASTS
from support.xml_texts import sound_xml_text, xpath_of_nodes, xpath_value

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

ROWS = 250
INT_MIN, INT_MAX, LONG_MIN, LONG_MAX = -(2**31), 2**31 - 1, -(2**63), 2**63 - 1

TEXTS = [
    "", " ", "a", "A", "abc", "Abc", "  ab  ", "a,b,,c", ",", ",a", "a%b_c", "a\\b", "aab", "xyzzy", "é", "日本語",
    "🙂a🙂", "e\u0301x", "\u00a0a\u00a0", "a\nb", "b\n", "\ta\t", "k=12;j=3", "foo.bar", "12-34", "ZZZ", "0",
    "ab\r\n", "_",
]  # fmt: skip
NUMBERS = [
    "", " ", "0", "-0", "7", " 12 ", "+5", "-3", "1.5", "-2.5", ".5", "5.", ".", "+", "-.", "1e3", "1E-2",
    "-1.5e+2", "abc", "12abc", "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807",
    "9223372036854775808", "1e40", "1e400", "-1e400", "1e-400", "NaN", "nan", "-NaN", "Infinity", "-infinity",
    "inf", "+inf", "+INF", "1d", "2.5f", "3D", "1_000", "0x10", "00012", "99999999.995", "0.005", "-0.005",
    "0.0049999999999999999", "1,5", "\t8\n", "8\x7f", "1 2", "--1", "1e", "e1", "123456789012345678901234567890",
    "0.1", "16777217", "3.4028236e38", "t", "true", " YES ", "N", "False", "1.0",
]  # fmt: skip
DAYS = [
    "", "2024-02-29", "2023-02-29", "2024-2-3", "2024", "2024-05", " 2024-05-06 ", "2024-05-06T10:00",
    "2024-05-06 foo", "2024-05 foo", "0000-01-01", "-0044-03-15", "+12024-01-01", "12024-01-01", "24-01-01",
    "2024-13-01", "2024-00-10", "2024/01/02", "2024-1-", "-2024", "1969-12-31", "0001-01-01", "9999-12-31",
    "2024-01-01\n", "20240101", "abc", "now", "2024-01-32", "2024-01-01X",
]  # fmt: skip
MOMENTS = [
    "", "2024-02-29 23:59:59", "2024-02-29T01:02:03", "2024-02-29 1:2:3", "2024-02-29 01:02", "2024-02-29 01",
    "2024-02-29", "2024-02", "2024", "2024-02-29 01:02:03.5", "2024-02-29 01:02:03.123456",
    "2024-02-29 01:02:03.1234567", "2024-02-29 01:02:03.", "2024-02-29 24:00:00", "2024-02-29 23:60:00",
    "2024-02-29 23:59:60", "2024-02-29 01:02:03Z", "2024-02-29 01:02:03+03:00", "2024-02-29 01:02:03.5-03:30",
    "2024-02-29 01:02:03 UTC", "2024-02-29 01:02:03+3", "2024-02-29 01:02:03+19:00", "2024-02-29 01:02:03+0330",
    "2024-02-29 01:02:03 +01:00", "2024-02-29 01:02Z", "1969-12-31 23:59:59.999999", "0001-01-01 00:00:00",
    "-0044-03-15 01:02:03", "12024-01-01 00:00:00", "2023-02-29 00:00:00", "  2024-02-29 01:02:03  ", "2024-02-29 ",
    "2024-02-29T", "abc", "2024-02-29 01:02:03GMT", "2024-02-29 01:02:03-00:30", "2024-02-29 1 2 3",
    "2024-02-29 01:02:03 Europe/Paris", "2024-03-31 02:30:00.5 Europe/Paris", "2024-10-27 02:30:00 Europe/Paris",
    "1900-01-01 00:00:00America/New_York", "2024-02-29 01:02:03 PST", "2024-02-29 01:02:03 GMT+05:30",
    "2024-02-29 01:02:03 UTC-3", "2024-02-29 01:02:03 europe/paris", "2024-02-29 01:02:03 no/where",
    "2024-02-29 01:02 Europe/Paris", "2024-02-29 01:02:03 EST ",
]  # fmt: skip
INTS = [
    0, 1, -1, 2, -2, 5, -5, 10, 49, 50, 51, -50, 95, 1234, -1235, INT_MIN, INT_MAX, INT_MIN + 1, 65536, 46341,
    86400,
]  # fmt: skip
LONGS = [
    *INTS, LONG_MIN, LONG_MAX, LONG_MIN + 1, 2**31, -(2**31) - 1, 3037000500, 10**12, 1700000000123,
    -62135596800000, 2**53 + 1,
]  # fmt: skip
DOUBLES = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.675, 1.005, 0.1, 0.3, 1e-3, 9.99e-4, 1.25e-5, 1e7, 9999999.5,
    12345678.9, 1e15, 1e16, 1.5e16, 1e22, 1e300, -1e300, 2.2250738585072014e-308, 1e-10, 2147483647.5,
    -2147483648.5, 9.3e18, -9.3e18, 3.5e38, math.nan, math.inf, -math.inf, 123456.789, 0.005, 1e18, 99.995, 2.0,
    3.0, 1e-7, 4.35, 8.5,
]  # fmt: skip
FLOATS = [
    0.0, -0.0, 1.0, -1.5, 0.1, 2.675, 1e-5, 1e7, 1e10, 3.4e38, -3.4e38, math.nan, math.inf, -math.inf, 16777216.0,
    0.25, 99.5,
]  # fmt: skip
DATES = [
    dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31),
    dt.date(2023, 12, 31), dt.date(2024, 1, 1), dt.date(1582, 10, 4), dt.date(1582, 10, 15), dt.date(2000, 7, 2),
    dt.date(1900, 3, 1),
]  # fmt: skip
WORDS = ["abc", "Straße", "ÄÖÜ", "éa", "ΑΒΓ", "ΟΔΥΣΣΕΥΣ", "ΑΣ ΒΣ.", "Σ", "ΑΣ'Β", "İI", "ﬁn", "жук", "ÿ", "Word 1"]
DAY_NUMBERS = [
    -800_000, -719_529, 4_000_000, 2_932_897,
]  # fmt: skip
MICROS = [
    0, -1, 1, 999, -999, 1_000_000, -1_000_000, 1709251199_999999, 1709251200_000000, 1700000000_123456,
    -62135596800_000000, 253402300799_999999, 253402300800_000000, -62135596800_000001, -70_000_000_000_000_000,
    951782400_100000, -12219292800_000000, 3_600_000_000, 86_399_999_999,
]  # fmt: skip


def rows() -> pa.Table:
    draw = random.Random(20240229)

    def pick(values: list[Any], extra: Any = None) -> Any:
        if draw.random() < 0.06:
            return None
        return extra() if extra and draw.random() < 0.4 else draw.choice(values)

    def decimal(digits: int, scale: int) -> Decimal:
        size = draw.randint(1, digits)
        return Decimal(draw.choice([-1, 1]) * draw.randrange(10**size)).scaleb(-scale)

    def decimals(text: str) -> list[Decimal]:
        return [Decimal(number) for number in text.split()]

    def word() -> str:
        return "".join(draw.choice("abcXYZ 0129-_.,%\\äß€Ω🙂") for _ in range(draw.randint(0, 12)))

    def several(make: Callable[[], Any]) -> list[Any]:
        return [make() for _ in range(draw.choice([1, 1, 2, 3]))]

    def point() -> dict[str, Any] | None:
        return pick([None], lambda: {"a": pick([0, 1, 2]), "b": pick(["", "a", "b"])})

    def place() -> dict[str, Any] | None:
        inner = {"f": pick([1, LONG_MAX])}
        c = pick([[]], lambda: several(lambda: pick(DOUBLES[:6])))
        return pick([None], lambda: {"a": pick([0, 1]), "b": pick(["", "a"]), "c": c, "d e": pick([None, inner])})

    numbers = [str(draw.randint(-(10**6), 10**6)) for _ in range(40)]
    days = [(day - dt.date(1970, 1, 1)).days for day in DATES]
    makers = {
        "s": lambda: pick(TEXTS, word),
        "s2": lambda: pick([*TEXTS[:12], "b", "ab", "日"]),
        "num": lambda: pick([*NUMBERS, *numbers]),
        "day": lambda: pick(DAYS),
        "moment": lambda: pick(MOMENTS),
        "word": lambda: pick(WORDS),
        "i": lambda: pick(INTS, lambda: draw.randint(INT_MIN, INT_MAX)),
        "i2": lambda: pick(INTS, lambda: draw.randint(-20, 20)),
        "b": lambda: pick(LONGS, lambda: draw.randint(LONG_MIN, LONG_MAX)),
        "b2": lambda: pick(LONGS, lambda: draw.randint(-20, 20)),
        "f": lambda: pick(FLOATS, lambda: draw.randint(-10000, 10000) / 8),
        "f2": lambda: pick(FLOATS, lambda: draw.randint(-100, 100) / 4),
        "d": lambda: pick(DOUBLES, lambda: round(draw.uniform(-1e6, 1e6), draw.randint(0, 5))),
        "d2": lambda: pick(DOUBLES, lambda: float(draw.randint(-10, 10))),
        "small": lambda: pick([0.0, 1.0, 2.0, 0.5, -1.0, 10.0, 100.0, 3.0, math.nan, math.inf, -math.inf, -0.0]),
        "m": lambda: pick(decimals("0.00 99999999.99 -99999999.99 1.25 0.05"), lambda: decimal(10, 2)),
        "m2": lambda: pick(decimals("0.0000 1.0000 -3.0000 9999999999999999.9999"), lambda: decimal(20, 4)),
        "fine": lambda: pick(decimals("0E-12 1E-12 -0.000000150000 0.000001000000"), lambda: decimal(18, 12)),
        "whole": lambda: pick(decimals("0 3000000000 -150"), lambda: decimal(12, 0)),
        "dt": lambda: pick(days + DAY_NUMBERS, lambda: draw.randint(-30000, 40000)),
        "dt2": lambda: pick(days, lambda: draw.randint(-1000, 1000)),
        "ts": lambda: pick(MICROS, lambda: draw.randint(-(10**16), 10**16)),
        "ts2": lambda: pick(MICROS, lambda: draw.randint(-(10**9), 10**9)),
        "t": lambda: pick([True, False]),
        "t2": lambda: pick([True, False]),
        "x": lambda: pick([b"", b"a", b"abc", "é日".encode(), b"\x00\x01"]),
        "g": lambda: pick([1, 2, 3]),
        "tiny": lambda: pick([0, 1, -1, 127, -128], lambda: draw.randint(-128, 127)),
        "small2": lambda: pick([0, 1, -1, 32767, -32768], lambda: draw.randint(-300, 300)),
        "ntz": lambda: pick(MICROS, lambda: draw.randint(-(10**16), 10**16)),
        "arr": lambda: pick([[], [1]], lambda: several(lambda: pick([0, 1, -1, 2, INT_MAX]))),
        "arr2": lambda: pick([[], [1]], lambda: several(lambda: pick([0, 1, -1, 2, INT_MAX]))),
        "ars": lambda: pick([[]], lambda: several(lambda: pick([*TEXTS, *NUMBERS]))),
        "ard": lambda: pick([[]], lambda: several(lambda: pick(DOUBLES))),
        "aa": lambda: pick([[]], lambda: several(lambda: pick([[]], lambda: several(lambda: pick(INTS))))),
        "mp": lambda: pick(
            [[]], lambda: list({key: pick(INTS) for key in several(lambda: draw.choice("abAB,"))}.items())
        ),
        "mi": lambda: pick([[]], lambda: list({key: point() for key in several(lambda: draw.randint(-2, 3))}.items())),
        "st": place,
        "st2": place,
        "ast": lambda: pick([[]], lambda: several(point)),
        "js": lambda: pick(["{}"], lambda: json_text(draw)),
        "path": lambda: pick(["$"], lambda: json_path(draw)),
        "sound": lambda: pick(["{}"], lambda: sound_json_text(draw)),
        "xml": lambda: pick(["<a/>"], lambda: sound_xml_text(draw)),
        "csv": lambda: pick([""], lambda: csv_text(draw)),
        "wkb": lambda: pick([None], lambda: sound_wkb(draw)),
    }
    schema = arrow_schema(SCHEMA)
    columns = []
    for field in schema:
        values = [makers[field.name]() for _ in range(ROWS)]
        stored = {"timestamp[us, tz=UTC]": pa.int64(), "timestamp[us]": pa.int64(), "date32[day]": pa.int32()}.get(
            str(field.type), field.type
        )
        columns.append(pa.array(values, stored).cast(field.type))
    return pa.table(columns, schema=schema)


NUMERIC = ("i", "b", "f", "d", "m", "whole", "num")
PAIRS = (
    ("i", "i2"), ("b", "b2"), ("f", "f2"), ("d", "d2"), ("m", "m2"), ("i", "b2"), ("b", "f"), ("i", "m"),
    ("b", "m"), ("d", "m"), ("num", "i"), ("f", "d2"), ("m", "num"), ("i", "2"), ("m", "3"), ("m", "0.5"),
    ("i", "1.5"), ("d", "1e2"), ("b", "7L"), ("i", "null"),
)  # fmt: skip

COMPARED = [
    *PAIRS, ("s", "s2"), ("dt", "dt2"), ("ts", "ts2"), ("dt", "ts"), ("day", "dt"), ("moment", "ts"), ("t", "t2"),
    ("x", "x"), ("num", "m"), ("num", "d"), ("num", "b"), ("dt", "'2024-01-01'"), ("t", "'true'"), ("f", "d"),
    ("fine", "m"),
]  # fmt: skip
OF_TEXTS = expressions(
    r"""
s like translate(s2, '\\', '/'); s like concat('%', translate(s2, '\\', ''), '%'); s like any ('a%', concat('_', word))
s not like concat(translate(left(s, 1), '\\', ''), '_%'); s ilike concat(upper(translate(left(s, 2), '\\', '')), '%')
like(s, translate(s, '\\b', '/%')); ilike(s, translate(s, '\\', '_')); s like null
lpad(s, i2 % 20, 'xy'); rpad(s, i2 % 20, s2); lpad(x, tiny % 9); rpad(x, tiny % 9, x); rpad(s, tiny % 30)
repeat(s, i2 % 7); space(i2 % 9); substring_index(s, s2, 1); substring_index(s, left(s, 1), i2 % 4)
substring_index(repeat(s, 4), s, i2 % 5); substring_index(repeat('a', 9), left('aa', i2 % 3), tiny % 9)
decode(i2, 1, 2, 3, 4, 5); decode(s, 'a', dt, dt2); decode(s, 'a', null, 'b', s2); decode(s, 'a', i)
t = i2; t <> tiny; t <=> i; t = 1
d = t; t = 0.0; contains(x, s); contains(s, x); startswith(x, 'a'); endswith(s, x); to_char(x, 'base64')
regexp_replace(s, '\\s+$', '!'); regexp_replace(s, '^\\s+|\\s+$', ''); regexp_replace(s, 'b$', '<>')
regexp_replace(s, '(a|b)$', '[$1]'); regexp_replace(s, '.$', ''); regexp_replace(s, 'a|[a-c]$', '!')
regexp_replace(concat(s, ' \r\n'), '\\s+$', '!')
regexp_replace(concat(s, 'ab\r\n'), '(b)$', '$1$1'); regexp_replace(concat(s, '\u2028'), '[a-z ]+$', '!')
regexp_replace(s, '[a-z]', '#', 3); regexp_replace(s, '^.', '#', 2); regexp_replace(s, 'b$', '!', 2)
regexp_replace(s, '[^ -~]', '') rlike '\\ba'
regexp_replace('foo bar', '\\b(\\w)', '<$1>'); regexp_count('a ab-b', '\\bb')
regexp_replace(word, '\\b(\\p{L})', '<$1>'); s rlike '\\ba\\b'; regexp_extract(word, '(.)\\b', 1); s rlike 'b\\s$'
regexp_count(concat(s, word), '\\b.'); regexp_replace(concat(s, 'é'), 'a\\b', '#', 2)
regexp_substr(word, '\\b[^a]+\\b'); regexp_extract_all(concat(word, s), '\\b(.)')
regexp_instr(concat(s, '\r\n'), '\\s$'); regexp_extract(s, '(b?\\s)$')
regexp_replace(s, '[^\\x00-\\x7F]+', '?'); regexp_replace(concat(s, '\u001b[31m'), '\\e\\[[0-9,]*m', '')
s rlike '(?i)\\x41\\u0062'
regexp_replace(concat(s, '\u2003\u2028'), '\\h', '_'); regexp_replace(concat(s, '\u2028'), '[\\v]', '_')
split(s, '\\H')
regexp_count(s, '\\V'); regexp_replace(s, '\\Qa.b\\E|\\Q%\\E', '!'); s rlike '\\A[\\Q[a\\E]'
regexp_extract(s, '\\x{1F642}(.)', 1)
s rlike '\\p{Lu}'; regexp_replace(s, '[\\p{L}\\p{Nd}]+', '#'); regexp_replace(s, '\\P{L}', ''); split(s, '')
'it''s'; length(''''); "a""b"; concat('a' , '''b'''); s like '%''%'
"""
)
WIDE_DECIMALS = expressions(
    r"""
m2 * fine * m2; cast(m2 as decimal(38,10)) + m; cast(b as decimal(38,18)) - m2; cast(m as decimal(38,20)) / fine
cast(m2 as decimal(38,18)) % m; fine % cast(i2 as decimal(38,0)); pmod(m, m2); pmod(i, fine)
pmod(cast(b as decimal(38,0)), m); cast(b as decimal(38,10)) / cast(m as decimal(38,10))
m * m2 * whole / fine; cast(m as decimal(38,30)) * cast(fine as decimal(38,38)); m - cast(fine as decimal(38,12))
try_add(cast(m as decimal(38,6)), fine); cast(whole as decimal(38,6)) * 3
"""
)
OPERATORS = [
    *WIDE_DECIMALS,
    *(f"{a} {op} {b}" for a, b in PAIRS for op in "+-*/%"),
    *(f"{b} {op} {a}" for a, b in PAIRS[:8] for op in "-/%"),
    *(f"-{a}" for a in NUMERIC),
    *(f"{a} {op} {b}" for a, b in COMPARED for op in ("=", "<>", "<", "<=", ">", ">=", "<=>")),
    *expressions(
        r"""
tiny + tiny; tiny * small2; small2 - i; tiny / small2; tiny % small2; -tiny; -small2; tiny + b; small2 * m; tiny + d
tiny = small2; small2 < i; tiny in (1, 2); i & i2; b | i; i ^ b; tiny & small2; ~i; ~b; ~tiny; i << 3; b << i2; i >> i2
b >> 3; i div i2; b div b2; tiny div small2; m div m2; i div 0; m div i2; 7 div -2; s ilike '%A%'; s is distinct from s2
i is not distinct from i2; t is true; t is not false; s like 'a/%%' escape '/'; s not like '|_' escape '|'; x'1CAFE'
trim(both 'ab' from s); trim(leading from s); trim(trailing 'b' from s); substring(s from 2 for 2); position('a' in s)
overlay(s placing 'XX' from 2 for 1); extract(year from ts); extract(second from ts2); extract(week from dt)
extract(doy from moment)
-(-i); - 5; -2147483648; -9223372036854775808; 2147483648; 1.50; .5; 1.; 0.0; 0.010; 1e3; 3BD; 2.5D; 7L; i + -5
m - 1L; m + (-1S); m * 10L; m2 / 4Y; m % 2L; m - cast(1 as bigint); m - 1::bigint; coalesce(m, 1L); whole + 12L; -5Y - m
fine * fine; fine + m; fine / 3; m2 / m; m2 % m; m - fine; whole / 7; m * -2; 100 - m; (i + i2) * (b - b2); i != 1
i == 1; t and t2; t or t2; not t; !t; t and null; t or null; i is null; s is not null; null is null
i in (1, 2, null); i not in (1, -1); num in (1, 2); i in ('1', '5'); d in (1, 2.5); s in ('a', 'abc')
dt in ('2024-02-29'); i in (1.0, 2); i between -5 and i2; i not between 0 and 10; s between 'a' and 'b'
dt between '2000-01-01' and dt2; num between 1 and 10; s like 'a%'; s like '%b_'; s like 'a\\%b\\_c'; s like '_'
s not like '%a%'; s like ''; i like '1%'; s like '%\n%'; s rlike 'a'; s rlike '^a'; s rlike 'b$'; s rlike '^[a-c]+$'
s rlike '\\d+'; s rlike '\\s'; s rlike 'a.b'; s not rlike '[^a-z]'; s rlike '(?i)B'; s rlike '(?i)[^a-c]'
s rlike '(?i)é'; s rlike '(?s)a.b'; s rlike '(?is)A.+B$'; regexp_replace(s, '(?s).b', '#')
word rlike '(?i)[k-s]'; s rlike '\\p{Punct}'; s rlike '[\\p{Alpha}_]{2}'; s rlike '\\P{ASCII}'; s rlike '\\p{Upper}'
s like any ('a%', '%b'); s not like any ('a%', '%b'); s like all ('a%', '%c'); s not like all ('%a%', '%b')
s ilike any ('A%', '%B'); s not ilike all ('A%', '%B'); s like some ('a', 'b') and t; s rlike ''
s rlike '^(a|b){2,3}'; s rlike '\\W'
s rlike 'x(y|z)*?z'; s rlike '\\.'; i rlike '5'; s rlike '[\\w-]+=[0-9]{1,2}'; s || s2; s || i || d; x || x; x || s
s || null; m || ''; t || dt; case when i > 0 then 'p' when i < 0 then 'n' end; case when t then i else b end
case when t then i else m end; case when t then s else i end; case i when 1 then 1 when 2 then 2.5 else 1e0 end
case s when 'a' then dt else ts end; case when t then null else f end; 'a\nb'; 'it\'s'; "dq"; r'a\d'; 'a\\d'
'\u0041'; date '2024-02-29'; timestamp '2024-02-29 01:02:03.5'; timestamp '2024-02-29'; true; null = 1
(ts - ts2)::string; (dt - dt2)::string; ts + interval 1 day; ts - interval '1' month; dt + interval 1 month; dt + 1
dt - interval '1-1' year to month; dt + interval 1 day; dt + interval 3 hours; interval 3 days 2 hours + ts; 1 + dt
dt2 + tiny; dt2 - small2; (dt - ts)::string; (ts - dt2)::string; (ts - ts2)::bigint; (dt2 - dt)::bigint; dt - 1
ts - ts2 > interval 1 day; dt - dt2 <= interval '10' day; (ts - ts2) in (interval 1 day, null); (day - dt)::string
ts - ts2 between interval '-1' day and interval '100' hour; extract(day from ts - ts2); extract(hour from ts - ts2)
extract(minute from ts - ts2); extract(second from ts - ts2); extract(year from make_ym_interval(i2 % 100, tiny))
(interval '1' second * (i2 % 100))::string; (interval '7' month / nullif(tiny, 0))::string; (-(ts - ts2))::string
(interval '7' month * small2 / 3)::string; (interval '7' month * 0.5)::string; ((dt - dt2) * 1.5)::string
((ts2 - timestamp '1970-01-01') / 3.3)::string; (interval '1' second * cast(tiny as double))::string
(ts - ts2) div interval 1 day; make_ym_interval(tiny) div interval '5' month; (dt - dt2) div interval '0' second
cast(ts2 - timestamp '1970-01-01' as interval day)::string; interval '1:30' hour to minute::int
cast(ts2 - timestamp '1970-01-01' as interval hour to minute)::string; cast(tiny as interval day)::string
cast(make_ym_interval(tiny, small2) as interval year)::string; cast(i2 as interval month)::string
coalesce(dt - dt2, interval 1 hour)::string; if(t, ts - ts2, dt - dt2)::string; concat(interval 1 day, s)
case when t then interval '1' year else interval '1' month end::string; nullif(dt - dt2, interval 1 day)::string
greatest(dt - dt2, interval 1 hour)::string; dt + interval '2' week; ts + interval '1.5' second; interval 1 day is null
to_timestamp_ntz(ts) - interval 1 day; to_timestamp_ntz(ts) + interval 1 month; to_timestamp_ntz(ts)::string
(to_timestamp_ntz(ts) - ts2)::string; (to_timestamp_ntz(ts) - dt2)::string; to_timestamp_ntz(ts) = ts
to_timestamp_ntz(ts) < dt; timestamp_ntz '2024-02-29 10:00:00.5'; ts::timestamp_ntz; moment::timestamp_ntz
ts2 + make_interval(tiny, small2, i2 % 100, tiny, small2, tiny, fine); make_interval(0, i2 % 9) + dt2
to_timestamp_ntz(ts2) - make_interval(0, 1, tiny); dt2 - try_make_interval(0, 1, 0, 0, small2, 0, i2)
4 | 2 & 1; 6 ^ 2 | 1; 1 << 2 + 1; 7 & 3 >> 1; 1 << 3 >>> 1; -8 >>> 1 + 1; 3 | 4 ^ 4 & 6; i | i2 & 3 ^ i; i & i2 = 0
i >>> i2; b >>> i2; tiny >>> 1; 'a' || 1 + 2; 1 + 2 || 'a'; 'a' || 2 * 3; '1' || 2 - 1; s || i + 1; X 'F0'; x  "0F"
x '0'; i | 1 << 2; ~i & i2 | 1; i2 + 1 >>> 3 | 1; i = i2 is null; i < i2 in (true); t = t2 is not null; i = i2 = t
not i = i2 is null; i < 3 = t; t = t2 between false and true; i = 1 is distinct from t; i is not null and i2 = 1 or t
i between 0 and 1 + 1 and t; t = t2 like 't%'; i = i2 is true; i = i2 is not distinct from t2; i in (1) and t
s not like '%a%' and t; i <=> i2 = t; case when i = 1 is null then 1 else 2 end; i != i2 <> t
cast(i as string) || 'x' = s; -i || 'x'; interval 1 day > interval 2 hours = t; s rlike 'a' and not t = t2
overlay(x placing x'1122' from 2 for 1); (i, s); (i, s) in ((1, 'a'), (i, s2)); (i + 1, s).col1; (i, s) = (i2, s2)
(i, s) in ((i2, s), (i, s)); (i, (s, t)); (i, s) not in ((1, 'a')); s ilike 'A/%%' escape '/'
s not ilike '%|_%' escape '|'; word ilike '%É' escape '/'; s ilike '%B_' escape '!'; (1, 'a') in ((1, 'a'), (2, 'b'))
ts + interval 1 millisecond; interval '1' year > interval '11' month; (interval '-1 02:03:04.5' day to second)::string
"""
    ),
]

CAST = [
    ("num s i b f d m m2 fine whole t tiny small2", "tinyint smallint int bigint float double string"),
    ("num i b f d m m2 fine whole tiny small2", "decimal(10,2) decimal(5,0) decimal(38,18) decimal decimal(4,4)"),
    ("num i b f d m t", "boolean"),
    ("day moment dt ts", "date timestamp string"),
]
TRIED = [
    ("num i b f d t tiny small2", "tinyint smallint int bigint double boolean decimal(10,2) string"),
    ("m m2 fine whole", "tinyint smallint int double boolean decimal(4,1)"),
    ("day moment dt ts", "date timestamp string"),
]
CASTS = [
    *(f"try_cast({a} as {b})" for columns, types in TRIED for a in columns.split() for b in types.split()),
    *(f"cast({a} as {b})" for columns, types in CAST for a in columns.split() for b in types.split()),
    *expressions(
        r"""
cast(cast(fine as decimal(12,12)) as string); cast(-0.5 as string); array(-0.5, 0.25)::string; cast('epoch' as date)
ts2 > ' Epoch'; to_json(struct(cast(fine as decimal(6,6)) as x, map(0.5, m)))
cast(ts as decimal(20,6)); cast(ts as decimal(12,1)); cast(ts2 as float); dt + i; date_add(dt2, 2147480000 + tiny)
date_sub(dt, i); substring(s, i2); substring(x, i)
cast(i as timestamp); cast(b2 % 1000000 as timestamp); cast(small as timestamp); cast(ts as bigint); cast(ts as int)
cast(ts as double); cast(double('4.9e-324') as string); cast(double('-1e-323') as string)
cast(float('1.4e-45') as string); cast(double('4.79e21') as string); cast(float('5.5259205e25') as string)
cast(double(b) as string); cast(float(b) as string); cast(float(b) as variant)::string
to_json(struct(double(b), float(b))); format_number(double(b) * 1e4, 1); round(double(b), -1)
format_string('%f', double(b)); cast(double(b) as variant)::string
get_json_object(to_json(struct(double(b) as x)), '$.x'); double(b)::decimal(38,18)
cast(double(b) * 1e4 as decimal(38,2)); cast(double('1.41e36') as decimal(38,2))
cast(concat(num, 'e33') as decimal(38,1)); cast(power(2e0, small2) as string)
cast(float('1e-44') as string); cast(double('1e-320') as string); cast(t as decimal(3,1)); cast(t as decimal(1,1))
cast(t as timestamp); cast(ts as boolean); cast(m as timestamp)
cast(fine as timestamp); cast(i as binary); cast(b as binary); cast(tiny as binary); cast(small2 as binary)
to_timestamp(i); to_timestamp(m); to_timestamp(small)
cast(s as binary); cast(x as string); cast(s as string); i::string; cast(null as int)
"""
    ),
]

AGGREGATES = expressions(
    r"""
max(st); min(st2); max(arr); min(ars); max(aa); min(ast); max(array(i, i2)); min(struct(m, s)); max(struct(s2, i)).i
count(distinct st); count(distinct arr); count(distinct ard); count(distinct s, t); count(distinct d, f, st2)
count(distinct i2, t) filter (where t2); sum(distinct i2); sum(distinct tiny) filter (where t); sum(distinct m)
avg(distinct i2); avg(distinct m); max(distinct s); sort_array(collect_set(arr)); sort_array(collect_set(struct(i2, s)))
sort_array(collect_list(distinct s)); sort_array(array_agg(distinct aa))
sum(cast(m2 as decimal(30,4))); sum(cast(i as decimal(38,28)))
avg(cast(m2 as decimal(30,4))); avg(cast(m as decimal(25,20))); avg(cast(i as decimal(38,10)))
count(*); count(i); count(1); sum(i); sum(b); sum(m); sum(whole); sum(i2 / 4); avg(i2); mean(m); avg(i2 + 0.5)
min(i); max(d); min(d); min(s); max(s); max(dt); min(ts); max(t); min(m); max(f); round(avg(i2), 1)
sum(i2) / count(*); coalesce(sum(i), 0) + g; max(length(s)) - min(length(s)); sum(if(t, 1, 0))
case when count(*) > 80 then 'many' else 'few' end; sum(num) > 0; sum(m) / count(m); avg(m2); min(x); sum(i2 * 0.5)
count(distinct i2); count(distinct d); count(distinct f); count(distinct s); count(distinct m); count(distinct ts)
count(distinct dt); count(distinct x); count(distinct t); count(distinct upper(s)) + 1; first(0 + g); last(0 + g)
count(i, d); count(i, s, t); count_if(i > 0); count_if(t); bool_and(i > 0); every(t); bool_or(t); any(i = 0)
some(null = g); bit_and(i); bit_or(b); bit_xor(tiny); bit_xor(i2); bit_and(small2); median(i); median(d2); median(m)
percentile(i2, 0.3); percentile(d, 0.9); percentile(f, 0); percentile(b, 1); percentile(m2, 0.123); percentile(num, 0.5)
percentile_cont(0.25) within group (order by i2); percentile_cont(0.7) within group (order by d2 desc)
percentile_disc(0.25) within group (order by i2); percentile_disc(0.5) within group (order by m desc)
percentile(i2, array(0.75, 0, 0.3)); percentile_cont(array(0.25, 1)) within group (order by d2 desc)
percentile_disc(array(0.5, 0.1)) within group (order by m); percentile(i2, array(0.5)) filter (where i2 > 1000000)
percentile_disc(0) within group (order by d); percentile_disc(1.0) within group (order by b)
mode(i2, true); mode(s, true); mode(m, true); mode(t, true); mode(dt, true); mode(ts, true); mode(x, true)
mode() within group (order by s2); mode() within group (order by i2 desc); mode() within group (order by whole)
sum(i) filter (where i > 0); count(*) filter (where t); count(d) filter (where d > 0); avg(m) filter (where t or t2)
max(s) filter (where length(s) < 4); count(distinct i2) filter (where t); sum(b) filter (where i > i)
median(i2) filter (where i2 > 0); mode(i2, true) filter (where t) + 1; regr_count(i, d); regr_count(d, m)
sort_array(collect_set(i2)); sort_array(collect_set(s)); sort_array(collect_set(x)); sort_array(collect_set(ts))
size(collect_set(d)); sort_array(collect_set(m)) ; sort_array(collect_set(dt) filter (where t)); size(collect_list(f))
approx_count_distinct(i); approx_count_distinct(s, 0.01); approx_count_distinct(d); approx_count_distinct(f, 0.39)
approx_count_distinct(m2) + 1; approx_count_distinct(ts) filter (where t); bitmap_construct_agg(small2 & 32767)
bitmap_construct_agg(bitmap_bit_position(b)); hex(bitmap_or_agg(x)); bitmap_and_agg(x)
bitmap_or_agg(x) filter (where t)
count_min_sketch(i, 0.1d, 0.9d, 7); count_min_sketch(s, 1e-1, 0.99d, -1); count_min_sketch(x, 0.3d, 0.5d, 0)
count_min_sketch(tiny, 0.3d, 0.5d, 0) filter (where t)
sum(dt2 - date '2024-01-01')::string; avg(ts2 - timestamp '2020-01-01')::string; mean(make_ym_interval(tiny))::string
max(ts2 - timestamp '2020-01-01')::bigint; min(dt - dt2)::string; count(distinct make_ym_interval(tiny))
sum(make_ym_interval(tiny, small2)) filter (where t) > interval '3' month
try_avg(interval '1:30' hour to minute * tiny)::string
array_join(slice(collect_list(1.5 + g), 1, 3), ' | '); array_join(slice(collect_list(if(i > i, i, null)), 1, 3), ',')
"""
)

BY_ARRIVAL = expressions(
    r"""
first(st); last(arr); first(mp); any_value(ast, true); last(mi) ignore nulls; first(struct(i, s)) filter (where t)
collect_list(st2); collect_list(struct(i, s as x)); collect_list(arr); array_agg(mp); collect_list(aa) filter (where t)
vector_sum(array(f, float(i))); vector_avg(array(float(i2), float(g))) filter (where t)
vector_sum(cast(null as array<float>)); vector_avg(if(t, array(float(tiny)), array(float(tiny), null)))
max_by(st, i); min_by(arr, d); max_by(struct(s, i2), m); max_by(s, struct(i2, b)); min_by(i, ars); max_by(mp, i, 3)
collect_list(struct(i, ts)).i; to_json(first(ast)); max_by(struct(s, i2), m).s
first(i); last(i); first(s) ignore nulls; last(d) ignore nulls; first(m, true); last(ts, true); any_value(x)
any_value(s) ignore nulls; first_value(dt); last_value(t, true); first(i) filter (where t)
last(i, true) filter (where t); first(s) respect nulls; max_by(s, i); max_by(i, s); min_by(d, i2); max_by(ts, d)
min_by(m, f2); max_by(t, m); min_by(s, m2); min_by(i, x); max_by(i, dt); min_by(s, t)
max_by(i, i2) filter (where t); max_by(num, tiny); stddev(i2); std(small2); stddev_samp(tiny); stddev_pop(i)
variance(m); var_samp(b2); var_pop(i2); skewness(i2); skewness(m2); kurtosis(i2); kurtosis(i); kurtosis(tiny)
stddev(d2); skewness(d2); kurtosis(d2); variance(small); variance(d); var_pop(num); corr(i2, tiny); corr(i, m)
corr(d2, d2); corr(g, i); corr(i2, i2); covar_pop(i2, m); covar_samp(b2, small2); covar_samp(g, g); regr_avgx(i2, m)
regr_avgy(i2, tiny); regr_avgx(d2, i2); regr_r2(i2, tiny); regr_r2(m, i); regr_r2(g, i2); regr_r2(i2, g)
regr_r2(d2, i2); regr_sxx(i2, m2); regr_syy(i2, m2); regr_sxy(i2, m2); regr_slope(i2, tiny); regr_slope(tiny, m)
regr_intercept(i2, tiny); regr_intercept(m, small2); regr_slope(i2, g); regr_slope(d2, i); regr_intercept(i, d2)
try_sum(i); try_sum(b); try_sum(b2); try_sum(tiny); try_sum(m); try_avg(i2); try_avg(m); stddev(i2) filter (where t)
corr(i2, tiny) filter (where i2 > 0); try_sum(b) filter (where b < 0); listagg(s, ','); string_agg(i2, '-')
listagg(m); listagg(s) filter (where t); round(stddev(i2), 2) + 1
listagg(s2, ',') within group (order by s2); string_agg(s) within group (order by s desc)
collect_list(i); collect_list(s); array_agg(ts); collect_list(m) filter (where t); collect_list(x); collect_list(t)
collect_list(dt); collect_list(i) filter (where i > i); slice(collect_list(tiny), 2, 1001); collect_list(upper(s))
first(ts - ts2)::string; last(dt - dt2) ignore nulls::string; any_value(make_ym_interval(tiny))::string
max_by(s, i, 3); min_by(i, s, 2); max_by(dt, d, 5); min_by(m, m2, 4)
min_by(x, t, 2); max_by(i2, t, 3) filter (where t2); mode(s); mode(i2, false); mode(ts); mode(t); mode(dt); mode(b2)
mode(tiny) filter (where t); histogram_numeric(i2, 5); histogram_numeric(tiny, 3); histogram_numeric(d2, 4)
histogram_numeric(dt, 2); histogram_numeric(ts, 6) filter (where t); histogram_numeric(i2 / 4, 3)
percentile_approx(i2, 0.5); percentile_approx(d2, array(0.9, 0, 0.25, 1), 3); approx_percentile(ts, 0.1, 2)
schema_of_variant_agg(try_parse_json(js)); schema_of_variant_agg(try_parse_json(sound)) filter (where t)
schema_of_variant_agg(cast(m as variant)); schema_of_variant_agg(cast(ars as variant)); count(try_parse_json(js))
schema_of_variant_agg(try_parse_json(concat('{"', s, '":', num, ',"a":', word, '}')))
percentile_approx(f, 0.99) filter (where t); approx_percentile(num, array(0.5), 1); percentile_approx(dt, 0.5)
listagg(s) within group (order by s) filter (where i > i); sum(small2 / 8); avg(tiny)
"""
)

GENERATORS = expressions(
    r"""
i, explode(split(s, ',')) as a; explode(split(s, '[,=]')) as a, s; explode(split(i, '1')) as a; i, explode(arr) as x
explode(mp); explode(mp) as (k, v), i; posexplode(ars) as (p, v), s; posexplode(mp); i, explode_outer(arr) as x
explode_outer(mp), i; posexplode_outer(ars), i; posexplode_outer(mi); inline(ast); i, inline_outer(ast)
inline(ast) as (q, w), i; stack(2, i, s, i2, s2) as (a, b), g; explode(array(st, null)) as c; explode(aa) as c, i
explode(filter(arr, x -> x > 0)) as c; i, explode(ast.b) as b; explode_outer(st.c) as c; inline(map_entries(mp))
stack(2, 1, d, 2, d2); stack(3, i, i2); inline(arrays_zip(arr, ars)); explode(sequence(0, g)) as n, g; posexplode(aa)
json_tuple(js, 'a', 'b', 'a') as (x, y, z), i; json_tuple(js, 'a'); i, json_tuple(js, s2, 'a b')
json_tuple(null || s, 'a'); explode_outer(transform(ast, x -> x.a)), s; i, explode(array_distinct(ard)) as x
explode(map(1, s, 2, s2)), i
explode(collection => arr) as x, i; posexplode_outer(collection => mp); inline(input => ast); inline_outer(input => ast)
"""
)

LAST_BITS = (
    "exp(", "ln(", "log", "pow(", "power(", "sin", "cos", "tan", "cot", "csc", "sec", "asin", "acos", "atan", "cbrt",
    "hypot",
)  # fmt: skip


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return rows()


@pytest.fixture(scope="module")
def spark(data: pa.Table) -> Iterator[SparkSession]:
    with judge_session() as session:
        frame = session.createDataFrame(data)  # which makes a timestamp with time zone of every one
        frame.withColumn("ntz", frame.ntz.cast("timestamp_ntz")).createOrReplaceTempView("t")
        yield session


@pytest.fixture(scope="module")
def engine() -> Iterator[SqlEngine]:
    with SqlEngine() as engine:
        yield engine


def plain(column: pa.ChunkedArray) -> list[Any]:
    """Values that compare by `==`: NaN as text, floats by their bits, timestamps and dates as numbers."""
    numbers = with_numbers(column.type)
    values = (column if numbers == column.type else column.cast(numbers)).to_pylist()
    return [exact(value) for value in values] if has_floats(column.type) else values


def with_numbers(kind: pa.DataType) -> pa.DataType:
    """The type with numbers in place of what is counted from 1970: Python has no such dates after 9999."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_map(kind):
        return pa.map_(with_numbers(kind.key_type), with_numbers(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(with_numbers(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, with_numbers(field.type)) for field in kind.fields])
    return kind


def has_floats(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or any(has_floats(kind.field(i).type) for i in range(kind.num_fields))


def exact(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack("d", value)
    if isinstance(value, dict):
        return {name: exact(inner) for name, inner in value.items()}
    return type(value)(map(exact, value)) if isinstance(value, list | tuple) else value


def differences(expression: str, ours: pa.ChunkedArray, spark: pa.ChunkedArray, data: pa.Table) -> list[str]:
    if type_text(ours.type) != type_text(spark.type):
        return [f"{expression}: type {ours.type}, Spark's is {spark.type}"]
    ours_values, spark_values = plain(ours), plain(spark)
    wrong = [row for row in range(len(ours)) if ours_values[row] != spark_values[row]]
    if wrong and expression.startswith(LAST_BITS):
        wrong = [row for row in wrong if not close(ours[row].as_py(), spark[row].as_py())]
    used = [name for name in data.column_names if re.search(rf"\b{name}\b", expression)]
    return [
        f"{expression}: {shown(ours, row)!r}, Spark's is {shown(spark, row)!r}"
        + (f" for { {name: shown(data[name], row) for name in used} }" if len(ours) == len(data) else "")
        for row in wrong[:3]
    ]


def with_one_zero(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Aggregates keep values as keys are kept: -0.0 is 0.0."""
    if pa.types.is_list(values.type) and pa.types.is_floating(values.type.value_type):
        lists = [
            value and [None if number is None else number + 0.0 for number in value] for value in values.to_pylist()
        ]
        return pa.chunked_array([pa.array(lists, values.type)])
    return pc.add(values, pa.scalar(0.0, values.type)) if pa.types.is_floating(values.type) else values


def shown(values: pa.ChunkedArray, row: int) -> Any:
    return plain(values)[row] if with_numbers(values.type) != values.type else values[row].as_py()


def close(ours: Any, spark: Any) -> bool:
    return ours is not None and spark is not None and math.isclose(ours, spark, rel_tol=3e-15)


def shown_in_utc(values: pa.ChunkedArray) -> pa.ChunkedArray:
    def in_utc(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_struct(kind):
            return pa.struct([field.with_type(in_utc(field.type)) for field in kind.fields])
        if pa.types.is_list(kind):
            return pa.list_(kind.value_field.with_type(in_utc(kind.value_type)))
        if pa.types.is_map(kind):
            return pa.map_(in_utc(kind.key_type), in_utc(kind.item_type))
        return pa.timestamp("us", tz="UTC") if pa.types.is_timestamp(kind) and kind.tz else kind

    return values.cast(in_utc(values.type))


def compare(
    expressions: list[str],
    data: pa.Table,
    spark: SparkSession,
    engine: SqlEngine,
    functions: UserFunctions = NO_FUNCTIONS,
    view: str = "t",
) -> None:
    found: list[str] = []
    for start in range(0, len(expressions), 50):
        chunk = expressions[start : start + 50]
        theirs = spark.sql(
            "select " + ", ".join(f"{text} as c{i}" for i, text in enumerate(chunk)) + f" from {view}"
        ).toArrow()
        for i, text in enumerate(chunk):
            select = check_select(f"{text} as c{i}", SCHEMA, functions)
            ours = engine.query(select_sql(select.columns, table("t")), t=data)
            assert ours.schema == arrow_schema(select.schema), text
            found += differences(text, ours.column(0), shown_in_utc(theirs.column(i)), data)
    assert not found, "\n".join(found)


def test_operators_give_what_spark_gives(data, spark, engine):
    compare(OPERATORS, data, spark, engine)


def test_nested_values_give_what_spark_gives(data, spark, engine):
    compare(NESTED_EXPRESSIONS, data, spark, engine)


def test_texts_and_patterns_give_what_spark_gives(data, spark, engine):
    compare(OF_TEXTS, data, spark, engine)


def test_casts_give_what_spark_gives(data, spark, engine):
    compare(CASTS, data, spark, engine)


OF_TIMES = re.compile(r"\b(ts2?|ntz|dt2?|moment|day)\b|time|date|interval")
OF_ZONES = expressions(
    """
ts::string; ts::date::timestamp; ntz::timestamp; dt::timestamp; cast('epoch' as timestamp)
time_bucket(interval '36' hour, ts); time_bucket(interval '1' day, ts, timestamp '2024-11-03 01:30:00')
time_bucket(interval '7' hour, ts2, timestamp '2024-07-01 03:00:00'); ts + make_interval(0, 1, 0, 2, 25)
sequence(ts2, ts2 - interval '30' day, interval '-7 2' day to hour); sequence(ts2, ts2 + interval '4' day)
to_timestamp_ntz(moment, 'yyyy-MM-dd HH:mm:ss'); date_trunc('hour', ts); date_format(ts, 'X XX XXX XXXX XXXXX')
date_format(ts, 'x xx xxx xxxx xxxxx'); date_format(ts, 'Z ZZ ZZZ ZZZZ ZZZZZ O OOOO VV'); date_trunc('day', ts2)
cast(cast(ts as variant) as string); cast(cast(ts as variant) as date); cast(cast(dt as variant) as timestamp)
cast(cast(ntz as variant) as timestamp); to_json(cast(ts as variant)); cast(cast(ts as variant) as timestamp_ntz)
"""
)


def turns_of(zone: str) -> list[int]:
    """Return the moments, in microseconds, near which the clocks of a zone were turned, to the second."""
    clock = ZoneInfo(zone) if zone[0] not in "+-" else dt.UTC
    found, step = [0], dt.timedelta(days=7)
    moment = dt.datetime(1880, 1, 1, tzinfo=dt.UTC)
    while moment.year < 2050:
        before, after = moment, moment + step
        old = before.astimezone(clock).utcoffset()
        if after.astimezone(clock).utcoffset() != old:
            while after - before > dt.timedelta(seconds=1):
                middle = before + (after - before) / 2
                before, after = (middle, after) if middle.astimezone(clock).utcoffset() == old else (before, middle)
            found.append(round(after.timestamp()) * 1_000_000)
        moment += step
    return found


def rows_of_zone(zone: str, data: pa.Table) -> pa.Table:
    """Return rows of which most times are close to those when clocks are turned."""
    draw, turns, hour = random.Random(7), turns_of(zone), 3_600_000_000
    clock = ZoneInfo(zone) if zone[0] not in "+-" else dt.timezone(dt.timedelta(hours=5, minutes=30))

    def moment() -> int:
        near = draw.choice([0, -1, 1, hour // 2, -hour // 2, hour, -hour, 24 * hour, draw.randint(-hour, hour)])
        return draw.choice(turns) + near

    def local() -> int:
        shown = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=moment())
        offset = shown.astimezone(clock).utcoffset() or dt.timedelta()
        near = draw.choice([0, hour // 2, -hour // 2, hour, -hour])
        return (shown - dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + offset) // dt.timedelta(microseconds=1) + near

    def text() -> str:
        form = draw.choice(["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S+02:00"])
        return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=local())).strftime(form)

    makers = {
        "ts": moment, "ts2": moment, "ntz": local, "dt": lambda: local() // (24 * hour),
        "dt2": lambda: local() // (24 * hour), "moment": text, "day": lambda: text()[:10],
    }  # fmt: skip
    for name, make in makers.items():
        field = data.schema.field(name)
        numbers = data.column(name).cast(with_numbers(field.type)).to_pylist()
        values = [make() if draw.random() < 0.6 else value for value in numbers]
        made = pa.array(values, with_numbers(field.type)).cast(field.type)
        data = data.set_column(data.column_names.index(name), field, made)
    return data


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "+05:30"])
def test_times_in_a_zone_are_what_spark_gives(zone, data, spark, engine):
    rows_ = rows_of_zone(zone, data)
    frame = spark.createDataFrame(rows_)
    frame.withColumn("ntz", frame.ntz.cast("timestamp_ntz")).createOrReplaceTempView("zoned")
    refused = "date_format(ts, 'X XXX x xxx Z ZZZZ z VV O')"  # names of zones whose clocks are turned
    beyond = ("dt + i", "date_add(dt, i)", "date_sub(dt, i)")  # null where the last days of a date are, in any zone
    texts = [*OPERATORS, *CASTS, *FUNCTION_CALLS, *NESTED_EXPRESSIONS, *VARIANT_CASTS, *VARIANT_CALLS, *OF_ZONES]
    chosen = [text for text in texts if OF_TIMES.search(text) and text not in (refused, *beyond)]
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        compare(chosen, rows_, spark, engine, UserFunctions(time_zone=app_zone(zone)), "zoned")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_every_function_of_the_table_is_called_by_all_its_names():
    inside = {  # their results are shown by other functions
        name
        for text in [*VARIANT_CALLS, *FUNCTION_CALLS]
        for name in re.findall(r"\w+(?=\()", text)
        if "vari" in name or "parse" in name or name.startswith("st_")
    }
    called = {text.partition("(")[0] for text in FUNCTION_CALLS}
    assert called | inside == {*BY_NAME, *LAMBDAS_BY_NAME, "struct"}


def test_functions_give_what_spark_gives(data, spark, engine):
    compare(FUNCTION_CALLS, data, spark, engine)


def test_variants_give_what_spark_gives(data, spark, engine):
    compare([*VARIANT_CASTS, *VARIANT_CALLS], data, spark, engine)


@pytest.mark.parametrize("column", ["js", "sound"])
@pytest.mark.parametrize("outer", ["", "_outer"])
def test_the_members_of_variants_are_those_that_spark_gives(column, outer, data, spark, engine):
    call = f"variant_explode{outer}(try_parse_json({column}))"
    theirs = spark.sql(f"select i, e.pos, e.key, to_json(e.value) as v from t, lateral {call} as e").toArrow()
    members = engine.query(select_sql(check_flat_map(f"i, {call}", SCHEMA).columns, table("t")), t=data)
    select = check_select("i, pos, key, to_json(value) as v", parse_schema("i int, pos int, key string, value variant"))
    ours = engine.query(select_sql(select.columns, table("t")), t=members)
    assert len(ours) > 20
    assert ours.to_pylist() == theirs.to_pylist()
    if not outer:  # Spark gives Arrow no variants that are null
        theirs = spark.sql(f"select e.value as v from t, lateral {call} as e").toArrow()
        parts = [None if value is None else (value["value"], value["metadata"]) for value in theirs["v"].to_pylist()]
        assert variants_of(members["value"].combine_chunks()) == parts


def test_paths_into_xml_select_and_compute_what_spark_does(data, spark, engine):
    draw = random.Random(10)
    nodes = [xpath_of_nodes(draw) for _ in range(50)]
    values = [xpath_value(draw) for _ in range(50)]
    compare([f"xpath(xml, {literal(path)})" for path in nodes], data, spark, engine)
    compare([f"xpath_string(xml, {literal(path)})" for path in values], data, spark, engine)


def literal(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


def test_every_generator_is_called():
    called = {name for name in GENERATOR_NAMES if any(f"{name}(" in text for text in GENERATORS)}
    assert called | {"variant_explode", "variant_explode_outer"} == GENERATOR_NAMES


def test_every_aggregate_is_called():
    called = {name for text in [*AGGREGATES, *BY_ARRIVAL] for name in re.findall(r"\w+(?=\()", text)}
    of_items = {"approx_top_k", "approx_top_k_accumulate"}
    assert AGGREGATE_NAMES - called == {*SKETCHES, *of_items}  # see test_summaries_against_spark


def test_generators_give_the_rows_that_spark_gives(data, spark, engine):
    for text in GENERATORS:
        theirs = spark.sql(f"select {text} from t").toArrow()
        ours = engine.query(select_sql(check_flat_map(text, SCHEMA).columns, table("t")), t=data)
        assert ours.column_names == theirs.column_names, text
        assert list(map(type_text, ours.schema.types)) == list(map(type_text, theirs.schema.types)), text
        assert list(map(plain, ours.columns)) == list(map(plain, theirs.columns)), text


@pytest.mark.parametrize("by", [("g",), ("g", "t"), ("small",), ()], ids=str)
@pytest.mark.parametrize(
    "times, aggregated", [(["ts2"], AGGREGATES), ([], BY_ARRIVAL)], ids=["any-order", "by-arrival"]
)
def test_merged_partials_give_what_spark_gives(by, times, aggregated, data, spark, engine):
    texts = [text for text in aggregated if "+ g" not in text or "g" in by]
    columns = ", ".join(f"{text} as a{i}" for i, text in enumerate(texts))
    group = f" group by {', '.join(by)} order by {', '.join(by)}" if by else ""
    theirs = spark.sql(f"select {', '.join([*by, columns])} from t{group}").toArrow()
    order = f" ORDER BY {', '.join(f'{name} NULLS FIRST' for name in by)}" if by else ""
    found: list[str] = []
    for i, text in enumerate(texts):
        aggregation = check_aggregate(f"{text} as a", by, SCHEMA)
        found_by_us = aggregates.computed(engine, aggregation, aggregates.split(data, 60), times)
        ours = engine.query(f"SELECT * FROM r{order}", r=found_by_us)
        assert [plain(ours[name]) for name in by] == [plain(theirs[name]) for name in by]
        found += differences(text, *map(with_one_zero, (ours["a"], theirs[f"a{i}"])), data)
    assert not found, "\n".join(found)
