"""What is refused of variants: comparisons, hashes, and casts that Spark doesn't know either."""

import pytest

from streamapp_core.data_types import VARIANT_PARTS
from streamapp_core.expressions import (
    ExpressionError,
    FunctionSignature,
    UserFunctions,
    check_aggregate,
    check_flat_map,
    check_select,
)
from streamapp_core.schema import SchemaError, parse_schema, parse_type

SCHEMA = parse_schema("s string, i int, st struct<a:int>, mi map<int,string>, v variant, a array<variant>")
FUNCTIONS = UserFunctions((FunctionSignature("f", None, parse_type("int")),))


@pytest.mark.parametrize(
    "expression, reason",
    [
        ("parse_json(i)", "expected a JSON text, got int"),
        ("parse_json(s) = parse_json(s)", "variants can't be compared"),
        ("greatest(parse_json(s), parse_json(s))", "variants can't be compared"),
        ("array_contains(array(parse_json(s)), parse_json(s))", "variants can't be compared"),
        ("parse_json(s) in (parse_json(s))", "variants can't be compared"),
        ("hash(parse_json(s))", "variants have no hash"),
        ("upper(parse_json(s))", "expected string, got variant"),
        ("coalesce(parse_json(s), s)", "expected values of one type"),
        ("map(parse_json(s), 1)", "can't be or hold variants"),
        ("cast(array(parse_json(s)) as string)", "use to_json"),
        ("cast(st as variant)", "write to_variant_object"),
        ("to_variant_object(mi)", "keys but strings"),
        ("to_variant_object(i)", "takes a struct, array or map"),
        ("cast(interval 1 day as variant)", "no intervals"),
        ("cast(parse_json(s) as interval day)", "variant can't be cast to interval day"),
        ("variant_get(parse_json(s), '$', 'map<int,int>')", "variant can't be cast to map"),
        ("variant_get(parse_json(s), 'a')", "`a` is no path into a variant"),
        ("variant_get(parse_json(s), '$.a', 'wat')", "`wat` is no type"),
        ("variant_get(s, '$.a')", "expected a variant, got string"),
        ("from_json(s, 'a variant')", "read a string, then parse_json"),
        ("from_csv(s, 'a variant')", "read a string, then parse_json"),
        ("to_csv(struct(v))", "but binaries and variants"),
        ("array_distinct(array(v))", "variant"),
        ("sort_array(array(v))", "variant"),
        ("f(v)", "a Python function, which takes no variants; write variant_get or to_json"),
        ("f(struct(v))", "a Python function, which takes no variants"),
    ],
)
def test_an_expression_is_refused_with_its_reason(expression, reason):
    with pytest.raises(ExpressionError, match=reason):
        check_select(f"{expression} as c", SCHEMA, FUNCTIONS)


@pytest.mark.parametrize("by", ["v", "a"])
def test_no_rows_are_grouped_by_variants(by):
    with pytest.raises(ExpressionError, match=f"`{by}` in by is .*variant.*; group by what is inside of it"):
        check_aggregate("count(*) as n", [by], SCHEMA)


@pytest.mark.parametrize(
    "expression, reason",
    [
        ("listagg(v)", r"listagg takes no variant; take what is inside of it: variant_get\("),
        ("max_by(i, v)", "max_by takes no variant"),
        ("collect_set(v)", "collect_set takes no variant"),
        ("count(distinct v)", "count takes no variant"),
        ("min(v)", "min takes no variant"),
        ("mode(v)", "mode takes no variant"),
        ("schema_of_variant_agg(s)", "takes variants, got string; parse_json"),
        ("schema_of_variant_agg(a)", "takes variants, got array<variant>"),
        ("schema_of_variant_agg(v, v)", "takes other arguments than these 2"),
        ("schema_of_variant_agg(distinct v)", "is without distinct here"),
    ],
)
def test_an_aggregate_is_refused_with_its_reason(expression, reason):
    with pytest.raises(ExpressionError, match=reason):
        check_aggregate(f"{expression} as c", [], SCHEMA)


@pytest.mark.parametrize("call", ["variant_explode(s)", "variant_explode_outer(a)", "variant_explode(v) as (a, b)"])
def test_a_generator_of_variants_takes_one_variant_and_makes_three_columns(call):
    with pytest.raises(ExpressionError, match=r"takes a variant, got|makes 3 columns here"):
        check_flat_map(call, SCHEMA)


def test_a_variant_is_a_column():
    text = "v, array(v) as a, parse_json(s) as p, struct(v, i) as st, map(s, v) as m, coalesce(a[0], v) as c"
    columns = "v variant, a array<variant>, p variant, st struct<v:variant,i:int>, m map<string,variant>, c variant"
    assert check_select(text, SCHEMA).schema == parse_schema(columns)


def test_no_name_of_a_user_makes_a_struct_a_variant():
    for part in VARIANT_PARTS:
        with pytest.raises(SchemaError, match="printable characters only"):
            parse_schema(f"a struct<`{part}`:binary>")
        with pytest.raises(ExpressionError, match="printable characters only"):
            check_select(f"named_struct('{part}', b) as c", parse_schema("b binary"))
