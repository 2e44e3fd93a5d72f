"""Runs simulations by their seeds: `python -m simulation FIRST COUNT`, or `python -m simulation SEED --trace FILE`."""

import argparse
import gc
import sys
import time
from pathlib import Path

from simulation.fault_schedules import Fault, shrink
from simulation.simulation_run import Outcome, simulate

_GARBAGE = 200_000
"""Objects after which Python looks for cycles; by default it does so after a few hundred, for a tenth of the time."""


def main() -> int:
    """Run the seeds; print what was wrong, with the faults that are needed for it."""
    parser = argparse.ArgumentParser(prog="python -m simulation")
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("count", type=int, nargs="?", default=1)
    parser.add_argument("--seeds", type=int, nargs="*", help="these seeds, in place of COUNT from FIRST on")
    parser.add_argument("--trace", type=Path, help="write the steps of the last simulation to a file")
    parser.add_argument("--first-failure", action="store_true", help="end at the first failure")
    parser.add_argument("--no-shrink", action="store_true", help="leave the faults as they are")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count) if options.seeds is None else options.seeds
    gc.freeze()  # what was imported; a simulation leaves little behind
    gc.set_threshold(_GARBAGE)
    failures, run, simulated = 0, 0, 0.0
    begun, started = time.monotonic(), time.process_time()
    for seed in seeds:
        run += 1
        outcome = simulate(seed)
        simulated += outcome.seconds
        if outcome.problem is not None:
            failures += 1
            print(_describe(outcome, shrunk=not options.no_shrink), flush=True)
            if options.first_failure:
                break
        if options.trace is not None:
            lines = [f"{at:10.4f} {who}: {what}\n" for at, who, what in outcome.trace]
            options.trace.write_text("".join(lines))
    seconds, cpu = time.monotonic() - begun, time.process_time() - started
    print(f"{run} simulations, {failures} failed; {simulated:.0f} s simulated in {seconds:.0f} s, {cpu:.0f} s of CPU")
    return min(failures, 1)


def _describe(outcome: Outcome, *, shrunk: bool) -> str:
    faults = shrink(outcome.faults, lambda some: _fails(outcome, some)) if shrunk else outcome.faults
    lines = "".join(f"\n  {fault}" for fault in faults)
    return (
        f"seed {outcome.seed}: {outcome.problem}\n  {outcome.shape}\n  after {outcome.seconds:.1f} s, trace "
        f"{outcome.digest}; faults that it needs:{lines or ' none'}\n"
        f"  again: PYTHONPATH=tests PYTHONHASHSEED=0 .venv/bin/python -m simulation {outcome.seed} --trace trace.txt"
    )


def _fails(outcome: Outcome, faults: tuple[Fault, ...]) -> bool:
    return simulate(outcome.seed, faults).problem is not None


sys.exit(main())
