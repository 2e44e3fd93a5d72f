from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.expressions import ExpressionError, check_aggregate, check_flat_map, check_select, select_sql, table
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine

SCHEMA = parse_schema("a int, b int, s struct<x:int,y:string>")
ROWS = pa.table(
    {
        "a": pa.array([1, None, 2**31 - 1], pa.int32()),
        "b": pa.array([-5, 3, 2], pa.int32()),
        "s": pa.array([{"x": 1, "y": "q"}, None, {"x": None, "y": ""}], pa.struct({"x": pa.int32(), "y": pa.string()})),
    }
)


def selected(engine, text, rows=ROWS, schema=SCHEMA):
    select = check_select(text, schema)
    return engine.query(select_sql(select.columns, table("t")), t=rows), select.schema


@given(st.lists(st.tuples(st.sampled_from("+-*"), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=4))
def test_a_list_of_names_is_as_one_step_after_the_other(steps):
    names = ["a", "b"]
    items = []
    with SqlEngine() as engine:
        rows, schema = ROWS, SCHEMA
        for number, (operator, left, right) in enumerate(steps):
            items.append(f"{names[left % len(names)]} {operator} {names[right % len(names)]} as x{number}")
            names.append(f"x{number}")
            rows, schema = selected(engine, f"*, {items[-1]}", rows, schema)
        once, _ = selected(engine, ", ".join(items))
    assert once.to_pydict() == rows.select(once.column_names).to_pydict()


def test_a_column_of_the_input_comes_before_a_name_and_a_name_may_be_a_struct():
    with SqlEngine() as engine:
        rows, _ = selected(engine, "b as a, a + 0 as still, s as t, t.x as x, struct(t.y, X as z) as u, u.z as v")
    assert rows["still"].to_pylist() == ROWS["a"].to_pylist()
    assert rows["v"].to_pylist() == [1, None, None]


def test_generators_and_aggregates_name_earlier_items_too():
    flat = check_flat_map("array(a, b) as pair, explode(pair) as one", SCHEMA)
    assert str(flat.schema.columns[1].type) == "int"
    kinds = check_aggregate("sum(a) as total, count(*) as n, total / n as mean", (), SCHEMA)
    assert [str(column.type) for column in kinds.columns] == ["bigint", "bigint", "double"]


@pytest.mark.parametrize(
    "check, text, says",
    [
        (check_select, "x + 1 as y, a as x", "unknown column `x`"),
        (check_flat_map, "explode(array(a)) as x, x + 1 as y", "unknown column `x`"),
        (
            check_select,
            "a as x0, " + ", ".join(f"x{n} + x{n} as x{n + 1}" for n in range(60)),
            "with the earlier items",
        ),
        (partial(check_aggregate, by=()), "sum(a) as x, max(x) as y", "inside another aggregate"),
    ],
)
def test_what_earlier_names_are_not_is_refused(check, text, says):
    with pytest.raises(ExpressionError, match=says):
        check(text, schema=SCHEMA)


@pytest.mark.parametrize(
    "text, names",
    [
        ("* except (S), a + b as c", ["a", "b", "c"]),
        ("struct(*) as whole, struct(s.*, a) as part, hash(*) as h", ["whole", "part", "h"]),
        ("struct(*).s.y as y", ["y"]),
    ],
)
def test_a_star_stands_for_columns_and_fields_among_arguments_too(text, names):
    assert list(check_select(text, SCHEMA).schema.names) == names


def test_a_struct_of_a_star_has_the_names_of_columns():
    select = check_select("struct(*) as whole, struct(s.*, a) as part", SCHEMA)
    assert [str(column.type) for column in select.columns] == [
        "struct<a:int,b:int,s:struct<x:int,y:string>>",
        "struct<x:int,y:string,a:int>",
    ]
