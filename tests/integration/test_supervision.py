"""Processors that die or hang are replaced while the others go on; their tasks change hands without a trace.

Rows go to streams and to a table; what they are read from has dead letters.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from streamapp_runtime.fail_points import VARIABLE, FailPoint, Moment
from support import crashes, numbered, scenarios
from support.growing_lake import GrowingLake
from support.processes import workers_of
from support.workers import DEADLINE, LOG

OF_A_HANDOVER = [step for step in FailPoint if step.startswith("handover")]
RECORDS = 10_000


@pytest.fixture
def source(tmp_path):
    return GrowingLake(tmp_path, LOG)


def test_a_worker_that_is_killed_is_replaced_while_the_others_go_on(tmp_path, source):
    summary = scenarios.worker_dies(source, tmp_path)
    source.check()
    (incident,) = summary.incidents
    assert incident.startswith("processor 0 is restarted: its process died (SIGKILL)")


def test_a_worker_that_hangs_is_killed_and_replaced(tmp_path, source):
    scenarios.worker_hangs(source, tmp_path)
    source.check()


def test_a_zombie_that_comes_back_does_nothing_and_ends(tmp_path, source):
    scenarios.zombie_comes_back(source, tmp_path, stopped_seconds=4.0)
    source.check()


def test_tasks_go_to_more_processors_and_to_fewer_while_rows_come(tmp_path, source):
    summary = scenarios.tasks_change_hands(source, tmp_path)
    source.check()
    assert summary.incidents == ()
    assert summary.written["out"] == sum(source.written.values())


@pytest.mark.parametrize("moment", list(Moment))
@pytest.mark.parametrize("step", OF_A_HANDOVER)
def test_a_driver_that_died_in_a_handover_goes_on_to_the_same_results(tmp_path, step, moment):
    numbered.lay_out(tmp_path, records=RECORDS, bounded=False)
    environment = {VARIABLE: f"{step}:{moment}:1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "support.scaling", str(tmp_path), "3"]
    driver = subprocess.run(command, env=os.environ | environment, timeout=400, check=False)
    assert driver.returncode == -signal.SIGKILL
    numbered.finish(tmp_path, RECORDS)


@pytest.fixture
def start(tmp_path, source):
    """Give what starts the endless app, and returns when it has emitted all that was written so far."""
    (tmp_path / "app.yaml").write_text(json.dumps(source.document()))

    def started():
        process = crashes.start(tmp_path, "--host", "processes")
        deadline = time.monotonic() + DEADLINE
        while len(source.rows("out")) < sum(source.written.values()):
            assert process.poll() is None, crashes.end(process)
            assert time.monotonic() < deadline
            time.sleep(0.1)
        return process

    return started


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_makes_a_last_commit_and_goes_on_when_it_is_started_again(source, start, number):
    for _ in range(2):
        source.write(*range(40), count=4)
        process = start()
        process.send_signal(number)
        code, output = crashes.end(process)
        assert code == 130, output
        assert "was stopped after a last commit; start it again to continue" in output
    source.check()


def test_a_second_interrupt_ends_a_run_that_can_make_no_last_commit_at_once(source, start):
    source.write(*range(40), count=4)
    process = start()
    for worker in workers_of(process.pid):
        os.kill(worker, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    code, output = crashes.end(process)
    assert code == 130, output
    assert "interrupted" in output
