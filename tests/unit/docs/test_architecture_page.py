"""The pages that explain the code name modules that exist."""

import re

import pytest

from support.repository import PACKAGES
from unit.docs import pages

PAGES = ("architecture", "glossary", "concepts", "development", "operator")
MODULE = re.compile(r"`((?:core|systems|runtime|operator|cli)(?:\.[a-z0-9_]+)+)`")


def exists(name):
    package, *rest = name.split(".")
    path = pages.ROOT.joinpath(package, f"streamapp_{package}", *rest)
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.parametrize("name", PAGES)
def test_the_modules_that_a_page_names_exist(name):
    named = set(MODULE.findall(pages.prose(pages.read(f"{name}.md"))))
    assert {module for module in named if not exists(module)} == set()


def test_the_architecture_is_told_by_its_modules():
    assert len(set(MODULE.findall(pages.read("architecture.md")))) > 50


def test_every_term_of_the_glossary_has_a_place_in_the_code():
    sections = dict(pages.sections(pages.read("glossary.md")))
    sections.pop("If you know it by another name")
    rows = [row for section in sections.values() for row in re.findall(r"^\| (.+) \|$", section, re.MULTILINE)]
    terms = [row.split(" | ") for row in rows if not row.startswith("term |")]
    assert len(terms) > 60
    assert [columns for columns in terms if len(columns) != 3 or not MODULE.search(columns[2])] == []
    names = [name for columns in terms for name in columns[0].split(", ")]
    assert len(names) == len(set(names))


def test_the_questions_of_a_newcomer_lead_to_files_in_the_packages():
    """That the files exist is shown with all other links (`test_links`)."""
    section = dict(pages.sections(pages.read("development.md")))["Where to find it"]
    answers = re.findall(r"^\| (?!where|-)(.+?) \| (.+) \|$", section, re.MULTILINE)
    assert len(answers) > 10
    for _, answer in answers:
        links = re.findall(r"\]\(\.\./(\w+)/", answer)
        assert links
        assert set(links) <= set(PACKAGES)
