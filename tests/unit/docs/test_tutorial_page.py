"""The commands of the tutorial are there, with their options and files, and show what the page says."""

import shlex

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from streamapp_cli.main import app
from unit.docs import pages

PAGE = pages.read("tutorial.md")
COMMANDS = [
    shlex.split(line) for fence in pages.fences(PAGE) if fence.language == "bash" for line in fence.text.splitlines()
]
OURS = [command[1:] for command in COMMANDS if command[0] == "streamapp"]


@pytest.mark.parametrize("command", OURS, ids=" ".join)
def test_a_command_has_its_options_and_its_files(command, monkeypatch):
    monkeypatch.chdir(pages.ROOT)
    name, *arguments = command
    known = get_command(app).commands[name]  # type: ignore[attr-defined]
    assert known.make_context(name, list(arguments)).params
    assert all((pages.ROOT / argument).is_file() for argument in arguments if argument.endswith(".yaml"))


def test_programs_and_targets_of_make_are_there():
    makefile = (pages.ROOT / "Makefile").read_text(encoding="utf-8")
    for command in COMMANDS:
        if command[0] == "make":
            assert f"\n{command[1]}: " in makefile
        elif command[0] == "python":
            assert (pages.ROOT / command[1]).is_file()


def test_the_first_plane_is_the_one_that_is_shown(monkeypatch):
    monkeypatch.chdir(pages.ROOT)
    (shown,) = (fence.text for fence in pages.fences(PAGE) if fence.language == "json")
    (peek,) = (command for command in OURS if command[0] == "peek" and "planes" in command)
    result = CliRunner().invoke(app, peek)
    assert result.exit_code == 0, result.output
    assert result.stdout == shown
