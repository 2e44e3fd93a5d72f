"""Functions of arrays, maps and lambdas against plain Python, on generated rows."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import ExpressionError, check_select, select_sql, table
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_schema

SCHEMA = parse_schema("a array<int>, b array<int>, n int, t string, m map<string,int>")
ELEMENTS = st.none() | st.integers(-3, 3)
ARRAYS = st.none() | st.lists(ELEMENTS, max_size=6)


@pytest.fixture(scope="module")
def engine():
    with SqlEngine() as engine:
        yield engine


def evaluate(engine, text, **values):
    select = check_select(f"{text} as x", SCHEMA)
    row = pa.table({name: [values.get(name)] for name in SCHEMA.names}, schema=arrow_schema(SCHEMA))
    result = engine.query(select_sql(select.columns, table("t")), t=row)
    return result["x"].to_pylist()[0]


def once(values):
    return [value for place, value in enumerate(values) if value not in values[:place]]


def nulls_last(value):
    return (value is None, value or 0)


@settings(deadline=None, max_examples=40)
@given(ARRAYS, ARRAYS)
def test_arrays_as_sets(engine, a, b):
    known = a is not None and b is not None
    assert evaluate(engine, "array_distinct(a)", a=a) == (None if a is None else once(a))
    assert evaluate(engine, "array_union(a, b)", a=a, b=b) == (once(a + b) if known else None)
    assert evaluate(engine, "array_except(a, b)", a=a, b=b) == (once([v for v in a if v not in b]) if known else None)
    assert evaluate(engine, "array_intersect(a, b)", a=a, b=b) == (once([v for v in a if v in b]) if known else None)
    assert evaluate(engine, "array_sort(a)", a=a) == (None if a is None else sorted(a, key=nulls_last))


@settings(deadline=None, max_examples=40)
@given(ARRAYS, st.integers(-4, 4))
def test_lambdas_see_elements_places_and_columns(engine, a, n):
    def each(make):
        return None if a is None else [make(place, value) for place, value in enumerate(a)]

    added = each(lambda place, value: None if value is None else value + n + place)
    assert evaluate(engine, "transform(a, (x, i) -> x + n + i)", a=a, n=n) == added
    kept = None if a is None else [value for value in a if value is not None and value > n]
    assert evaluate(engine, "filter(a, x -> x > n)", a=a, n=n) == kept
    total = None if a is None else sum(value or 0 for value in a)
    assert evaluate(engine, "aggregate(a, 0, (s, x) -> s + coalesce(x, 0))", a=a) == total
    nested = "aggregate(transform(a, x -> array(x, n)), 0, (s, x) -> s + aggregate(x, 0, (p, q) -> p + coalesce(q, 0)))"
    assert evaluate(engine, nested, a=a, n=n) == (None if a is None else total + n * len(a))


@settings(deadline=None, max_examples=40)
@given(ARRAYS, st.integers(-2, 2))
def test_exists_and_forall_know_nulls(engine, a, n):
    found = [None if value is None else value == n for value in a or ()]
    exists = True if True in found else None if None in found or a is None else False
    forall = False if False in found else None if None in found or a is None else True
    assert evaluate(engine, "exists(a, x -> x = n)", a=a, n=n) is exists
    assert evaluate(engine, "forall(a, x -> x = n)", a=a, n=n) is forall


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size(sequence(1, 10000))", 10_000),
        ("sequence(1, 10001)", None),
        ("sequence(0, 9223372036854775807L)", None),
        ("sequence(1, 5, -1)", None),
        ("array_repeat(n, 10001)", None),
        ("size(array_repeat(n, 3))", 3),
        ("map_concat(m, m)", None),
        ("transform_keys(m, (k, v) -> 'x')", None),
    ],
)
def test_what_would_be_huge_or_no_map_is_null(engine, text, expected):
    assert evaluate(engine, text, n=1, m=[("a", 1), ("b", 2)]) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("transform(a, (x, y, z) -> x)", "takes 2 variables"),
        ("transform(a, x -> y)", "unknown column"),
        ("transform(n, x -> x)", "expected an array"),
        ("filter(a, x -> x)", "boolean"),
        ("aggregate(a, 'x', (s, x) -> 1)", "starts with string"),
        ("transform(a)", "is called as transform"),
        ("upper(x -> x)", "lambda"),
    ],
)
def test_wrong_lambdas_are_refused_with_a_reason(text, message):
    with pytest.raises(ExpressionError, match=message):
        check_select(f"{text} as x", SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "transform(a, x -> t)",
        "filter(a, x -> array_contains(a, n))",
        "exists(a, x -> exists(a, y -> x + y + n < 0))",
        "zip_with(a, a, (x, y) -> t)",
        "transform(a, x -> sequence(1, 10000))",
        "aggregate(sequence(1, 60), 'a', (s, x) -> s || s)",
        "aggregate(sequence(1, 60), 'a', (s, x) -> coalesce(s || s, 'b'))",
        "aggregate(sequence(1, 60), 'a', (s, x) -> coalesce(s || s, 'b'), s -> length(s))",
        "replace(t, 'x', t)",
        "repeat(repeat(t, 1000), 1000)",
        "array_join(a, ',', t)",
        "array_repeat(t, 5000)",
    ],
)
def test_what_would_be_far_larger_than_its_row_is_null(engine, text):
    values = {"a": [None] * 5_000, "n": 1, "t": "x" * 5_000}
    assert evaluate(engine, text, **values) is None
    few = {"a": [1], "n": 1, "t": "x"}
    assert evaluate(engine, text.replace("60", "3"), **few) is not None


def test_products_within_the_bound_are_made(engine):
    text = "x" * 3_000
    assert evaluate(engine, "transform(a, y -> t)", a=[1] * 3_000, t=text) == [text] * 3_000
    assert evaluate(engine, "replace(t, 'x', concat(t, 'z'))", t=text) == (text + "z") * 3_000
    assert evaluate(engine, "replace(t, 'y', t)", t="x" * 50_000) == "x" * 50_000
    wide = "transform(a, y -> named_struct('a', t, 'b', array(t, 'u')).b[1])"
    assert evaluate(engine, wide, a=[1, 2], t=text) == ["u", "u"]


NESTED_CALLS = [
    (
        "zip_with(transform(a, q -> q), transform(a, q -> q), (x, y) -> "
        "zip_with(array(5, 6), array(7, 8), (p, q) -> p + q + x))",
        [[13, 15], [14, 16]],
    ),
    ("zip_with(transform(a, q -> q), b, (x, y) -> array_append(array(7, 8), x))", [[7, 8, 1], [7, 8, 2]]),
    ("zip_with(transform(a, q -> q), transform(b, q -> q), (x, y) -> array(4, 5, 6)[x + y * 0])", [5, 6]),
    ("transform(zip_with(transform(a, q -> q), b, (x, y) -> array(x)[y * 0]), z -> z + 1)", [2, 3]),
    ("aggregate(transform(a, q -> q), 0, (s, x) -> s + x, s -> aggregate(array(s, 1), 0, (r, x) -> r + x))", 4),
    ("map_zip_with(map_concat(m), m, (k, v, w) -> size(array_append(array(7, 8), v)) + w)", {"k": 8}),
    ("concat(array_append(a, 1), a, a, a, a, a, a, a, a, a)[20]", 2),
    ("transform(a, x -> transform(transform(a, y -> y + x), z -> aggregate(array(z, x), 0, (s, e) -> s + e)))",
     [[3, 4], [5, 6]]),
]  # fmt: skip


@pytest.mark.parametrize("text, expected", NESTED_CALLS)
def test_lambdas_inside_of_others_see_the_variables_around_them(engine, text, expected):
    found = evaluate(engine, text, a=[1, 2], b=[3, 4], m=[("k", 5)])
    assert (dict(found) if isinstance(expected, dict) else found) == expected


@pytest.mark.parametrize(
    "text",
    ["arrays_zip(a, a)", "transform_keys(map(1, 2), (k, v) -> map(k, v))", "map_from_entries(array(struct(m, 1)))"],
)
def test_types_that_there_are_not_are_refused(text):
    with pytest.raises(ExpressionError):
        check_select(f"{text} as x", SCHEMA)


def test_calls_inside_of_calls_grow_by_their_own_length(engine):
    text = "a"
    for _ in range(5):
        text = f"aggregate(array(1), {text}, (s, x) -> s, s -> s)"
    (column,) = check_select(f"{text} as x", SCHEMA).columns
    assert len(column.sql) < 5_000
    assert evaluate(engine, text, a=[1, 2]) == [1, 2]
