"""The plug-in for pytest: tests of apps are collected, pass and fail as items of pytest."""

import os
import subprocess
import sys
from xml.etree import ElementTree as ET

from unit.docs import pages

BLOCKS = {block.name: block.text for block in pages.fences(pages.read("testing-apps.md"))}


def run(folder, *options):
    """Run pytest as a user does, in a folder of apps, with the plug-ins that are installed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=junit.xml", *options]
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_each_test_of_an_app_is_an_item_whose_failure_is_the_difference(tmp_path):
    for name in ("shop.yaml", "checks.py", "shop.tests.yaml"):
        (tmp_path / name).write_text(BLOCKS[name].replace("pc.less(", "pc.less_equal("))
    (tmp_path / "alone.tests.yaml").write_text("tests: of no app\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = run(tmp_path, "--streamapp-once")
    assert done.returncode == 1, done.stdout + done.stderr
    (suite,) = ET.parse(tmp_path / "junit.xml").getroot()
    cases = {case.get("name"): [failure.text for failure in case] for case in suite}
    assert list(cases) == [
        "sales are counted by the hour, and marked where they were cheap",
        "without orders nothing is sold",
    ]
    (failure,), nothing = cases.values()
    assert nothing == []
    assert '- {"item":"tea","orders":1,"cheap":false}' in failure
    assert "Traceback" not in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def test_an_app_with_problems_is_an_error_that_lists_them(tmp_path):
    (tmp_path / "shop.yaml").write_text(BLOCKS["shop.yaml"])
    (tmp_path / "shop.tests.yaml").write_text(BLOCKS["shop.tests.yaml"].replace("orders: 2", "ordres: 2"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = run(tmp_path, "-k", "nothing")
    assert done.returncode == 2, done.stdout
    assert "tests[0].expect.sales[0].ordres  UnknownColumn" in done.stdout


def test_a_file_that_is_named_and_has_no_app_beside_it_is_told_so(tmp_path):
    (tmp_path / "shop.tests.yaml").write_text(BLOCKS["shop.tests.yaml"])
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = run(tmp_path, "shop.tests.yaml")
    assert done.returncode == 2, done.stdout
    assert "shop.yaml: [Errno 2] No such file or directory" in done.stdout
