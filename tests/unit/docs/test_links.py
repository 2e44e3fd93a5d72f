"""Links of the documentation, and references to it from anywhere, lead somewhere."""

import re
from pathlib import Path

import pytest

from support.repository import texts
from unit.docs import pages

PAGES = [pages.ROOT / "README.md", *sorted(pages.DOCS.glob("*.md"))]
REFERENCE = re.compile(r"\bdocs/([a-z-]+\.md)(?:#([a-z0-9-]+))?")
LINK = re.compile(r"\](?:\(([^)\s]+)\)|: (\S+)$)", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors that headings have on GitHub."""
    headings = re.findall(r"^#+ (.+)$", pages.prose(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_lead_to_a_file_and_a_heading(page):
    broken = []
    for found in LINK.finditer(pages.prose(page.read_text(encoding="utf-8"))):
        link = found[1] or found[2]
        if link.startswith(("https://", "http://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


def test_the_pages_that_code_and_other_files_name_exist():
    broken = []
    for path, text in texts():
        for page, anchor in REFERENCE.findall(text):
            target = pages.DOCS / page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{path}: docs/{page}#{anchor}")
    assert not broken
