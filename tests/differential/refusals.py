"""Refusals on trial: what would have become of the random apps that the types of streams refuse.

`PYTHONPATH=tests python -m differential.refusals SEED APPS` runs each of them with the checks switched off, in a copy
of the packages whose planner keeps its plan in spite of these problems, and prints a table: a refusal is needed if the
app gives a wrong result or is stopped by a check of its rows, and knowingly strict if it gives the right one. One that
fails in any other way is a defect: it is printed with its error, and the exit code is 1. `SEED/NUMBER` tries one app.
"""

import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

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
    STOPPED = "stopped"
    FAILED = "failed"


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The fate of an app, and why; empty if it is right."""

    number: int
    fate: Fate
    why: str = ""


_decode = msgspec.json.Decoder(Trial).decode


def refused_for_types(seed: int, numbers: Iterable[int]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the apps of a seed that are refused for their types alone, with the codes of their problems."""
    for number in numbers:
        codes = sorted(set(circumstances.problems(random_case(seed, number))))
        if codes and set(codes) <= set(map(str, TYPES)):
            yield number, tuple(codes)


def trials(seed: int, numbers: Iterable[int]) -> list[Trial]:
    """Run apps with the checks of types switched off."""
    tolerated = "{" + ", ".join(repr(str(code)) for code in TYPES) + "}"
    with changed_packages(Change(PLANNER, CHECKED, _UNCHECKED.replace("TOLERATED", tolerated))) as environment:
        command = [sys.executable, "-m", "differential.refusals", "--run", str(seed), *map(str, numbers)]
        run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [_decode(line) for line in run.stdout.splitlines()]


def run_unchecked(seed: int, numbers: Iterable[int]) -> None:
    """Run apps, whatever the planner of this process says, and print the trial of each."""
    forks = Forks()
    try:
        with tempfile.TemporaryDirectory(prefix="refusals-") as folder:
            for number in numbers:
                finding = circumstances.examine(Path(folder) / str(number), random_case(seed, number), forks)
                print(msgspec.json.encode(judged(number, finding)).decode(), flush=True)
    finally:
        forks.close()


def judged(number: int, finding: circumstances.Finding) -> Trial:
    """Return the trial of an app that was run to its end."""
    outcome = finding.outcome
    if outcome.failed:
        return Trial(number=number, fate=Fate.STOPPED if outcome.broken_claim else Fate.FAILED, why=outcome.failed)
    if outcome.refused or finding.growth_refused:
        return Trial(number=number, fate=Fate.STOPPED, why=" ".join(outcome.refused) or "its growth was refused")
    return Trial(number=number, fate=Fate.WRONG if finding.difference else Fate.RIGHT, why=finding.difference)


def report(refused: Mapping[int, Sequence[str]], found: Sequence[Trial]) -> Iterator[str]:
    """Write the table of fates by problems, and why apps were stopped or failed."""
    counts: defaultdict[str, Counter[Fate]] = defaultdict(Counter)
    for trial in found:
        counts[" ".join(refused[trial.number])][trial.fate] += 1
    yield f"{'problems':66}" + "".join(f"{fate:>8}" for fate in Fate)
    for codes, fates in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        yield f"{codes:66}" + "".join(f"{fates[fate]:8}" for fate in Fate)
    for trial in found:
        if trial.fate in (Fate.STOPPED, Fate.FAILED):
            yield f"app {trial.number} ({' '.join(refused[trial.number])}) {trial.fate}: {trial.why}"


def main(seed: int, numbers: Iterable[int]) -> int:
    """Print how many of the refused apps would have been right, wrong, stopped or failed; return the exit code."""
    refused = dict(refused_for_types(seed, numbers))
    print(f"{len(refused)} apps are refused for their types")
    found = trials(seed, refused)
    print("\n".join(report(refused, found)))
    return int(any(trial.fate is Fate.FAILED for trial in found))


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run_unchecked(int(sys.argv[2]), map(int, sys.argv[3:]))
    elif "/" in sys.argv[1]:
        seed, number = map(int, sys.argv[1].split("/"))
        sys.exit(main(seed, [number]))
    else:
        sys.exit(main(int(sys.argv[1]), range(int(sys.argv[2]))))
