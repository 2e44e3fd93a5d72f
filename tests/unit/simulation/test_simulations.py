"""Simulations of whole apps under faults, each from one seed (docs/testing.md)."""

import os
import subprocess
import sys

import pytest

from simulation.mutation_catalog import MUTATIONS
from simulation.mutations import find
from support.changed_packages import ROOT

SCHEDULES = int(os.environ.get("STREAMAPP_SIMULATION_SCHEDULES", "300"))
TOGETHER = max(50, SCHEDULES // 40)
"""Simulations that share a process: it takes as long to start as three of them."""


def simulations(*arguments):
    """Run simulations in a process of their own: they put their own clocks and disks in the place of the real ones."""
    command = [sys.executable, "-m", "simulation", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "PYTHONHASHSEED": "0"}
    run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("first", range(0, SCHEDULES, TOGETHER))
def test_an_app_is_right_whatever_goes_wrong(first):
    code, output = simulations(first, min(TOGETHER, SCHEDULES - first))
    assert code == 0, output


@pytest.mark.parametrize("seed", [1, 5, 8])
def test_a_seed_gives_the_same_run_each_time(tmp_path, seed):
    traces = []
    for number in range(2):
        code, output = simulations(seed, "--trace", tmp_path / str(number))
        assert code == 0, output
        traces.append((tmp_path / str(number)).read_text())
    assert traces[0]
    assert traces[0] == traces[1]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_mutations_are_of_the_code_as_it_is(mutation):
    for change in mutation.changes:
        assert (ROOT / change.file).read_text().count(change.old) == 1


@pytest.mark.parametrize(
    "name",
    [
        "the changes of the stores are not logged",
        "a store that a crash of the machine has torn is believed",
        "the statements of a transaction of the log commit one by one",
    ],
)
def test_a_defect_is_found(name):
    (mutation,) = (mutation for mutation in MUTATIONS if mutation.name == name)
    assert find(mutation, most=20) is not None


def test_the_page_lists_every_mutation():
    listed = [
        line.split("|")[1].strip() for line in (ROOT / "docs" / "testing.md").read_text().splitlines() if "|" in line
    ]
    assert {mutation.name for mutation in MUTATIONS} <= set(listed)
