"""Kernels of JSON texts: results that are real Spark's own, limits, and texts that would take recursion or time."""

import json
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.kernels.json_path_kernels import (
    get_json_object,
    json_array_length,
    json_fields,
    json_object_keys,
)
from streamapp_runtime.kernels.json_readers import from_json
from streamapp_runtime.kernels.json_schemas import schema_of_json
from support.json_texts import json_path, json_text

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab é", max_size=3), inner, max_size=4),
    max_leaves=12,
)


def texts(*values):
    return pa.array(values, pa.string())


def at(text, path):
    return get_json_object(texts(text), texts(path))[0].as_py()


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{"a":["🙂\\u00e9"]}', "$.a", '["\\uD83D\\uDE42é"]'),
        ('{"a":["🙂"]}', "$.a[*]", '"🙂"'),
        ('{"a":"\\ud83d"}', "$.a", None),
        ('{"a":["\\ud83d"]}', "$.a", '["\\uD83D"]'),
        ('{"a":[-0, -0.0, 1.50, 1e5, 1e999, 1E-5, 1E-5]}', "$.a", '[0,-0.0,1.5,100000.0,"Infinity",1.0E-5,1.0E-5]'),
        ('{"a":null,"a":2}', "$.a", "2"),
        ('{"a":{"b":1},"a":2}', "$.a", '{"b":1}'),
        ('{"a":1} garbage', "$.a", "1"),
        ('{"a":1,}', "$.a", None),
        ("{'a':'x\\'\"y'}", "$.a", "x'\"y"),
        ('{"a":"\x01\\n"}', "$.a", "\x01\n"),
        ('{"a":["\x01\\n\x7f/\\/"]}', "$.a", '["\\u0001\\n\x7f//"]'),
        ('{"a":NaN}', "$.a", None),
        ('{"a":1,"a ":6}', "$.a ", "6"),
        ('{"a":1}', "$. a", "1"),
        ('{"a":1,"*":2}', "$.*", None),
        ('{"a":[{"b":1},{"b":2}]}', "$.a[*].b", "[1,2]"),
        ('{"a":[{"b":1},2]}', "$.a[*].b", "1"),
        ('{"a":[],"a":[[1]]}', "$.a[*][*]", "[] [1]"),
        ('{"a":1}', "$.a[99999999999999999999]", None),
        ("1" * 1000, "$", "1" * 1000),
        ("1" * 1001, "$", None),
        ("", "$", None),
    ],
)
def test_what_is_at_a_path_is_what_spark_finds(text, path, expected):
    assert at(text, path) == expected


@given(VALUES)
def test_a_value_is_copied_as_it_is(value):
    text = at(json.dumps({"v": [value]}), "$.v")
    assert json.loads(text) == [value]


@given(st.lists(VALUES, max_size=5))
def test_the_elements_and_keys_are_counted(values):
    assert json_array_length(texts(json.dumps(values)))[0].as_py() == len(values)
    named = {f"n{place}": value for place, value in enumerate(values)}
    assert json_object_keys(texts(json.dumps(named)))[0].as_py() == list(named)
    found = json_fields(texts(json.dumps(named)), texts("n1"), texts("x"), texts("n1"))[0].as_py()
    assert found[0] == found[2] == at(json.dumps(named), "$.n1")
    assert found[1] is None


@given(st.text(max_size=20) | st.integers(0, 2**32).map(lambda seed: json_text(random.Random(seed))), st.integers())
def test_no_text_is_an_error(text, seed):
    path = json_path(random.Random(seed))
    assert get_json_object(texts(text, None), texts(path, path)).type == pa.string()
    assert json_array_length(texts(text)).type == pa.int32()
    assert json_object_keys(texts(text)).type == pa.list_(pa.string())
    assert len(json_fields(texts(text), texts("a"), texts(None))[0].as_py()) == 2


@pytest.mark.parametrize(
    "text", ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, '"' + "\\n" * 5_000_000, "[" * 1001]
)
def test_what_is_too_deep_or_cut_off_is_null_at_once(text):
    assert at(text, "$.a") is None
    assert json_array_length(texts(text))[0].as_py() is None


def test_what_is_as_deep_as_may_be_is_copied():
    text = "[" * 1000 + "]" * 1000
    assert at(text, "$") == text
    assert at(text[:-1000] + "1" + text[1000:], "$[*][*]") == "[1]"
    assert at(text, "$" + "[0]" * 99) == text[99:-99]
    assert at(text, "$" + "[0]" * 101) is None


def test_a_path_of_many_wildcards_over_a_wide_text_is_found():
    text = json.dumps([[[[n] * 10] * 10] * 10 for n in range(10)])
    assert len(json.loads(at(text, "$[*][*][*][*]"))) == 10


def read(text, kind):
    found = from_json(texts(text), texts(kind))[0].as_py()
    return None if found is None else json.loads(found)


@given(
    st.integers(0, 2**32), st.sampled_from(["struct<a:int,b:string>", "array<struct<a:double>>", "map<string,date>"])
)
def test_any_text_is_read_as_texts_and_nulls(seed, kind):
    def leaves(value):
        inner = value if isinstance(value, list) else value.values() if isinstance(value, dict) else []
        return all(map(leaves, inner)) if isinstance(value, list | dict) else value is None or isinstance(value, str)

    found = read(json_text(random.Random(seed)), kind)
    assert leaves(found)
    assert found is None or isinstance(found, dict) == kind.startswith("struct")


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ('{"a":1,"a":"x","b":[1.50]}', "struct<a:int,b:string>", {"f0": "1", "f1": "[1.5]"}),
        ('{"a":128}', "struct<a:tinyint>", {"f0": "-128"}),
        ('{"a":1e1000000,"b":1.005}', "struct<a:decimal(5,2),b:decimal(5,2)>", {"f1": "1.01"}),
        ('{"a":"1,5"}', "struct<a:decimal(5,2)>", {"f0": "15.00"}),
        ('{"a":9223372036854775807}', "struct<a:timestamp>", {"f0": "@-1000000"}),
        ('{"a":"@1"}', "struct<a:timestamp>", {"f0": None}),
        ('[1,"x"]', "array<int>", None),
        ('{"a":"x"}', "array<struct<a:int>>", [{}]),
        ('{"a":1', "struct<a:int>", {}),
        ("null", "struct<a:int>", {}),
        (" ", "struct<a:int>", None),
        ("[" * 100_000, "array<int>", None),
        ("[" + "{}," * 400_000 + "{}]", f"array<struct<{','.join(f'a{n}:int' for n in range(20))}>>", None),
    ],
)
def test_values_are_read_as_spark_reads_them_within_bounds(text, kind, expected):
    assert read(text, kind) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"a":1},{"b":"x","a":2.5},null]', "ARRAY<STRUCT<a: DOUBLE, b: STRING>>"),
        ("[1,12345678901234567890]", "ARRAY<DECIMAL(20,0)>"),
        ('{"a b":[true,1],"":1,"c":{}}', "STRUCT<`a b`: ARRAY<STRING>>"),
        ("[[{}]]", "STRING"),
        ("", "STRING"),
        ('{"a":', None),
    ],
)
def test_the_type_of_a_text_is_what_spark_infers(text, expected):
    assert schema_of_json(texts(text), pa.array([False]))[0].as_py() == expected
