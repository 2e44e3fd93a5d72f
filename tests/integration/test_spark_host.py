"""Spark as the host: what goes wrong in a worker reaches the person who runs the app."""

import os
import re
import signal
import sys

import pytest

from streamapp_runtime.driver.decisions import Patience
from streamapp_runtime.errors import ProcessorFailed
from streamapp_runtime.spark.host import SparkHost
from support import apps, shop
from support.processes import python_workers

pytestmark = pytest.mark.spark


def write_flights(folder, rows):
    (folder / "flights").mkdir()
    (folder / "flights" / "1.csv").write_text("carrier,delay\n" + rows)


def test_a_bad_row_is_told_as_in_process(tmp_path):
    write_flights(tmp_path, "AA,20\nUA,many\n")
    with pytest.raises(ProcessorFailed, match=r"processor 0: files\.flights\[0\], offset 1: .*'many' is no double"):
        apps.run(apps.stateless("file"), tmp_path, SparkHost)


def test_a_worker_that_is_killed_is_started_again_and_the_cause_is_told(tmp_path):
    write_flights(tmp_path, "AA,20\n" * 2_000_000)
    killed = []

    def kill(summary):
        if not killed and any(stream.read for stream in summary.streams):
            killed.extend(python_workers(os.getpid()))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    summary = apps.run(apps.stateless("file"), tmp_path, SparkHost, listener=kill)
    assert summary.written == {"out": 2_000_000}
    assert len(apps.rows(tmp_path / "out")) == 2_000_000
    assert re.search(r"processor 0 is started again: its worker died .*spark\.log", summary.troubles[0])
    assert (tmp_path / ".streamapp" / "app" / "spark.log").exists()


def test_a_worker_that_hangs_is_killed_and_replaced(tmp_path):
    write_flights(tmp_path, "AA,20\n" * 2_000_000)
    stopped = []

    def stop(summary):
        if not stopped and any(stream.read for stream in summary.streams):
            stopped.append(python_workers(os.getpid())[-1])
            os.kill(stopped[0], signal.SIGSTOP)

    summary = apps.run(apps.stateless("file"), tmp_path, SparkHost, listener=stop, patience=Patience(report=2.0))
    assert summary.written == {"out": 2_000_000}
    assert summary.troubles == ("processor 0 is started again: it does not report",)
    assert stopped[0] not in python_workers(os.getpid())


def test_functions_are_imported_by_the_workers_only(tmp_path):
    document = shop.lay_out(tmp_path, 2_000)
    apps.run(document, tmp_path, SparkHost)
    shop.check(tmp_path)
    assert "shop_functions" not in sys.modules


def test_a_function_that_fails_is_told_as_in_process(tmp_path):
    write_flights(tmp_path, "AA,20\nUA,3\n")
    (tmp_path / "broken.py").write_text("def f(batch):\n    raise KeyError('delai')\n")
    document = apps.stateless("file")
    document["spec"]["operators"][0] = {
        "name": "late",
        "from": "flights",
        "process": {"function": "broken:f", "schema": "carrier string"},
    }
    told = r"processor 0: files\.flights\[0\], offsets 0 to 1: operator `late`: function broken:f: KeyError: 'delai'"
    with pytest.raises(ProcessorFailed, match=told):
        apps.run(document, tmp_path, SparkHost)
