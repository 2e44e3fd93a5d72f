"""One row whose texts and arrays are long, and whose numbers are great; a program that runs expressions over it."""

import datetime as dt
import re
import resource
import sys
from decimal import Decimal

import pyarrow as pa

from streamapp_core.expressions import check_select, select_sql, table
from streamapp_core.expressions.growth import varies
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_schema
from support.function_calls import FUNCTION_CALLS, NESTED_EXPRESSIONS, SCHEMA, expressions

SIZE = 30_000
PRODUCTS = expressions(
    r"""
replace(s, 'a', s); repeat(repeat(repeat(s, 1000), 1000), 1000); array_repeat(s, 10000); array_join(ars, ',', s)
array_repeat(array_repeat(array_repeat(1, 10000), 10000), 10000); transform(arr, x -> s); transform(arr, x -> arr2)
size(transform(sequence(1, 10000), x -> sequence(1, 10000))); transform(arr, x -> array_repeat(x, 10000))
filter(arr, x -> not array_contains(arr2, x)); exists(arr, x -> exists(arr2, y -> x + y < 0))
transform(arr, x -> mp['a']); transform(ast, x -> concat(x.b, st.b)); transform_values(mp, (k, v) -> s)
map_filter(mp, (k, v) -> array_contains(ars, k)); transform_keys(mp, (k, v) -> concat(k, s))
map_zip_with(mp, map('b', 1), (k, v, w) -> s); zip_with(arr, arr2, (x, y) -> s)
aggregate(sequence(1, 60), 'a', (a, x) -> a || a); aggregate(sequence(1, 60), array(1), (a, x) -> concat(a, a))
aggregate(ars, '', (a, x) -> a || s); aggregate(arr, 0, (a, x) -> a + size(array_distinct(arr2)))
aggregate(arr, '', (a, x) -> concat(a, repeat('x', 9999))); transform(arr, x -> lpad('a', 9999))
array_distinct(array_union(arr, transform(arr2, x -> x + 1))); array_sort(arr, (l, r) -> r - l)
array_sort(slice(arr, 1, 3000), (l, r) -> r - l); array_sort(slice(arr, 1, 3000), (l, r) -> size(arr2) + l - r)
array_sort(slice(arr, 1, 300), (l, r) -> cast(substring(s, l, 1) as int)); concat_ws(s, s, s); concat_ws(',', ars, ars)
array_insert(arr, 2147483647, 1); array_insert(arr, -2147483648, 1); array_insert(aa, 10000, arr); str_to_map(s)
str_to_map(s, 'a|b', '(.)*1'); sequence(dt, date'0001-01-01'); sequence(ts, timestamp'1970-01-01', interval '-1' month)
vector_cosine_similarity(cast(ard as array<float>), cast(ard as array<float>)); rpad(x, 10000, x); lpad(x, 10000, x'01')
from_xml(concat('<p>', repeat('<a b="1">1</a>', 9999), '</p>'), 'a array<struct<b:int,_b:bigint,_VALUE:date>>')
hex(st_asbinary(st_geomfromwkb(x))); st_asbinary(st_geogfromwkb(concat(x'010700000001FFFF00', x)), 'XDR')
from_xml(concat('<p>', repeat('<a>', 9999)), 'a string'); from_xml(concat('<p><a>', s, '</a></p>'), 'a string, b int')
from_xml(concat('<p><a>', num, '</a></p>'), 'a double'); from_xml(concat('<p><a>', num, '</a></p>'), 'a decimal(38,0)')
"""
)
"""Results that are products of two sizes, or doubled again and again."""


def row(size: int) -> pa.Table:
    """Return a row with so many characters and elements in each value."""
    text = ("ab,é=1 " * (size // 7 + 1))[:size]
    numbers = list(range(size))
    day, moment = dt.date(9999, 1, 1), dt.datetime(9999, 1, 1, tzinfo=dt.UTC)
    values = {
        "string": text, "int": 2**31 - 1, "bigint": 2**63 - 1, "float": 3e38, "double": 1e308, "date": day,
        "timestamp": moment, "timestamp_ntz": moment.replace(tzinfo=None), "boolean": True, "binary": b"ab" * size,
        "tinyint": 127, "smallint": 32767, "array<int>": numbers, "array<string>": [str(number) for number in numbers],
        "array<double>": [float(number) for number in numbers], "array<array<int>>": [[number] for number in numbers],
        "map<string,int>": [(str(number), number) for number in numbers],
        "map<int,struct<a:int,b:string>>": [(number, {"a": number, "b": "b"}) for number in numbers],
        "array<struct<a:int,b:string>>": [{"a": number, "b": str(number)} for number in numbers],
    }  # fmt: skip
    place = {"a": 1, "b": text, "c": values["array<double>"], "d e": {"f": 1}}
    others = {"num": "1" * size, "st": place, "st2": place, "arr2": [-number for number in numbers]}
    others |= {"js": '{"a":[' + "[" * 900 + '1,"é\\u0001",' * size + "1]" + "]" * 900 + "}", "path": "$" + "[*]" * 100}
    others["sound"] = '{"a":[' + '{"a":["b",1]},' * size + "1]}"
    others["csv"] = '"' + '\\"' * size + '"x,' * size + '"a"\\"b",' * size
    columns = []
    for column, field in zip(SCHEMA.columns, arrow_schema(SCHEMA), strict=True):
        value = others.get(column.name, values.get(str(column.type)))
        if value is None:  # a decimal
            value = Decimal("9" * column.type.precision).scaleb(-column.type.scale)
        columns.append(pa.array([value], field.type))
    return pa.table(columns, schema=arrow_schema(SCHEMA))


def main(memory: int, seconds: int) -> None:
    """Run every expression within so many bytes of memory and seconds of CPU time; write each before it runs."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    data = row(SIZE)
    long = re.compile(rf"\b({'|'.join(column.name for column in SCHEMA.columns if varies(column.type))})\b")
    calls = [text for text in [*FUNCTION_CALLS, *NESTED_EXPRESSIONS] if long.search(text)]
    with SqlEngine() as engine:
        for text in [*PRODUCTS, *calls]:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
            columns = check_select(f"{text} as c", SCHEMA).columns
            engine.query(select_sql(columns, table("t")), t=data)
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
