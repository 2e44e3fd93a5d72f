"""Values in XML texts by paths: results that are Spark's own, texts that are malformed or hostile, and bounds."""

import math
import random
import time

import pyarrow as pa
import pytest

from streamapp_core.expressions import ExpressionError, check_select
from streamapp_core.schema import parse_schema
from streamapp_runtime.kernels.xml_kernels import xpath_condition, xpath_nodes, xpath_number, xpath_text
from support.xml_texts import xml_text

TEXT = (
    '<?xml version="1.0"?><!-- top --><a x="1" xmlns:n="u" n:q="7"><b>1<![CDATA[2]]>3</b><b y=" 5 ">x<!-- c -->y</b>'
    "<n:b>ns</n:b><c><b>1.5</b><b>-2</b><b>1e3</b></c><?pi some data?><e/></a>"
)


def value(kernel, text, path):
    return kernel(pa.array([text], pa.string()), pa.array([path], pa.string())).to_pylist()[0]


@pytest.mark.parametrize(
    "path, found",
    [
        ("a/b/text()", ["1", "x", "y", "ns"]),
        ("a/b", [None, None, None]),
        ("//@*", ["7", "1", " 5 "]),
        ("//b[last()]/text()", ["ns", "1e3"]),
        ("(//b)[2]/text()", ["x", "y"]),
        ("a/b[1.5]/text()", ["1"]),
        ("a/c/b[3]/preceding-sibling::b[1]/text()", ["-2"]),
        ("//b/text()|//@y", ["1", " 5 ", "x", "y", "ns", "1.5", "-2", "1e3"]),
        ("//processing-instruction('pi')", ["some data"]),
        ("node()", [" top ", None]),
        ("zzz", []),
    ],
)
def test_a_path_selects_what_it_does_in_spark(path, found):
    assert value(xpath_nodes, TEXT, path) == found


@pytest.mark.parametrize(
    "path, found",
    [
        ("a", "123xyns1.5-21e3"),
        ("string(a/c/b[3]/preceding::node())", "123"),
        ("1 div 3", "0.3333333333333333"),
        ("0.00001", "0.00001"),
        ("-1 div 0", "-Infinity"),
        ("string(-0.0)", "0"),
        ("concat('a', 1.5, true())", "a1.5true"),
        ("substring('12345', 1.5, 2.6)", "234"),
        ("substring('12345', 0 div 0, 3)", ""),
        ("substring('12345', 2, -1)", None),
        ("substring('🙂a🙂', 2, 2)", "?a"),
        ("string-length('🙂')", "2"),
        ("translate('🙂a', '🙂', 'é')", "éa"),
        ("name(a/*[3])", "n:b"),
        ("local-name(a/*[3])", "b"),
        ("number('1e3')", "NaN"),
        ("-5 mod 2", "-1"),
        ("round(-0.5)", "0"),
        ("* * *", "NaN"),
        ("a//b > 100", "true"),
        ("//zzz = false()", "true"),
        ("'a' < 'b'", "false"),
        ("substring-after('ab', '')", "ab"),
    ],
)
def test_a_path_computes_what_it_does_in_spark(path, found):
    assert value(xpath_text, TEXT, path) == found


def test_numbers_and_conditions():
    assert value(xpath_number, TEXT, "sum(a/c/b[. < 100])") == -0.5
    assert math.isnan(value(xpath_number, TEXT, "a"))
    assert value(xpath_condition, TEXT, "a/e") is True
    assert value(xpath_condition, TEXT, "a/zzz") is False


@pytest.mark.parametrize("path, found", [("//text()", []), ("/b/text()", ["x"]), (".//b", [None]), ("//n", [])])
def test_the_jdks_own_walker_of_descendants_tests_otherwise(path, found):
    assert value(xpath_nodes, "<b xmlns:b='u'><b:n/><![CDATA[x]]></b>", path) == found


LAUGHS = (
    "<!DOCTYPE a [<!ENTITY b '"
    + "ha" * 50
    + "'>"
    + "".join(f"<!ENTITY {chr(99 + at)} '{f'&{chr(98 + at)};' * 50}'>" for at in range(8))
)


@pytest.mark.parametrize(
    "text",
    [
        None, "", " ", "a", "<a>", "<a></b>", "<a/><b/>", "<a b='1' b='2'/>", "<a>&nbsp;</a>", "<a>\x01</a>",
        "\ufeff<a/>", "<?xml version='1.1'?><a/>", LAUGHS + "]><a>&j;</a>", "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>", "<a>" * 100_000, "<a>" * 300 + "</a>" * 300,
        f"<{'a' * 2000}/>", f"<a>{'<b/>' * 500_001}</a>",
    ],
)  # fmt: skip
def test_a_text_that_is_malformed_or_hostile_is_null(text):
    for kernel in (xpath_nodes, xpath_text, xpath_number, xpath_condition):
        assert value(kernel, text, "a") is None


def test_broken_texts_never_fail():
    draw = random.Random(1)
    texts = pa.array([xml_text(draw) for _ in range(2000)])
    found = xpath_nodes(texts, pa.array(["//@*|//text()|//comment()"] * len(texts)))
    assert 100 < found.null_count < 1000


@pytest.mark.parametrize("path", ["//a[//a[//a]]", "//a[count(preceding::a) = 7]", "//*[contains(/, //b)]"])
def test_what_takes_too_much_work_is_null(path):
    text = "<r>" + "<a>some text</a>" * 20_000 + "</r>"
    start = time.process_time()
    assert value(xpath_text, text, path) is None
    assert time.process_time() - start < 30


def test_a_declared_encoding_does_not_count():
    assert value(xpath_text, "<?xml version='1.0' encoding='UTF-16'?><a>é</a>", "a") == "é"


@pytest.mark.parametrize(
    "call, message",
    [
        ("xpath(s, 'a[')", "the path of xpath: a name is missing before ``"),
        ("xpath(s, '1')", "selects nodes, but this one is a number; take xpath_string"),
        ("xpath(s, s)", "path of .* must be a literal"),
        ("xpath_int(s, 'x:y')", "there are no prefixes"),
        ("xpath_int(s, 'foo()')", "there is no function foo"),
        ("xpath_int(s, 'count(1)')", "a number stands where nodes are expected"),
        ("xpath_int(s, 'substring(a)')", "substring takes other arguments than these 1"),
        ("xpath_int(s, 'position()')", "it stands inside of"),
        ("xpath_int(s, 'a[count(b)]')", "stands for a place"),
        ("xpath_int(s, 'namespace::a')", "there is no axis namespace"),
        ("xpath_int(s, '$v')", "is not understood"),
        ("xpath_int(s, '1and 1')", "a number ends before it"),
        (f"xpath_int(s, '{'(' * 40}1{')' * 40}')", "nested deeper than 30"),
        (f"xpath_int(s, '{'a/' * 600}a')", "more than 1000 characters"),
    ],
)
def test_a_path_that_is_none_is_refused_before_anything_runs(call, message):
    with pytest.raises(ExpressionError, match=message):
        check_select(f"{call} as c", parse_schema("s string"))
