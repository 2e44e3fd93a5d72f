"""The page about windows and joins: its app finds what the page says."""

from pathlib import Path

from typer.testing import CliRunner

from streamapp_cli.main import app
from support import apps
from unit.docs import pages


def test_the_example_finds_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = pages.fences(pages.read("windows-and-joins.md"))
    for block in blocks:
        if block.language != "text":
            Path(block.name).parent.mkdir(exist_ok=True)
            Path(block.name).write_text(block.text)
    result = CliRunner().invoke(app, ["run", "app.yaml", "--host", "in-process"])
    assert result.exit_code == 0, result.output
    shown = {block.name: block.text.splitlines() for block in blocks if block.language == "text"}
    assert len(shown) == 4
    for folder, (header, *rows) in shown.items():
        assert apps.parts(Path(folder))[0].read_text().splitlines()[0] == header
        assert sorted(",".join(value or "NULL" for value in row) for row in apps.rows(Path(folder))) == rows
