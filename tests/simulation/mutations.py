"""How soon simulations find each mutation of the protocols: `python -m simulation.mutations [NAME ...]`.

It prints the table of docs/testing.md.
"""

import argparse
import re
import subprocess
import sys

from simulation.mutation import Mutation
from simulation.mutation_catalog import MUTATIONS
from simulation.simulation_run import faults_of, shape_of
from support.changed_packages import changed_packages


def find(mutation: Mutation, most: int, first: int = 0) -> int | None:
    """Return how many schedules, from a seed on, there are until one finds a mutation; None if so many do not.

    Those without what the mutation needs are counted, but not run.
    """
    seeds = [
        seed
        for seed in range(first, first + most)
        if mutation.needs <= {fault.kind for fault in faults_of(seed)}
        and all(getattr(shape_of(seed), name) for name in mutation.shows)
    ]
    command = [sys.executable, "-m", "simulation", "--seeds", *map(str, seeds), "--first-failure", "--no-shrink"]
    with changed_packages(*mutation.changes) as packages:
        environment = {**packages, "PYTHONHASHSEED": "0"}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return None
    print(f"--- {mutation.name}\n{run.stdout[:1000]}{run.stderr[-300:]}", file=sys.stderr)
    failed = re.search(r"^seed (\d+):", run.stdout, re.MULTILINE)
    if failed is None:
        raise RuntimeError(f"no simulation ran with {mutation.name!r}: {run.stderr[-1000:]}")
    return int(failed[1]) - first + 1


def main() -> int:
    """Look for all mutations, or for those that are named; print how soon each was found."""
    parser = argparse.ArgumentParser(prog="python -m simulation.mutations")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--most", type=int, default=300, help="simulations until a mutation counts as not found")
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    wanted = [m for m in MUTATIONS if not options.names or any(name in m.name for name in options.names)]
    lost = 0
    print("| mutation | found by schedule |\n|---|---|", flush=True)
    for mutation in wanted:
        found = find(mutation, options.most, options.first)
        lost += found is None
        print(f"| {mutation.name} | {f'none of {options.most}' if found is None else found} |", flush=True)
    return min(lost, 1)


if __name__ == "__main__":
    sys.exit(main())
