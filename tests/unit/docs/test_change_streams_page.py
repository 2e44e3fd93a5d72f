"""The page about streams of changes: its apps find what the page says."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from support import apps, json_logs
from unit.docs import pages


def sections():
    """The parts of the page that have an app."""
    text = pages.read("change-streams.md")
    parts = [pages.fences(part) for part in text.split("\n## ")]
    return [{block.name: block for block in blocks} for blocks in parts if any(b.name == "app.yaml" for b in blocks)]


def key_text(key):
    return key if isinstance(key, str) else json.dumps(key)


@pytest.mark.parametrize("blocks", sections(), ids=lambda blocks: next(iter(blocks)))
def test_the_example_finds_what_the_page_says(tmp_path, monkeypatch, blocks):
    monkeypatch.chdir(tmp_path)
    Path("app.yaml").write_text(blocks["app.yaml"].text)
    (source,) = (block for block in blocks.values() if block.name.endswith(".jsonl"))
    records = [json.loads(line) for line in source.text.splitlines()]
    json_logs.write(
        tmp_path, Path(source.name).stem, 1, [(0, key_text(record["key"]), record["value"]) for record in records]
    )
    result = CliRunner().invoke(app, ["run", "app.yaml", "--host", "in-process"])
    assert result.exit_code == 0, result.output
    outputs = [block for block in blocks.values() if block.language == "text"]
    assert outputs
    for output in outputs:
        header, *expected = output.text.splitlines()
        assert apps.parts(Path(output.name))[0].read_text().splitlines()[0] == header
        last = {row[0]: row for row in apps.rows(Path(output.name))}
        assert sorted(",".join(row) for row in last.values() if row[-1] != "d") == expected
