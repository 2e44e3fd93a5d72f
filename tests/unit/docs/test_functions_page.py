"""The page about Python functions works as written, its errors too."""

import doctest
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from streamapp_cli.main import app
from support import apps
from unit.docs import pages

PAGE = pages.read("functions.md")
BLOCKS = {(fence.language, fence.name): fence.text for fence in pages.fences(PAGE)}
FUNCTIONS = BLOCKS["python", "shop/baskets.py"]
SPEC = BLOCKS["yaml", "shop/app.yaml"]
MARK = '    return orders.append_column("large", pc.greater(orders["amount"], 5.5))\n'


@pytest.fixture(autouse=True)
def shop(tmp_path, monkeypatch, forget_modules):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["bash", "-euc", BLOCKS["bash", None]], check=True)


def run(functions=FUNCTIONS, spec=SPEC):
    Path("shop/baskets.py").write_text(functions)
    Path("shop/app.yaml").write_text(spec)
    return CliRunner().invoke(app, ["run", "shop/app.yaml", "--host", "in-process"])


def changed(old, new, text=FUNCTIONS):
    assert text.count(old) == 1
    return text.replace(old, new)


def test_the_example_finds_what_the_page_says():
    result = run()
    assert result.exit_code == 0, result.output
    header, *results = BLOCKS["text", None].splitlines()
    assert apps.parts(Path("shop/sold"))[0].read_text().splitlines()[0] == header
    assert sorted(",".join(row) for row in apps.rows(Path("shop/sold"))) == results
    assert [row[-1] for row in apps.rows(Path("shop/marked"))] == ["true", "false", "false", "false"]


@pytest.mark.parametrize(
    "name, functions, spec",
    [
        ("import", FUNCTIONS, changed("baskets:large", "basket:large", SPEC)),
        ("raises", changed('orders["amount"]', 'orders["amounts"]'), SPEC),
        ("columns", changed(MARK, "    return orders\n"), SPEC),
        ("times", changed('["id", "__event_time"]', '["id"]'), SPEC),
    ],
)
def test_an_error_is_told_as_the_page_tells_it(name, functions, spec):
    result = run(functions, spec)
    assert result.exit_code == 1
    assert BLOCKS["text", name] in result.stderr


def test_a_function_is_tried_out_as_the_page_shows(monkeypatch):
    Path("visits").mkdir(exist_ok=True)
    Path("visits/silence.py").write_text(BLOCKS["python", "visits/silence.py"])
    monkeypatch.syspath_prepend(Path.cwd())
    test = doctest.DocTestParser().get_doctest(BLOCKS["pycon", None], {}, "functions", "functions.md", 0)
    outcome = doctest.DocTestRunner().run(test)
    assert outcome.attempted
    assert not outcome.failed


def test_the_visits_end_as_the_page_says():
    subprocess.run(["bash", "-euc", BLOCKS["bash", "visits"]], check=True)
    for language, name in [("python", "visits/silence.py"), ("yaml", "visits/app.yaml")]:
        Path(name).write_text(BLOCKS[language, name])
    result = CliRunner().invoke(app, ["run", "visits/app.yaml", "--host", "in-process"])
    assert result.exit_code == 0, result.output
    header, *results = BLOCKS["text", "visits/ended"].splitlines()
    assert apps.parts(Path("visits/ended"))[0].read_text().splitlines()[0] == header
    assert sorted(",".join(row) for row in apps.rows(Path("visits/ended"))) == results


def test_rows_are_skipped_as_the_page_tells_it():
    odd = '    if 3 in orders["id"].to_pylist():\n        raise ValueError("order 3 is odd")\n'
    result = run(changed(MARK, odd + MARK), SPEC + "  job: {onError: skip}\n")
    assert result.exit_code == 0, result.output
    assert BLOCKS["text", "skip"] in result.stdout
    assert [row[0] for row in apps.rows(Path("shop/marked"))] == ["1", "2", "4"]


def test_an_app_goes_on_with_a_mended_function(forget_modules):
    assert run(changed(MARK, "    raise OSError\n")).exit_code == 1
    forget_modules()
    result = run()
    assert result.exit_code == 0, result.output
    assert [row[0] for row in apps.rows(Path("shop/marked"))] == ["1", "2", "3", "4"]


def distances(code=BLOCKS["python", "distances/geo.py"], **job):
    subprocess.run(["bash", "-euc", BLOCKS["bash", "distances"]], check=True)
    Path("distances/geo.py").write_text(code)
    Path("distances/app.yaml").write_text(BLOCKS["yaml", "distances/app.yaml"] + (f"  job: {job}\n" if job else ""))
    return CliRunner().invoke(app, ["run", "distances/app.yaml", "--host", "in-process"])


def test_scalar_functions_compute_what_the_page_says():
    result = distances()
    assert result.exit_code == 0, result.output
    header, *results = BLOCKS["text", "distances/far"].splitlines()
    assert apps.parts(Path("distances/far"))[0].read_text().splitlines()[0] == header
    assert [",".join(row) for row in apps.rows(Path("distances/far"))] == results


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "    return None if text is None else re",
            "    return re",
            "files.trips[0], offsets 0 to 2: operator `measure`: function geo:slug: AttributeError: 'NoneType' object "
            "has no attribute 'lower' (geo.py, line 21)",
        ),
        ("def slug(", "def slugs(", "spec.functions.slug.function: function `slug`: module `geo` "),
    ],
)
def test_what_is_wrong_with_a_scalar_function_is_told(old, new, message):
    result = distances(changed(old, new, BLOCKS["python", "distances/geo.py"]))
    assert result.exit_code == 1
    assert message in result.stderr


def test_rows_that_a_scalar_function_fails_on_are_skipped():
    old = "    return None if text is None else re"
    code = changed(old, "    return re", BLOCKS["python", "distances/geo.py"])
    result = distances(code, onError="skip")
    assert result.exit_code == 0, result.output
    assert [row[0] for row in apps.rows(Path("distances/far"))] == ["1", "3"]
    assert "measure: 1 row not used (failed)" in result.stdout
