"""Rows of tests: equal values are equal however they are written."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.app_tests.compare_rows import compare_rows
from streamapp_core.schema import parse_schema
from streamapp_runtime.app_tests.json_rows import compared_row, json_line, read_rows
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.file.file_chunks import UnreadableRow


def compared(schema, row):
    (found,) = read_rows([json_line(row)], arrow_schema(parse_schema(schema)), "UTC")
    assert isinstance(found, pa.Table), found
    return compared_row(found)


@pytest.mark.parametrize(
    ("schema", "one", "other"),
    [
        ("at timestamp", "2024-05-01T09:00:00Z", "2024-05-01T11:00:00+02:00"),
        ("amount decimal(10,2)", 2.5, "2.50"),
        ("mean double", 0.333333333, 1 / 3),
        ("means array<double>", [0.333333333], [1 / 3]),
        ("place struct<x:double,y:int>", {"x": 0.333333333}, {"y": None, "x": 1 / 3}),
        ("counts map<string,int>", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ("means map<string,double>", {"a": 1, "b": 0.333333333}, {"b": 1 / 3, "a": 1}),
    ],
)
def test_equal_values_are_equal_however_they_are_written(schema, one, other):
    name = schema.split()[0]
    assert compare_rows([compared(schema, {name: one})], [compared(schema, {name: other})]) == ()


@pytest.mark.parametrize(
    ("schema", "one", "other"),
    [
        ("amount decimal(20,10)", "0.1234567891", "0.1234567892"),
        ("n bigint", 1_234_567_890_123, 1_234_567_890_124),
        ("mean double", 0.33333333, 0.33333334),
        ("names array<string>", ["a", "b"], ["b", "a"]),
        ("name string", "", None),
        ("at timestamp", "2024-05-01T09:00:00Z", "2024-05-01T09:00:00.000001Z"),
    ],
)
def test_other_values_are_not(schema, one, other):
    name = schema.split()[0]
    assert compare_rows([compared(schema, {name: one})], [compared(schema, {name: other})])


@given(st.lists(st.one_of(st.integers(0, 9), st.just("no number")), max_size=6))
def test_each_row_is_read_or_refused_alone(values):
    schema = arrow_schema(parse_schema("n int"))
    found = list(read_rows([json_line({"n": value}) for value in values], schema, "UTC"))
    assert [isinstance(row, UnreadableRow) for row in found] == [value == "no number" for value in values]
