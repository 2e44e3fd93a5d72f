import re
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamapp_core.expressions import check_select, select_sql, table
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.regex_translation import translated
from streamapp_core.schema import parse_schema
from streamapp_runtime.sql_engine import SqlEngine

ATOMS = st.sampled_from(
    ["a", "b", r"\d", r"\w", ".", "[a-c]", "[^x]", "[^&]", "[&a]", r"\.", "-", "é", r"\x61", r"[^\u0061]"]
)
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
[z-a] [\d-z] \x6 \u006 \ud83d [\x{110000}] \B a\Bb \b^a \b(^a) (\b|a)^b a|(?:b|\b)c?^"""


@pytest.mark.parametrize(
    "pattern",
    [*UNSUPPORTED.split(), "(" * 30 + ")" * 30, r"\ba\b" * 11],
)
def test_what_re2_lacks_or_reads_differently_is_refused(pattern):
    with pytest.raises(Refusal, match="pattern"):
        translated(pattern)


@pytest.mark.parametrize(
    "pattern, same", [(r"\Qa.b\E+", r"a\.b+"), (r"[\Q^-]\E]", r"[\^\-\]]"), (r"\\Q", r"\x{5c}Q"), (r"a\Q(", r"a\("),
                      (r"\A\x5b\e", r"^\[\u001b"), (r"(?i)\x{1f600}\x61", "(?i)😀a")],
)  # fmt: skip
def test_one_pattern_is_written_in_several_ways(pattern, same):
    assert translated(pattern) == translated(same)


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


@pytest.mark.parametrize("pattern", [r"a\s$", "a[^b]$", r"\s+?$", r"a\s?b?$", r"(a|\s)b?$", r"\s$", "a$"])
@given(texts=st.lists(st.text("ab \n\r", max_size=5), min_size=1, max_size=9))
def test_an_end_is_found_before_a_return_with_its_line_feed_and_never_between_them(pattern, texts):
    end_in_java = r"(?:(?=\r\n\Z)|(?=\r\Z)|(?<!\r)(?=\n\Z)|\Z)"
    literal = pattern.replace("\\", "\\\\")
    select = check_select(f"s rlike '{literal}' as r", parse_schema("s string"))
    with SqlEngine() as engine:
        found = engine.query(select_sql(select.columns, table("t")), t=pa.table({"s": texts}))
    in_python = re.compile(pattern.replace("$", end_in_java))
    assert found["r"].to_pylist() == [in_python.search(text) is not None for text in texts]


WORDS = st.lists(st.sampled_from(["a", "é", "日", "1", "_", "-", " ", "e\u0301"]), max_size=7).map("".join)
BOUNDS = [r"\ba", r"a\b", r"\b.", r".\b", r"\b\b.", r"(?:\b.\b)+", r"\b[^ ]+?\b", r"é\b|\b-", r"(\b.(\b.\b)*\b)+",
          r"(?:\ba\b|\b.|-\b)+", r"^a\b|\b_|^\b1"]  # fmt: skip


@pytest.mark.parametrize("pattern", BOUNDS)
@given(texts=st.lists(WORDS, min_size=1, max_size=9))
def test_words_have_the_letters_and_digits_of_all_scripts_with_the_marks_on_them(pattern, texts):
    literal = pattern.replace("\\", "\\\\")
    calls = f"s rlike '{literal}' as found, regexp_replace(s, '{literal}', '<$0>') as replaced"
    select = check_select(f"{calls}, regexp_extract_all(s, '{literal}', 0) as parts", parse_schema("s string"))
    with SqlEngine() as engine:
        found = engine.query(select_sql(select.columns, table("t")), t=pa.table({"s": texts}))
    in_python = re.compile(pattern.replace(r"\b", "(?:(?<=[W])(?![W])|(?<![W])(?=[W]))".replace("W", "aé日1_e\u0301")))
    assert found["found"].to_pylist() == [in_python.search(text) is not None for text in texts]
    assert found["replaced"].to_pylist() == [in_python.sub(r"<\g<0>>", text) for text in texts]
    assert found["parts"].to_pylist() == [[part[0] for part in in_python.finditer(text)] for text in texts]


def test_of_alternatives_only_the_most_bounds_make_texts_longer():
    assert translated(r"\ba\b|\b(?:b\b|c\bd\b|-)\be").bounds == 4
