"""The page about apps in Python works as written."""

import runpy

import pytest

from unit.docs import pages

PAGE = pages.read("python-api.md")
APP, FUNCTION = (fence.text for fence in pages.fences(PAGE) if fence.language == "python")


@pytest.fixture
def orders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.csv").write_text(
        "id,item,amount,at\n1,tea,2.5,2024-05-01T09:15:00Z\n2,tea,4,2024-05-01T09:20:00Z\n"
    )
    (tmp_path / "orders.py").write_text(APP)
    return tmp_path / "orders.py"


def test_the_example_runs(orders):
    app = runpy.run_path(str(orders))["app"]
    assert app.run(quiet=True)["totals"].arrow().to_pylist() == [{"item": "tea", "orders": 1, "amount": 4.0}]


def test_the_scalar_function_is_accepted(orders):
    app = runpy.run_path(str(orders))
    exec(FUNCTION, app)
    assert app["app"].plan().accepted
