"""Refusals on trial: what would have become of the random apps that the types of streams refuse.

`PYTHONPATH=tests python -m differential.refusals SEED APPS` runs each of them with the checks switched off, in a copy
of the packages whose planner keeps its plan in spite of these problems, and prints a table: a refusal is needed if the
app gives a wrong result or fails, and knowingly strict if it gives the right one.
"""

import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from differential import circumstances
from differential.forked_starts import Forks
from differential.random_apps import random_case
from streamapp_core.problems import ProblemCode
from support.changed_packages import Change, changed_packages

PLANNER = "core/streamapp_core/plan/planner.py"
CHECKED = "    if problems:\n        return PlanResult("
"""The place in the planner where a problem means that there is no plan."""

TYPES = (
    ProblemCode.CHANGES_UNSUPPORTED,
    ProblemCode.GROUPER_UNSUPPORTED,
    ProblemCode.GROUP_KEY_MISMATCH,
    ProblemCode.GROUP_PARTITION_MISMATCH,
    ProblemCode.JOIN_KEY_MISMATCH,
    ProblemCode.JOIN_PARTITION_MISMATCH,
    ProblemCode.MULTIPLICITY_MISMATCH,
)
"""The problems that say that a type of stream is not what an operator needs."""

_UNCHECKED = "    if {problem.code for problem in problems} - TOLERATED:\n        return PlanResult("


class Fate(StrEnum):
    """What becomes of a refused app that is run all the same."""

    RIGHT = "right"
    WRONG = "wrong"
    FAILED = "failed"


def refused_for_types(seed: int, numbers: Iterable[int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the apps of a seed that are refused for their types alone, with the codes of their problems."""
    for number in numbers:
        codes = sorted(set(circumstances.problems(random_case(seed, number))))
        if codes and set(codes) <= set(map(str, TYPES)):
            yield number, tuple(codes)


def fates(seed: int, numbers: Iterable[int]) -> dict[int, Fate]:
    """Run apps with the checks of types switched off."""
    tolerated = "{" + ", ".join(repr(str(code)) for code in TYPES) + "}"
    with changed_packages(Change(PLANNER, CHECKED, _UNCHECKED.replace("TOLERATED", tolerated))) as environment:
        command = [sys.executable, "-m", "differential.refusals", "--run", str(seed), *map(str, numbers)]
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return {int(number): Fate(fate) for number, fate in (line.split() for line in run.stdout.splitlines())}


def run_unchecked(seed: int, numbers: Iterable[int]) -> None:
    """Run apps, whatever the planner of this process says, and print the number and the fate of each."""
    forks = Forks()
    try:
        with tempfile.TemporaryDirectory(prefix="refusals-") as folder:
            for number in numbers:
                print(number, _fate(Path(folder) / str(number), seed, number, forks), flush=True)
    finally:
        forks.close()


def _fate(folder: Path, seed: int, number: int, forks: Forks) -> Fate:
    finding = circumstances.examine(folder, random_case(seed, number), forks)
    if finding.outcome.failed or finding.outcome.refused or finding.growth_refused:
        return Fate.FAILED
    return Fate.WRONG if finding.difference else Fate.RIGHT


def main(seed: int, apps: int) -> None:
    """Print how many of the refused apps would have been right, wrong or failed, by their problems."""
    refused = dict(refused_for_types(seed, range(apps)))
    found: defaultdict[str, Counter[Fate]] = defaultdict(Counter)
    for number, fate in fates(seed, refused).items():
        found[" ".join(refused[number])][fate] += 1
    print(f"{apps} apps, {len(refused)} refused for their types")
    print(f"{'problems':66}" + "".join(f"{fate:>8}" for fate in Fate))
    for codes, counts in [*sorted(found.items()), ("all", sum(found.values(), Counter()))]:
        print(f"{codes:66}" + "".join(f"{counts[fate]:8}" for fate in Fate))


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run_unchecked(int(sys.argv[2]), map(int, sys.argv[3:]))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]))
