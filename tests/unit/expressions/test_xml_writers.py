"""`to_xml`: texts that are Spark's own, and what is refused."""

import pyarrow as pa
import pytest

from streamapp_core.expressions import ExpressionError, check_select, select_sql, table
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine

SCHEMA = parse_schema("s string, x binary, m map<string,int>, e decimal(18,12), st struct<`a b`:int>")


@pytest.fixture(scope="module")
def engine():
    with SqlEngine() as engine:
        yield engine


def written(engine, call, text=""):
    row = pa.table({"s": pa.array([text])})
    return engine.query(select_sql(check_select(f"{call} as c", SCHEMA).columns, table("t")), t=row)["c"][0].as_py()


def around(text):
    return f"<ROW>\n    <a>{text}</a>\n</ROW>"


def test_elements_stand_on_lines_and_nulls_are_left_out(engine):
    struct = """named_struct('a', '', 'b', null, 'c', named_struct('x', cast(null as int)), 'd', array(1, null, 2),
        'e', array(named_struct('y', 1, 'z', array(cast(null as int))), null), 'g', array(array(1, 2), array(3)))"""
    assert written(engine, f"to_xml({struct})") == (
        "<ROW>\n    <a></a>\n    <c/>\n    <d>1</d>\n    <d>2</d>\n    <e>\n        <y>1</y>\n    </e>\n    <g>\n"
        "        <item>1</item>\n        <item>2</item>\n    </g>\n    <g>\n        <item>3</item>\n    </g>\n</ROW>"
    )
    assert written(engine, "to_xml(named_struct('a', if(s = 'x', s, null)))") == "<ROW/>"
    assert written(engine, "to_xml(if(s = 'x', struct(s), null))") is None


@pytest.mark.parametrize(
    "text, shown",
    [
        ('<&>"x]]>\n\r\t', '&lt;&amp;>"x]]&gt;\n&#xd;\t'),
        (">", "&gt;"),
        ("]>a>", "]&gt;a>"),
        ("<>" + "x" * 9, "&lt;>" + "x" * 9),
        ("<>" + "x" * 10, "&lt;&gt;" + "x" * 10),
        ("a" * 511 + ">a>", "a" * 511 + ">a>"),
        ("a" * 512 + ">a>", "a" * 512 + "&gt;a>"),
        ("🙂" * 256 + ">a>", "🙂" * 256 + "&gt;a>"),
        ("x\x7f\x85\xa0\u2028\ufffe", "x&#x7f;&#x85;\xa0\u2028&#xfffe;"),
    ],
)
def test_texts_stand_in_xml_as_spark_writes_them(engine, text, shown):
    assert written(engine, "to_xml(named_struct('a', s))", text) == around(shown)


def test_a_text_that_xml_can_not_hold_is_null(engine):
    assert written(engine, "to_xml(named_struct('a', 1, 'b', array(s)))", "x\x01") is None


@pytest.mark.parametrize(
    "call, message",
    [
        ("to_xml(s)", "takes a struct, got string"),
        ("to_xml(struct(x))", "writes no binary; cast it to string"),
        ("to_xml(struct(m))", "writes no map"),
        ("to_xml(struct(e))", "writes no decimal"),
        ("to_xml(st)", "not `a b`; give another one by named_struct"),
        ("to_xml(named_struct('_a', 1))", "not `_a`"),
        ("to_xml(struct(s), map('rowTag', 'a b'))", "not `a b`"),
        ("to_xml(struct(s), map('indent', ''))", "to_xml has no option indent; it has rowTag"),
    ],
)
def test_what_is_not_written_is_refused(call, message):
    with pytest.raises(ExpressionError, match=message):
        check_select(f"{call} as c", SCHEMA)
