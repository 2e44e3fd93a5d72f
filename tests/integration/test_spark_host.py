"""Spark as the host: what goes wrong in a worker reaches the person who runs the app."""

import os
import signal

import pytest

from streamapp_runtime.errors import ProcessorFailed
from streamapp_runtime.spark.host import SparkHost
from support import apps
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
