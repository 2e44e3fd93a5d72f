"""The tests of our examples pass; those of flights, which has everything that can go wrong, in all circumstances."""

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from support.repository import ROOT

TESTS = sorted((ROOT / "examples").rglob("*.tests.yaml"))


@pytest.mark.parametrize("tests", TESTS, ids=lambda path: str(path.relative_to(ROOT / "examples")))
def test_the_tests_of_an_example_pass(tests):
    often = [] if tests.parent.name == "flights" else ["--once"]
    result = CliRunner().invoke(app, ["test", str(tests).replace(".tests.yaml", ".yaml"), *often])
    assert result.exit_code == 0, result.output
    assert "passed" in result.output
