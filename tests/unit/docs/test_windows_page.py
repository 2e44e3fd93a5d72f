"""The pages about windows, joins, running results, keys and SQL: their apps find what the pages say."""

from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from support import apps
from unit.docs import pages

KEYS = {
    "out/totals": ["item"],
    "out/best": ["item", "place"],
    "out/newest": ["item", "bidder"],
    "out/wanted": ["place"],
    "out/revenue": ["shop", "item"],
}
"""The keys of the outputs whose rows replace earlier ones."""


@pytest.mark.parametrize(
    ("page", "outputs"), [("windows-and-joins.md", 7), ("running-results.md", 5), ("sql.md", 5), ("concepts.md", 1)]
)
def test_the_example_finds_what_the_page_says(tmp_path, monkeypatch, page, outputs):
    monkeypatch.chdir(tmp_path)
    blocks = pages.fences(pages.read(page))
    for block in blocks:
        if block.name and block.language in ("csv", "yaml"):
            Path(block.name).parent.mkdir(exist_ok=True)
            Path(block.name).write_text(block.text)
    result = CliRunner().invoke(app, ["run", "app.yaml", "--host", "in-process"])
    assert result.exit_code == 0, result.output
    shown = {block.name: block.text.splitlines() for block in blocks if block.language == "text"}
    assert len(shown) == outputs
    for folder, (header, *rows) in shown.items():
        assert apps.parts(Path(folder))[0].read_text().splitlines()[0] == header
        assert sorted(lines(folder, header.split(","))) == rows


def lines(folder, columns):
    """Return the lines of an output; of those that replace each other the last one."""
    found = [[value or "NULL" for value in row] for row in apps.rows(Path(folder))]
    if folder not in KEYS:
        return [",".join(row) for row in found]
    places = [columns.index(name) for name in KEYS[folder]]
    return list({tuple(row[place] for place in places): ",".join(row) for row in found}.values())


def test_the_last_rows_of_part_files_are_found_as_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (query,) = (block.text for block in pages.fences(pages.read("running-results.md")) if block.language == "sql")
    (tmp_path / "out/best").mkdir(parents=True)
    parts = {"1-2-9": "lamp,1,u\nvase,1,u", "1-2-10": "lamp,2,u\nvase,,d\ndesk,5,u", "1-3-0": "desk,6,u"}
    for name, lines in parts.items():
        (tmp_path / f"out/best/part-{name}.csv").write_text(f"item,n,__op\n{lines}\n")
    setting, reading = query.strip().split(";\n")
    with duckdb.connect() as database:
        database.execute(setting)
        assert sorted(database.execute(reading).fetchall()) == [("desk", 6), ("lamp", 2)]
