"""The architecture is kept by contracts, and the contracts can fail."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import grimp
import networkx as nx
import pytest

from support.repository import PACKAGES, ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

FORBIDDEN = {
    "Layers: api > cli > operator | runtime > systems > core": ("streamapp_runtime.errors", "streamapp_operator"),
    "core is pure: no I/O, no clock, no randomness, no data plane": ("streamapp_core.murmur2", "time"),
    "The runtime flows down": ("streamapp_runtime.writing.row_buffer", "streamapp_runtime.operators.operator"),
    "The Kubernetes operator works in stages: observe, decide, status, act; the process drives them": (
        "streamapp_operator.observe.resource_views",
        "streamapp_operator.decide.actions",
    ),
    "The Kubernetes operator decides by values alone": ("streamapp_operator.status.events", "kopf"),
    "Only runtime.spark imports pyspark": ("streamapp_runtime.driver.supervisor", "pyspark"),
    "No circles between the packages of core, nor between those of systems": (
        "streamapp_core.graph.graph",
        "streamapp_core.plan.plan",
    ),
}
"""For each contract, a module and what it must not import."""


@pytest.fixture
def copy(tmp_path):
    """Copy the packages and their contracts."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for folder in PACKAGES:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def lint(folder):
    """Run import-linter on the copy; returns its exit code and the names of the broken contracts."""
    command = "from importlinter.cli import lint_imports_command as lint; lint(['--no-cache', '--no-logo'])"
    path = os.pathsep.join(str(folder / package) for package in PACKAGES)
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "1000"}
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    broken = re.findall(r"^(.+) BROKEN$", re.sub(r"\x1b\[[\d;]*m", "", done.stdout), re.MULTILINE)
    return done.returncode, broken


def test_the_contracts_are_kept(copy):
    assert lint(copy) == (0, [])


def test_every_contract_is_tried():
    assert [contract["name"] for contract in CONTRACTS] == list(FORBIDDEN)


@pytest.mark.parametrize("contract", FORBIDDEN)
def test_a_forbidden_import_breaks_its_contract(copy, contract):
    importer, imported = FORBIDDEN[contract]
    package, *rest = importer.split(".")
    module = copy.joinpath(package.removeprefix("streamapp_"), package, *rest).with_suffix(".py")
    module.write_text(f"{module.read_text()}\nimport {imported}\n")
    code, broken = lint(copy)
    assert code == 1
    assert contract in broken


def test_a_package_of_the_runtime_without_a_layer_breaks_the_contract(copy):
    (copy / "runtime/streamapp_runtime/elsewhere.py").write_text('"""No layer has it."""\n')
    assert lint(copy)[0] == 1


def test_only_spark_may_import_pyspark_whatever_packages_there_are():
    """The contract lists its sources, so a new package must be in the list to be held to it."""
    (contract,) = (contract for contract in CONTRACTS if contract["name"] == "Only runtime.spark imports pyspark")
    parts = {path.parent.name for path in (ROOT / "runtime/streamapp_runtime").glob("*/__init__.py")}
    parts |= {path.stem for path in (ROOT / "runtime/streamapp_runtime").glob("*.py")} - {"__init__"}
    listed = {name.removeprefix("streamapp_runtime.") for name in contract["source_modules"]}
    assert listed >= parts - {"spark"}
    assert "spark" not in listed


def test_no_modules_import_each_other_in_a_circle():
    graph = grimp.build_graph(*(f"streamapp_{folder}" for folder in PACKAGES), cache_dir=None)
    found = ((module, graph.find_modules_directly_imported_by(module)) for module in graph.modules)
    imports = nx.DiGraph((module, imported) for module, modules in found for imported in modules)
    assert not [sorted(circle) for circle in nx.strongly_connected_components(imports) if len(circle) > 1]
