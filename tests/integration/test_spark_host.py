"""Spark as the host: what goes wrong in a worker reaches the person who runs the app."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from streamapp_runtime.driver.timeouts import Timeouts
from streamapp_runtime.errors import ProcessorFailed
from streamapp_runtime.spark.spark_host import SparkHost
from support import apps, shop
from support.forked_runs import ForkedRun
from support.waiting import eventually

pytestmark = pytest.mark.spark

DEADLINE = 300.0
"""Seconds until a run must have ended."""
PATIENT = Timeouts(start=DEADLINE, report=DEADLINE)
"""Timeouts with which only Spark tells of a worker that has died, however slow the machine is."""

DIES = """
import os, pathlib, signal

MARK = pathlib.Path(__file__).parent / "died"

def f(batch):
    if not MARK.exists():
        MARK.write_text(pathlib.Path(f"/proc/{os.getppid()}/maps").read_text())
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return batch
"""

KILLS_SPARK = """
import os, pathlib, signal

def f(batch):
    daemon = pathlib.Path(f"/proc/{os.getppid()}/stat").read_text()
    os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)
    signal.pause()
"""

HANGS = """
import os, pathlib, signal

MARK = pathlib.Path(__file__).parent / "hung"

def f(batch):
    if not MARK.exists():
        MARK.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
    return batch
"""


def test_a_bad_row_is_told_as_in_process(tmp_path):
    (tmp_path / "flights").mkdir()
    (tmp_path / "flights" / "1.csv").write_text("carrier,delay\nAA,20\nUA,many\n")
    with pytest.raises(ProcessorFailed, match=r"processor 0: files\.flights\[0\], offset 1: .*'many' is no double"):
        apps.run(apps.stateless("file"), tmp_path, SparkHost)


def test_a_worker_that_is_killed_is_started_again_and_the_cause_is_told(tmp_path):
    summary = apps.run(apps.with_function(tmp_path, DIES), tmp_path, SparkHost, timeouts=PATIENT)
    assert "duckdb" in (tmp_path / "died").read_text(), "the daemon has not imported what workers need"
    assert summary.written == {"out": 2}
    assert len(apps.rows(tmp_path / "out")) == 2
    assert re.search(r"processor 0 is restarted: its worker died .*spark\.log", summary.incidents[0])
    assert (tmp_path / ".streamapp" / "app" / "spark.log").exists()


def test_a_run_whose_spark_has_died_ends_at_once_and_says_so(tmp_path):
    (tmp_path / "app.yaml").write_text(json.dumps(apps.with_function(tmp_path, KILLS_SPARK)))
    run = ForkedRun(["run", str(tmp_path / "app.yaml")], os.environ)
    try:
        told, _ = run.communicate(DEADLINE)
    finally:
        run.kill()
    assert run.returncode == 1
    assert re.search(r"Spark has died, see .*spark\.log; run the app again", " ".join(told.split())), told
    assert "times in a row" not in told


def test_a_worker_that_hangs_is_killed_and_replaced(tmp_path):
    """On a slow machine one that works may be taken for one that hangs, too: it makes no difference."""
    summary = apps.run(apps.with_function(tmp_path, HANGS), tmp_path, SparkHost, timeouts=Timeouts(report=15.0))
    assert summary.written == {"out": 2}
    assert set(summary.incidents) == {"processor 0 is restarted: it does not report"}
    hung = Path("/proc", (tmp_path / "hung").read_text())
    assert eventually(lambda: not hung.exists())


def test_functions_are_imported_by_the_workers_only(tmp_path):
    document = shop.lay_out(tmp_path, 2_000)
    apps.run(document, tmp_path, SparkHost)
    shop.check(tmp_path)
    assert "shop_functions" not in sys.modules


def test_a_function_that_fails_is_told_as_in_process(tmp_path):
    document = apps.with_function(tmp_path, "def f(batch):\n    raise KeyError('delai')\n")
    told = r"processor 0: files\.flights\[0\], offsets 0 to 1: operator `late`: function mine:f: KeyError: 'delai'"
    with pytest.raises(ProcessorFailed, match=told):
        apps.run(document, tmp_path, SparkHost)
