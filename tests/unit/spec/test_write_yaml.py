"""YAML that is written: every reader takes it for what was written."""

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from streamapp_core.spec.write_yaml import write_document, write_inline
from streamapp_core.spec.yaml_document import read_document

TEXTS = st.text(st.characters(codec="utf-8"))
# fmt: off
ODD = [
    "on", "no", "y", "N", "~", "null", "", "1e3", "0x1f", "0o17", "0b11", "017", "1_000", ".5", "+1", ".inf", "1:30",
    "12:30:45", "2024-01-01", "2024-1-2", "2024-1-2T1:2:3Z", "true", "=", "<<", " a", "a ", "a: b", "#", "- a", "---",
    "...", "a\n b\n\n", "\n\ta", "a\r\nb", "\x85", "\u2028x", "\ufeff", "\x00", "'", "{", "[a]", "a,b", "&a", "%",
]
# fmt: on
VALUES = st.recursive(
    TEXTS | st.sampled_from(ODD) | st.booleans() | st.integers() | st.none(),
    lambda parts: st.lists(parts) | st.dictionaries(st.sampled_from(ODD) | TEXTS, parts),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc-", min_size=1), VALUES, min_size=1))
def test_documents_are_read_as_they_were_written(document):
    text = write_document(document)
    assert read_document(text) == (document, ())
    assert yaml.safe_load(text) == document


@given(VALUES)
@example("a\n b\n\n")
def test_values_of_one_line_are_read_as_they_were_written(value):
    line = f"- {write_inline(value)}"
    assert "\n" not in line
    assert read_document(line) == ([value], ())


@pytest.mark.parametrize("text", ["y", "N", "1e3", "0x1f", "0o17", "0b11", "1_000", "2024-1-2", "12:30", "1.", "0_1"])
def test_what_tools_of_kubernetes_read_as_something_else_is_quoted(text):
    assert write_inline(text) == f"'{text}'"


@pytest.mark.parametrize("text", ["5m", "1d", "24h", "a", "count(*) as n", "amount > 1e3", "1Gi"])
def test_ordinary_texts_stand_as_they_are(text):
    assert write_inline(text) == text
