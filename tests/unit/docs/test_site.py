"""The site of the documentation: it is built with every link checked, is whole, and loads nothing from a network."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml
from mkdocs.structure.files import File
from tools.site.hooks import on_page_markdown

from support.repository import ROOT
from unit.docs import pages

LOADED = re.compile(r"""<(?:script|img|iframe)\b[^>]*\bsrc=["']?(https?:)?//|<link\b[^>]*\bhref=["']?(https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as `make site` does, elsewhere."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_there_and_in_the_search(site):
    sources = {path.stem for path in pages.DOCS.glob("*.md")} | {"index", "changelog", "commands", "spec"}
    assert {path.stem for path in site.glob("*.html")} == sources | {"404"}
    entries = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    found = {entry["location"].partition("#")[0].removesuffix(".html") for entry in entries}
    assert found >= sources
    commands = (site / "commands.html").read_text()
    assert all(f'id="streamapp-{command}"' in commands for command in ("init", "plan", "test", "state", "lag"))
    assert 'id="streamspec"' in (site / "spec.html").read_text()


def test_nothing_is_loaded_from_a_network(site):
    assert not [str(path) for path in site.rglob("*.html") if LOADED.search(path.read_text())]
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", styles)


def test_diagrams_are_drawn(site):
    pictures = {path.name for path in (site / "figures").glob("*.svg")}
    sources = {path.stem for path in pages.DOCS.glob("*.md") if "```mermaid" in path.read_text()}
    assert "planner" in sources
    texts = {name: (site / f"{name}.html").read_text() for name in sources}
    shown = {name: re.findall(r'<img[^>]* src="figures/([^"]+)"', text) for name, text in texts.items()}
    assert all(found and pictures.issuperset(found) for found in shown.values())
    assert not [path.name for path in site.rglob("*.html") if "flowchart LR" in path.read_text()]
    picture = (site / "figures" / shown["planner"][0]).read_text()
    assert "partition" in picture
    assert 'style="background-color: white' in picture


def test_every_page_has_its_place_in_the_navigation():
    text = re.sub(r"!!python/\S+", "", (ROOT / "mkdocs.yml").read_text())
    (_, *parts) = yaml.safe_load(text)["nav"]
    listed = [page for part in parts for some in part.values() for page in some]
    assert len(listed) == len(set(listed))
    assert {path.name for path in pages.DOCS.glob("*.md")} <= set(listed)


class PageOf:
    """A page by its source."""

    def __init__(self, source):
        self.file = File(source, "docs", "site", use_directory_urls=False)


@pytest.mark.parametrize(
    ("source", "written", "led"),
    [
        ("kafka.md", "[a](sql.md#x) [b](#y) [c](https://kafka.apache.org)", None),
        ("kafka.md", "[a](../examples/flights/app.yaml)", "[a](repository/examples/flights/app.yaml)"),
        ("kafka.md", "[a]: ../examples", "[a]: repository/examples/index.md"),
        ("index.md", "[a](docs/kafka.md#lag) [b](CHANGELOG.md)", "[a](kafka.md#lag) [b](changelog.md)"),
        ("repository/examples/lake/README.md", "[a](../../docs/tables.md)", "[a](../../../tables.md)"),
        ("kafka.md", "```yaml app.yaml\n[a](../b)\n```", '```yaml title="app.yaml"\n[a](../b)\n```'),
        ("kafka.md", "```text failed\n```", "```text\n```"),
    ],
)
def test_links_and_blocks_are_those_of_the_site(source, written, led):
    assert on_page_markdown(written, PageOf(source), None, None) == (led or written)


def test_a_broken_link_ends_the_build(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[a](nowhere.md)\n[b](#nothing)\n")
    text = (ROOT / "mkdocs.yml").read_text().replace("hooks: [tools/site/hooks.py]\n", "").partition("nav:\n  -")[0]
    (tmp_path / "mkdocs.yml").write_text(text)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "nowhere.md" in done.stderr
    assert "#nothing" in done.stderr
