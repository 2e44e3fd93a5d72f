"""The page about tests of apps: its example prints what the page says."""

import re

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from unit.docs import pages

BLOCKS = {block.name: block.text for block in pages.fences(pages.read("testing-apps.md"))}
CHANGES = {
    "passed": {},
    "failed": {"checks.py": ("pc.less(", "pc.less_equal(")},
    "refused": {"shop.tests.yaml": ("{item: tea, orders: 2", "{item: tea, ordres: 2")},
}


@pytest.mark.parametrize("said", CHANGES)
def test_the_example_prints_what_the_page_says(tmp_path, said):
    for name in ("shop.yaml", "checks.py", "shop.tests.yaml"):
        old, new = CHANGES[said].get(name, ("", ""))
        text = BLOCKS[name].replace(old, new) if old else BLOCKS[name]
        late = 'at: "2024-05-01T10:00:00Z"'
        text = text.replace(late, 'at: "2024-05-01T08:20:00Z"') if said == "refused" else text
        (tmp_path / name).write_text(text)
    result = CliRunner().invoke(app, ["test", str(tmp_path / "shop.yaml")])
    assert result.exit_code == (0 if said == "passed" else 1)
    assert without_seconds(result.output) == without_seconds(BLOCKS[said])


def test_the_example_of_steps_passes(tmp_path):
    for name in ("shop.yaml", "checks.py", "late.tests.yaml"):
        (tmp_path / name).write_text(BLOCKS[name])
    tests = str(tmp_path / "late.tests.yaml")
    result = CliRunner().invoke(app, ["test", str(tmp_path / "shop.yaml"), "--tests", tests])
    assert result.exit_code == 0, result.output


def without_seconds(text):
    return re.sub(r"in [0-9.]+ s$", "in 0 s", text, flags=re.MULTILINE)
