from pathlib import Path

from streamapp_core.expressions.functions import AGGREGATE_NAMES, BY_NAME, FUNCTIONS, GENERATOR_NAMES
from streamapp_core.expressions.reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "expressions.md"


def test_the_page_lists_exactly_the_table():
    assert reference() in PAGE.read_text(encoding="utf-8")


def test_no_two_functions_share_a_name():
    names = [name for function in FUNCTIONS for name in (function.name, *function.aliases)]
    assert len(names) == len(set(names)) == len(BY_NAME)
    assert not set(names) & (AGGREGATE_NAMES | GENERATOR_NAMES)
