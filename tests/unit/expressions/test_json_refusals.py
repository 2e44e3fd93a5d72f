"""What functions of JSON, CSV and XML can't do as Spark does is refused, with what there is instead."""

import pytest

from streamapp_core.expressions import ExpressionError, check_select
from streamapp_core.schema import parse_schema

SCHEMA = parse_schema("s string, i int, st struct<a:int>, m map<string,int>, mm map<double,int>")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("from_json(s, s)", "must be a literal"),
        ("from_json(s, 'a wat')", "`wat` is no type"),
        ("from_json(s, 'a binary')", "unbase64"),
        ("from_json(s, 'map<int,int>')", "whose keys are strings"),
        ("from_json(s, 'a array<date>')", "read strings, and cast them"),
        ("from_json(s, 'a int, _corrupt_record string')", "fills no _corrupt_record"),
        ("from_json(s, 'a int', map('mode', 'FAILFAST'))", "is PERMISSIVE"),
        ("from_json(s, 'a int', map('primitivesAsString', 'true'))", "it has timestampFormat"),
        ("from_json(i, 'a int')", "expected a JSON text, got int"),
        ("get_json_object(i, '$')", "expected a JSON text, got int"),
        ("to_json(i)", "takes a struct, array, map or variant"),
        ("to_json(mm)", "transform_keys"),
        ("to_json(st, map('pretty', 'true'))", "it has dateFormat"),
        ("to_json(st, map('ignoreNullFields', 'maybe'))", "'true' or 'false'"),
        ("to_json(st, m)", "text literals"),
        ("to_json(m, map('sortKeys', 'true'))", "takes no maps"),
        ("schema_of_json(s)", "must be a literal"),
        (f"schema_of_json('{'[' * 201}')", "up to 200"),
        ("from_csv(i, 'a int')", "expected a CSV text, got int"),
        ("from_csv(s, 'a array<int>')", "columns that hold no others"),
        ("from_csv(s, 'a binary')", "unbase64"),
        ("from_csv(s, 'a int', map('sep', '\"'))", "is one character"),
        ("from_csv(s, 'a int', map('header', 'true'))", "it has timestampFormat"),
        ("from_csv(s, 'a int', map('mode', 'FAILFAST'))", "is PERMISSIVE"),
        ("schema_of_csv(s)", "must be a literal"),
        ("schema_of_csv('1', map('header', 'true'))", "it has timestampFormat"),
        ("from_xml(s, 'array<int>')", "reads a list of columns"),
        ("from_xml(s, 'a map<string,int>')", "reads no maps"),
        ("from_xml(s, 'a array<array<int>>')", "structs or single values"),
        ("from_xml(s, 'a struct<xs_any:string>')", "name the elements"),
        ("from_xml(s, 'a binary')", "unbase64"),
        ("from_xml(s, 'a int', map('mode', 'FAILFAST'))", "is PERMISSIVE"),
        ("from_xml(s, 'a int', map('nullValue', 'x'))", "it has attributePrefix"),
        ("from_xml(s, 'a int', map('valueTag', '_'))", "another one than attributePrefix"),
        ("from_xml(s, 'a int', map('excludeAttribute', 'maybe'))", "'true' or 'false'"),
        ("schema_of_xml(s)", "must be a literal"),
        ("to_csv(i)", "takes a struct of single values"),
        ("to_csv(struct(m))", "takes a struct of single values"),
    ],
)
def test_a_call_is_refused_with_its_reason(call, reason):
    with pytest.raises(ExpressionError, match=reason):
        check_select(f"{call} as c", SCHEMA)
