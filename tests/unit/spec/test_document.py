import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.spec.yaml_document import DocumentError, read_document


def refused(text):
    with pytest.raises(DocumentError) as error:
        read_document(text)
    return str(error.value)


def test_words_that_old_yaml_took_for_truth_are_text():
    document, _ = read_document("{on: off, y: no, t: true, f: False, n: null, e: }")
    assert document == {"on": "off", "y": "no", "t": True, "f": False, "n": None, "e": None}


def test_dates_octals_and_sexagesimals_are_text():
    document, _ = read_document("{d: 2013-01-01, o: 010, s: 1:30, i: 12, f: 1.5e3}")
    assert document == {"d": "2013-01-01", "o": "010", "s": "1:30", "i": 12, "f": 1500.0}


@pytest.mark.parametrize(
    "text, said",
    [
        ('a: "x\nb: 1\n', "the quote of line 1, column 4 is not closed"),
        ("a:\n\tb: 1\n", "line 2, column 1: found character that cannot start any token: a tab; indent by spaces"),
        ("a:\n    b: 1\n   c: 2\n", "the line is not indented as those that begin with line"),
        ("a: {b: [1, 2}\n", "what begins in line 1, column 8 needs a `,` or its `]` here"),
        ("a: b: c\n", "a text with `: ` in it is written in quotes"),
        ("a: %b\n", "a text that begins with `%` is written in quotes"),
        ("a: 1\n  \N{NO-BREAK SPACE}b: 2\nc: 3\n", "line 2 is indented by a no-break space"),
        ("a: 1\n---\nb: 2\n", "an app is one document"),
    ],
)
def test_mistakes_of_yaml_are_named_as_what_they_are(text, said):
    assert said in refused(text)


def test_json_is_yaml():
    assert read_document('{"a": [1, "x"]}')[0] == {"a": [1, "x"]}


def test_keys_given_twice_are_problems_with_paths_and_lines():
    _, problems = read_document("a:\n  b: 1\n  c: [{x: 1, x: 2}]\n  b: 2\n")
    assert [(p.path, p.code) for p in problems] == [("a.b", "InvalidSpec"), ("a.c[0].x", "InvalidSpec")]
    assert "lines 2 and 4" in problems[0].message


def test_aliases_are_written_out():
    assert read_document("a: &x {k: 1}\nb: *x")[0] == {"a": {"k": 1}, "b": {"k": 1}}


def test_a_billion_laughs_are_refused_before_they_are_written_out():
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert "aliases written out" in refused("l0: &l0 [lol]\n" + "\n".join(levels))


def test_an_anchor_in_itself_is_refused():
    assert "contains itself" in refused("a: &a [*a]")


@pytest.mark.parametrize("text", ["[" * 10_000, "{a: " * 10_000, "- " * 10_000 + "x", "[" * 10_000 + "]" * 10_000])
def test_ten_thousand_levels_are_refused(text):
    assert "deeper than" in refused(text)


def test_a_document_that_kubernetes_could_not_store_is_refused():
    assert "larger than" in refused("a: " + "x" * 2_000_000)


def test_very_many_values_are_refused():
    assert "values" in refused("[" + "1," * 400_000 + "]")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("a: b: c", "line 1"),
        ("a: [1", "line 2"),
        ("--- 1\n--- 2\n", "another document"),
        ("!!python/x 1", "tag"),
    ],
)
def test_what_is_no_document_is_told_where(text, why):
    assert why in refused(text)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(DocumentError):
        read_document(text)
