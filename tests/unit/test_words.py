"""The words of the house: docstrings say what a thing is or does, and no phrase is private to this repository."""

import ast
import re

import pytest

from support.repository import PACKAGES, ROOT, texts

HERE = "tests/unit/test_words.py"
OPENINGS = re.compile(r"(What|Which|How|Tells?|Gives?|Says?|Lets?|Be|Hears?)\b")
"""Words that no docstring begins with: it begins with a verb in the imperative, or with a noun."""

BANNED = {
    "in force": "active",
    "made anew": "recreated, rebuilt, restarted",
    "begin anew": "start again",
    "begins anew": "starts again",
    "given up": "declared dead, stopped trying",
    "gives up": "stops trying",
    "shut out": "fenced",
    "shuts out": "fences",
    "give out": "emit",
    "gives out": "emits",
    "gave out": "emitted",
    "given out": "emitted",
    "of before": "previous",
    "hopeless": "permanent",
}
"""Phrases that only we would understand, and the words of the field for them."""
_BETWEEN = r"(?:_|\s+(?:#\s+)?)"
PHRASE = re.compile(
    r"(?<![a-z])(?:" + "|".join(phrase.replace(" ", _BETWEEN) for phrase in BANNED) + r")(?![a-z])", re.IGNORECASE
)
"""The phrases, in text over several lines and in names, too."""


def docstrings(text):
    """Yield line, kind and docstring of everything in a module that has one."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node)
            if docstring is not None:
                yield getattr(node, "lineno", 1), node, docstring


def is_property(node):
    return any(ast.unparse(decorator).endswith("property") for decorator in node.decorator_list)


def begins_badly(node, docstring):
    if OPENINGS.match(docstring):
        return True
    function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return function and docstring.startswith("Whether ") and not is_property(node)


@pytest.mark.parametrize("folder", [*PACKAGES, "tools", "benchmarks"])
def test_docstrings_begin_with_what_the_thing_is_or_does(folder):
    assert not [
        f"{path}:{line}: {docstring.splitlines()[0]}"
        for path, text in texts(folder)
        if path.endswith(".py")
        for line, node, docstring in docstrings(text)
        if begins_badly(node, docstring)
    ]


def test_no_file_has_private_phrases():
    assert not [
        f"{path}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"
        for path, text in texts()
        if path != HERE
        for found in PHRASE.finditer(text)
    ]


def test_nothing_refers_to_a_document_outside_the_repository():
    outside = re.compile(r"\(design\b|\bdesign(?:\.md|,? (?:section )?\d)")
    assert not [path for path, text in texts() if path != HERE and outside.search(text)]


def test_every_text_of_the_packages_is_looked_at():
    assert {str(path.relative_to(ROOT)) for path in ROOT.glob("core/**/*.py")} <= {path for path, _ in texts()}
