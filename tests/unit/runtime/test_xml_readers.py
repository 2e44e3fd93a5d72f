"""XML texts read by a type as Spark reads them, event by event; those that are malformed or hostile, and bounds."""

import json
import random
import time

import pyarrow as pa
import pytest

from streamapp_runtime.kernels.xml_readers import from_xml, xml_values
from streamapp_runtime.kernels.xml_schemas import schema_of_xml
from support.xml_texts import xml_text

OPTIONS = {
    "attribute_prefix": "_", "value_tag": "_VALUE", "attributes": True, "trims": True, "local_names": False,
}  # fmt: skip


def read(text, written, dates=()):
    days = pa.array([dates], pa.list_(pa.bool_()))
    columns = [pa.array([value], pa.string()) for value in (text, written, json.dumps(OPTIONS))]
    found = from_xml(*columns, days, pa.array([[]], pa.list_(pa.bool_()))).to_pylist()[0]
    return None if found is None else json.loads(found)


@pytest.mark.parametrize(
    "text, written, row",
    [
        ("<p><a>1</a><b>x</b></p>", "a:int,b:string", {"f0": "1", "f1": "x"}),
        ("<p A='1'><A> 2 </A><b/></p>", "_a:int,a:int,b:string", {"f0": "1", "f1": "2", "f2": ""}),
        ("<p><a>x</a><b>1</b></p>", "a:int,b:int", {}),
        ("<p><b>1</b><a>x</a><c>2</c></p>", "a:int,b:int,c:string", {"f1": "1"}),
        ("<p><a><b>1</b></a><b>2</b></p>", "a:int,b:int", {"f1": "1"}),
        ("<p><q>t<a>1</a>u</q><a>3</a></p>", "q:struct<_VALUE:int,a:int>,a:int", {"f1": "1"}),
        ("<p><a>1</a><a>x</a><a>3</a></p>", "a:array<int>", {"f0": ["1"]}),
        ("<p>t<a>1</a>u</p>", "_VALUE:array<string>,a:int", {"f0": ["t", "u"], "f1": "1"}),
        ("<p>t<a>1</a></p>", "_VALUE:int,a:int", {}),
        ("<p><q z='1'>t</q><q/></p>", "q:array<struct<_VALUE:string,_z:int>>", {"f0": [{"f0": "t", "f1": "1"}, {}]}),
        ("<p><a>t<!--c-->u<b x='&lt;'>v</b></a></p>", "a:string", {"f0": 'tu<b x="<">v</b>'}),
        ("<p><a>1<!--c-->2</a><b>3</b></p>", "a:int,b:int", {}),
        ("<p><a>1<![CDATA[2]]></a></p>", "a:int", {"f0": "12"}),
        ("<p><a>--5</a><b>+-5</b></p>", "a:int,b:int", {"f0": "5", "f1": "-5"}),
        ("<p><a>-2147483648</a></p>", "a:int", {}),
        ("<p><a>1,234.5abc</a><b>-NaNx</b></p>", "a:double,b:float", {"f0": "1234.5", "f1": "NaN"}),
        ("<p><a>TRUE</a><b>0</b></p>", "a:boolean,b:boolean", {"f0": "true", "f1": "false"}),
        ("<p><a>1,5</a><b>1.005</b></p>", "a:decimal(5,1),b:decimal(5,2)", {"f0": "15.0", "f1": "1.01"}),
        ("<p><x><y>1</y> t </x><b>2</b></p>", "b:int", {"f0": "2"}),
    ],
)
def test_values_are_those_of_spark(text, written, row):
    assert read(text, f"struct<{written}>") == row


def test_what_is_no_date_ends_its_element():
    text, written = "<p><b>1</b><a>2024-02-30</a><c>2</c></p>", "struct<a:date,b:int,c:int>"
    assert read(text, written, [True, True, True]) == {"f0": "2024-02-30", "f1": "1", "f2": "2"}
    assert read(text, written, [True, False, True]) == {"f1": "1"}


@pytest.mark.parametrize(
    "text", ["<p><a>1</a></p>x<", "<p><a>1</a></p><q/>", " <p><a>1</a></p>", "<p><a>1</a><!--x--></p>"]
)
def test_a_text_is_read_to_the_end_of_its_root(text):
    assert read(text, "struct<a:int>") == {"f0": "1"}


@pytest.mark.parametrize(
    "text", ["", " ", "x", "<p", "<p><a>1</a>", "<p><a>1</a><b></p>", "\ufeff<p><a>1</a></p>", "<p><a>1</a>&x;</p>",
             "<!DOCTYPE p><p><a>1</a></p>", "<p><a>1</a>" + "<b>" * 300 + "</b>" * 300 + "</p>"]
)  # fmt: skip
def test_a_malformed_text_has_no_values(text):
    assert read(text, "struct<a:int>") == {}


def test_a_null_is_null():
    assert read(None, "struct<a:int>") is None


def test_every_text_is_read_or_none():
    draw = random.Random(1)
    written = "struct<a:array<struct<b:int,_VALUE:array<double>,_x:string>>,b:string,c:struct<a:boolean>,_a:bigint>"
    texts = [xml_text(draw) for _ in range(500)]
    assert any(read(text, written) for text in texts)


def test_a_text_whose_values_are_too_many_is_null():
    text = "<p>" + "<a>1</a>" * 200_000 + "</p>"
    assert read(text, f"struct<{','.join(f'c{n}:array<int>' for n in range(10))}>") is None


def test_the_work_grows_with_the_size_of_a_text():
    start = time.process_time()
    assert len(read("<p>" + "<a b='1'>x</a>" * 90_000 + "</p>", "struct<a:array<string>>")["f0"]) == 90_000
    assert time.process_time() - start < 30


def test_values_have_the_places_at_which_they_are_asked_for():
    texts = pa.array(["<p x=' 1 ' y='2'>t<a z='3'> u </a><!--c-->v</p>", "<p", None])
    options = pa.array([json.dumps(OPTIONS)] * 3)
    assert xml_values(texts, options).to_pylist() == [["1", "2", "t", "3", "u", "v"], [], None]


@pytest.mark.parametrize(
    "text, written",
    [
        ("<p><a>1</a></p>", "STRUCT<a: BIGINT>"),
        ("<p><a c='x'>1</a><a/></p>", "STRUCT<a: ARRAY<STRUCT<_VALUE: BIGINT, _c: STRING>>>"),
        ("<p><a>1</a><A>.5</A><b>1d</b></p>", "STRUCT<a: ARRAY<DOUBLE>, b: STRING>"),
        ("<p><a>true</a><b>0x1p3</b><c> </c></p>", "STRUCT<a: BOOLEAN, b: DOUBLE, c: STRING>"),
        ("<p><a>12:30</a></p>", None),
        ("<p><a>1</a>", None),
        ("<p/>", "STRUCT<>"),
    ],
)
def test_the_type_of_a_text_is_that_of_spark(text, written):
    none = pa.array([[False] * 9])
    found = schema_of_xml(pa.array([text]), pa.array([json.dumps(OPTIONS)]), none, none)
    assert found.to_pylist() == [written]
