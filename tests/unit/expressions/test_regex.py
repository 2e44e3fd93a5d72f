import re
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import check_select, select_sql, table
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.regex import translated
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine

ATOMS = st.sampled_from(["a", "b", r"\d", r"\w", ".", "[a-c]", "[^x]", "[^&]", "[&a]", r"\.", "-", "é"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        inner.map(lambda pattern: f"({pattern})"),
        ATOMS.map(lambda pattern: f"(?:{pattern})?"),
        ATOMS.map(lambda atom: atom + "*?"),
        ATOMS.map(lambda atom: atom + "{1,3}"),
    ),
    max_leaves=8,
)


def as_python(text):
    """RE2's `\\x{..}` and `\\z`, written as Python does."""
    text = re.sub(r"\\x\{([0-9a-f]+)\}", lambda match: re.escape(chr(int(match[1], 16))), text)
    return text.replace(r"\z", r"\Z")


@given(PATTERNS, st.text("ab12.-xé&", max_size=8))
def test_a_translated_pattern_matches_the_same_parts(pattern, text):
    regex = translated(pattern)
    expected, found = re.search(pattern, text, re.ASCII), re.search(as_python(regex.text), text)
    assert (found and found.span()) == (expected and expected.span())
    assert regex.groups == re.compile(pattern).groups
    assert regex.may_be_empty == bool(re.fullmatch(pattern, ""))


def test_a_dollar_matches_before_a_last_line_end():
    regex = translated("b$")
    assert regex.ends
    assert re.search(as_python(regex.text), "ab\r\n")
    assert not re.search(as_python(regex.text), "ab\n\n")


UNSUPPORTED = r"""( ) a) [ [] [a *a a** a*+ a{ a{2,1} a{1000} (a{9}){9} (a*)* (a|)+ a(?i)a (?=a) (?<n>a)(?<n>b) \b*
(?i)\p{Lower} (?m)a (?si)(?i)a (a)\1 \p{Foo} (?i)\p{Lu} [\p{L}-a] \p \p{ [\p{Punct}-a] \ a$b (a$) ^* [a&&b] [&&a] [[a]]
[z-a] [\d-z]"""


@pytest.mark.parametrize(
    "pattern",
    [*UNSUPPORTED.split(), "(" * 30 + ")" * 30],
)
def test_what_re2_lacks_or_reads_differently_is_refused(pattern):
    with pytest.raises(Refusal, match="pattern"):
        translated(pattern)


@given(st.text("ab()[]{}|*+?^$\\-.,12dw", max_size=15))
def test_any_text_is_translated_or_refused(pattern):
    with suppress(Refusal):
        re.compile(as_python(translated(pattern).text))


ENDS = st.sampled_from(["a", "[ab]+", r"\s+", r"[ab\s]*b", ".", "(a|b)", "a?b", r"\s*a", "b+?"])
TEXTS_WITH_ENDS = st.lists(st.text("ab \n", max_size=6), min_size=1, max_size=5)


@settings(max_examples=60)
@given(first=st.none() | PATTERNS, end=ENDS, texts=TEXTS_WITH_ENDS)
def test_what_ends_at_the_end_is_replaced_as_in_java(first, end, texts):
    pattern = f"{end}$" if first is None else f"{first}|{end}$"
    assume(not re.fullmatch(first or "x", ""))
    literal = pattern.replace("\\", "\\\\")
    select = check_select(f"regexp_replace(s, '{literal}', '<>') as r", parse_schema("s string"))
    with SqlEngine() as engine:
        found = engine.query(select_sql(select.columns, table("t")), t=pa.table({"s": texts}))
    assert found["r"].to_pylist() == [re.sub(pattern, "<>", text, flags=re.ASCII) for text in texts]
