"""An installation without extras: it plans any app, and says what it lacks to run one.

Processes here find no package that `pip install streamapp-operator` would not install.
"""

import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.changed_packages import ROOT

EXAMPLES = ["cdc/app.yaml", "flights/app.yaml", "sessions/app.yaml", "split/days.yaml", "weather/app.yaml"]
PROGRAM = """
import json, os, sys

absent = frozenset(json.loads(os.environ["ABSENT"]))

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from streamapp_cli.main import main
main()
"""


def installed_with(*requirements):
    """Give the distributions that come with some, without extras."""
    waiting, found = [Requirement(text) for text in requirements], set()
    while waiting:
        requirement = waiting.pop()
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and canonicalize_name(requirement.name) not in found:
            found.add(canonicalize_name(requirement.name))
            waiting += map(Requirement, requires(requirement.name) or ())
    return found


@pytest.fixture(scope="module")
def command():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = installed_with(*project["dependencies"]) | {"streamapp-operator"}
    absent = [
        name for name, owners in packages_distributions().items() if not set(map(canonicalize_name, owners)) & base
    ]
    assert {"duckdb", "pyspark", "lmdb"} <= set(absent)
    environment = os.environ | {"ABSENT": json.dumps(absent)}
    return lambda *arguments: subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environment,
        cwd=ROOT / "examples",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_plans(command, example):
    planned = command("plan", example)
    assert planned.returncode == 0, planned.stderr
    assert "is accepted" in planned.stdout
    assert planned.stderr == ""


@pytest.mark.parametrize("verb", ["run", "verify"])
def test_it_says_what_to_install(command, verb):
    ended = command(verb, "sessions/app.yaml")
    assert ended.returncode == 2
    assert "is not installed" in ended.stderr
    assert "pip install 'streamapp-operator[runtime]'" in ended.stderr
    assert ended.stderr.count("\n") == 1
