"""Arrays, maps and structs in expressions; what Spark gives is compared in tests/integration."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.expressions import ExpressionError, check_aggregate, check_select, select_sql, table
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_schema

SCHEMA = parse_schema(
    "i int, a array<int>, m map<string,int>, s struct<x:int,`y z`:struct<k:string>>, l array<struct<x:int>>"
)
ROW = {
    "i": 1,
    "a": [7, None],
    "m": [("k", 5), ("n", None)],
    "s": {"x": 2, "y z": {"k": "v"}},
    "l": [{"x": 3}, None],
}
NULLS = dict.fromkeys(ROW)
ROWS = pa.Table.from_pylist([ROW, NULLS], schema=arrow_schema(SCHEMA))


@pytest.mark.parametrize(
    "text, values",
    [
        ("s.x", [2, None]),
        ("S.`Y Z`.K", ["v", None]),
        ("a[0]", [7, None]),
        ("a[i - 2]", [None, None]),
        ("a[1]", [None, None]),
        ("a[2]", [None, None]),
        ("m['k']", [5, None]),
        ("m['n']", [None, None]),
        ("m['x']", [None, None]),
        ("l.x", [[3, None], None]),
        ("l[0].x", [3, None]),
        ("array(i, a[0])", [[1, 7], [None, None]]),
        ("struct(s.x, i + 1)", [{"x": 2, "col2": 2}, {"x": None, "col2": None}]),
        ("map('k', i)['k']", [1, None]),
        ("map(i, 1, i, 2)", [None, None]),
        ("coalesce(a, array())", [[7, None], []]),
        ("a < array(7, 0)", [True, None]),
        ("array(i) <=> array(null)", [False, True]),
        ("cast(s as string)", ["{2, {v}}", None]),
        ("overlay('abc', 'x', i, a[1])", [None, None]),
        ("array_append(array('a'), '{0} {x}')", [["a", "{0} {x}"]] * 2),
        ("array_prepend(a, length(overlay(s.`y z`.k, 'xyz', i)))", [[3, 7, None], None]),
    ],
)
def test_what_is_inside_is_found_and_nulls_stay_nulls(text, values):
    select = check_select(f"{text} as c", SCHEMA)
    with SqlEngine() as engine:
        result = engine.query(select_sql(select.columns, table("t")), t=ROWS)
    assert result.schema == arrow_schema(select.schema)
    assert result.column("c").to_pylist() == values


@pytest.mark.parametrize(
    "text, says",
    [
        ("s.nope", "there is no field `nope`; fields: x, y z"),
        ("i.x", "which has no fields"),
        ("i[0]", "an element of an array or map"),
        ("a['x']", "a whole number, got string"),
        ("m = m", "maps can't be compared"),
        ("array(m) < array(m)", "maps can't be compared"),
        ("map(m, 1)", "can't be or hold maps"),
        ("array()", "nulls without a type"),
        ("upper(a)", "expected string, got array<int>"),
        ("cast(m as map<int,int>)", "keys of a map can't be cast"),
        ("cast(array(unhex('')) as string)", "bytes inside"),
        ("struct(i, i)", "named `i`"),
        ("named_struct('', 1)", "1 to 255 characters"),
    ],
)
def test_what_has_no_sense_is_refused(text, says):
    with pytest.raises(ExpressionError) as refused:
        check_select(f"{text} as c", SCHEMA)
    assert says in str(refused.value)


def test_a_field_is_named_by_itself():
    assert check_select("s.x, s.`y z`.k, l[0].x as y", SCHEMA).schema.names == ("x", "k", "y")
    assert [column.source_column for column in check_select("s.x, s, (i) as j", SCHEMA).columns] == [None, "s", "i"]


@pytest.mark.parametrize(
    "text, rows",
    [
        ("i, S.*", [{"i": 1, "x": 2, "y z": {"k": "v"}}, {"i": None, "x": None, "y z": None}]),
        ("s.`Y z`.*, s.x", [{"k": "v", "x": 2}, {"k": None, "x": None}]),
        ("l[0].*", [{"x": 3}, {"x": None}]),
        (
            "struct((i), m['k'], s['x'], +i, m[r'n']).*",
            [{"i": 1, "k": 5, "x": 2, "col4": 1, "n": None}, dict.fromkeys(["i", "k", "x", "col4", "n"])],
        ),
        ("arrays_zip(l.x, (a), array(i))[0].*", [{"x": 3, "a": 7, "2": 1}, {"x": None, "a": None, "2": None}]),
        ("struct(parse_json('{}'):x[0]).x is null as n, (i)", [{"n": True, "i": 1}, {"n": True, "i": None}]),
        ("struct(i as n, a[0] as b).*", [{"n": 1, "b": 7}, {"n": None, "b": None}]),
    ],
)
def test_all_fields_of_a_struct_are_columns(text, rows):
    select = check_select(text, SCHEMA)
    with SqlEngine() as engine:
        result = engine.query(select_sql(select.columns, table("t")), t=ROWS)
    assert result.schema == arrow_schema(select.schema)
    assert result.to_pylist() == rows


@pytest.mark.parametrize(
    "text, says",
    [
        ("i.*", "the fields of a struct, got int"),
        ("l.*", "the fields of a struct, got array<struct<x:int>>"),
        ("nope.*", "unknown column `nope`"),
        ("s.nope.*", "there is no field `nope`"),
        ("s.*, s.x", "two columns would be named `x`"),
        ("s.* as t", "or behind a struct (`a.*`)"),
        ("struct(i.*) as t", "the fields of a struct, got int"),
        ("struct(*).nope as t", "there is no field `nope`"),
        ("s.* except (x)", "or behind a struct (`a.*`)"),
        ("* except (nope)", "unknown column `nope`"),
    ],
)
def test_fields_that_are_no_columns_are_refused(text, says):
    with pytest.raises(ExpressionError) as refused:
        check_select(text, SCHEMA)
    assert says in str(refused.value)


def test_nested_values_are_counted_but_not_grouped_by():
    assert check_aggregate("count(a) as n", (), SCHEMA).columns
    with pytest.raises(ExpressionError, match="group by what is inside"):
        check_aggregate("count(*) as n", ("s",), SCHEMA)
    with pytest.raises(ExpressionError, match="mode takes no array<int>"):
        check_aggregate("mode(a) as n", (), SCHEMA)


LISTS = st.none() | st.lists(st.none() | st.integers(-2, 2), max_size=3)


@given(LISTS, LISTS)
def test_arrays_are_ordered_element_by_element_with_nulls_first(left, right):
    rows = pa.table({"a": pa.array([left], pa.list_(pa.int32())), "b": pa.array([right], pa.list_(pa.int32()))})
    select = check_select("a < b as c, greatest(a, b) as g", parse_schema("a array<int>, b array<int>"))
    with SqlEngine() as engine:
        (found,) = engine.query(select_sql(select.columns, table("t")), t=rows).to_pylist()
    keys = [
        None if values is None else [(value is not None, value or 0) for value in values] for values in (left, right)
    ]
    assert found["c"] == (None if None in keys else keys[0] < keys[1])
    known = [(key, values) for key, values in zip(keys, (left, right), strict=True) if key is not None]
    assert found["g"] == (max(known)[1] if known else None)
