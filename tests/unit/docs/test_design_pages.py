"""The examples of the design pages are planned, run and evaluated as they are written."""

import doctest
import re
import shlex
from contextlib import suppress
from itertools import zip_longest
from json import dumps, loads
from pkgutil import resolve_name

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from streamapp_core.plan import plan
from streamapp_core.spec.parse import parse_text
from unit.docs import pages

PAGES = ("planner", "expansion", "host-affinity", "control-messages", "adjunct-stores", "from-samza")
TEXTS = {name: pages.read(f"{name}.md") for name in PAGES}
MODULE = re.compile(
    r"`(streamapp_[a-z_]+(?:\.\w+)+|(?:graph|plan|job_model|control|tasks|assignment|processor|tables)\.[a-z_]+(?:\.\w+)*)"
)
SAVED_JOB_MODEL = re.compile(r"(.+) \| jq \.jobModel > (\S+)")


def apps():
    """Give each YAML block with the partition counts of its page, and what is said to be printed, if it is refused."""
    for name, text in TEXTS.items():
        blocks = pages.fences(text)
        counts = {}
        for block, after in zip_longest(blocks, blocks[1:]):
            if block.name == "streams.json":
                counts = {stream: entry["partitions"] for stream, entry in loads(block.text).items()}
            elif block.language == "yaml":
                refused = after is not None and after.language == "text"
                yield pytest.param(block.text, counts, after.text if refused else "", id=f"{name}-{block.name}")


def commands(console):
    """Split a console block into commands, what each prints, and the file its job model is saved in."""
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        saved = SAVED_JOB_MODEL.fullmatch(line)
        yield shlex.split(saved[1] if saved else line), output, saved[2] if saved else None


@pytest.mark.parametrize("yaml, counts, printed", list(apps()))
def test_an_app_is_accepted_or_refused_as_its_page_says(yaml, counts, printed):
    result = plan(parse_text(yaml), counts | pages.counts(yaml))
    assert "\n".join(pages.printed(result.problems)) == printed.strip()


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if "```console" in text])
def test_commands_print_what_their_page_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compare = doctest.OutputChecker().check_output
    for block in pages.fences(TEXTS[name]):
        if block.name is not None:
            (tmp_path / block.name).parent.mkdir(exist_ok=True)
            (tmp_path / block.name).write_text(block.text)
        for (program, *arguments), output, saved in commands(block.text if block.language == "console" else ""):
            assert program == "streamapp"
            result = CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})
            if saved is not None:
                (tmp_path / saved).write_text(dumps(loads(result.stdout)["jobModel"]))
            elif not compare(output, result.output, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE):
                pytest.fail(f"{arguments} printed\n{result.output}\nand not\n{output}")


def test_the_picture_of_a_plan_is_what_is_printed(tmp_path):
    blocks = pages.fences(TEXTS["planner"])
    for block in blocks:
        if block.name in ("app.yaml", "streams.json"):
            (tmp_path / block.name).write_text(block.text)
    options = ["--streams", str(tmp_path / "streams.json"), "--output", "mermaid", "--types"]
    result = CliRunner().invoke(app, ["plan", str(tmp_path / "app.yaml"), *options])
    assert result.exit_code == 0, result.output
    assert [block.text for block in blocks if block.language == "mermaid"][1:] == [result.stdout]


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if "```pycon" in text])
def test_python_gives_what_its_page_shows(name):
    code = "\n".join(block.text for block in pages.fences(TEXTS[name]) if block.language == "pycon")
    test = doctest.DocTestParser().get_doctest(code, {}, name, f"{name}.md", 0)
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert outcome.attempted
    assert not outcome.failed


def exists(name):
    """Tell if a dotted name is a module of ours, or something in one; the package may be left out."""
    for full in (name, f"streamapp_core.{name}", f"streamapp_runtime.{name}"):
        with suppress(ImportError, AttributeError):
            resolve_name(full)
            return True
    return False


@pytest.mark.parametrize("name", PAGES)
def test_the_code_that_a_page_names_exists(name):
    named = set(MODULE.findall(pages.prose(TEXTS[name])))
    assert named
    assert {module for module in named if not exists(module)} == set()


@pytest.mark.parametrize("name", PAGES[:-1])
def test_a_design_has_a_picture(name):
    assert "```mermaid\n" in TEXTS[name]
