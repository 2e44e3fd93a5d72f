"""Kill a run at random moments, start it again until it ends, and find what an undisturbed run finds.

`make test` takes a sample with fixed seeds; `make soak` sets STREAMAPP_KILL_RUNS for more.
"""

import os
import signal
import subprocess
from random import Random

import pytest

from support import crashes, ordered_visits, shop, timed
from support.forked_runs import ForkedRun
from support.processes import kill, python_workers

RUNS = int(os.environ.get("STREAMAPP_KILL_RUNS", "15"))
ON_SPARK = max(3, RUNS // 6)
KILLS = 3


def die(process: ForkedRun, victim: str) -> None:
    """Kill a part of a run: its driver's process alone, a worker of Spark's, or everything."""
    if victim == "group":
        os.killpg(process.pid, signal.SIGKILL)
    elif victim == "driver":
        process.kill()
    else:
        kill(python_workers(process.pid)[-1:])


def disturb(folder, random, options, victims, latest, check=crashes.check):
    """Start a run a few times and kill it each time, if it does not end before."""
    for _ in range(KILLS):
        process = crashes.start(folder, *options)
        try:
            process.wait(timeout=random.uniform(0.5, latest))
        except subprocess.TimeoutExpired:
            die(process, random.choice(victims))
        crashes.end(process)
    code, output = crashes.end(crashes.start(folder, *options))
    assert code == 0, output
    check(folder)


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_run_killed_in_process_ends_with_the_same_results(tmp_path, seed):
    crashes.lay_out(tmp_path, 10_000)
    disturb(tmp_path, Random(seed), ("--host", "in-process"), ["group"], latest=3.0)


@pytest.mark.parametrize("seed", range(max(4, RUNS // 4)))
def test_a_killed_run_fills_its_table_and_calls_its_function_as_an_undisturbed_one(tmp_path, seed):
    shop.lay_out(tmp_path, 60_000)
    disturb(tmp_path, Random(2_000 + seed), ("--host", "in-process"), ["group"], latest=3.0, check=shop.check)


@pytest.mark.parametrize("seed", range(max(3, RUNS // 5)))
def test_a_killed_run_gives_its_function_rows_and_timers_in_order(tmp_path, seed):
    ordered_visits.lay_out(tmp_path, 20_000)
    options = ("--host", "in-process")
    disturb(tmp_path, Random(4_000 + seed), options, ["group"], latest=4.0, check=ordered_visits.check)


@pytest.mark.spark
@pytest.mark.parametrize("seed", range(ON_SPARK))
def test_a_run_killed_on_spark_ends_with_the_same_results(tmp_path, seed):
    crashes.lay_out(tmp_path, 10_000, table=True)
    disturb(tmp_path, Random(1_000 + seed), (), ["worker", "driver", "group"], latest=12.0)


@pytest.mark.parametrize("seed", range(max(3, RUNS // 5)))
def test_messages_through_a_log_are_neither_lost_nor_doubled_nor_out_of_order_nor_late(tmp_path, seed):
    timed.lay_out(tmp_path)
    disturb(tmp_path, Random(3_000 + seed), ("--host", "in-process"), ["group"], latest=5.0, check=timed.check)
