"""What is refused of variants: as columns, comparisons, hashes, and casts that Spark doesn't know either."""

import pytest

from streamapp_core.expressions import ExpressionError, check_aggregate, check_select
from streamapp_core.schema import parse_schema

SCHEMA = parse_schema("s string, i int, st struct<a:int>, mi map<int,string>")


@pytest.mark.parametrize(
    "expression, reason",
    [
        ("parse_json(s)", "no column can hold: cast it, or write it by to_json"),
        ("array(parse_json(s))", "is of type array<variant>"),
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
        ("from_json(s, 'a variant')", "`variant` is no type"),
    ],
)
def test_an_expression_is_refused_with_its_reason(expression, reason):
    with pytest.raises(ExpressionError, match=reason):
        check_select(f"{expression} as c", SCHEMA)


def test_no_aggregate_takes_a_variant():
    with pytest.raises(ExpressionError, match="which no column can hold"):
        check_aggregate("first(parse_json(s)) as c", [], SCHEMA)
