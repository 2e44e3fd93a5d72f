"""Spark as the host: what goes wrong in a worker reaches the person who runs the app."""

import os
import signal
import sys

import pytest

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


def test_a_worker_that_is_killed_ends_the_run_with_its_name(tmp_path):
    write_flights(tmp_path, "AA,20\n" * 2_000_000)

    def kill(summary):
        if any(stream.read for stream in summary.streams):
            for pid in python_workers(os.getpid()):
                os.kill(pid, signal.SIGKILL)

    with pytest.raises(ProcessorFailed, match=r"processor 0: its worker died .*spark\.log"):
        apps.run(apps.stateless("file"), tmp_path, SparkHost, listener=kill)
    assert (tmp_path / ".streamapp" / "app" / "spark.log").exists()


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
