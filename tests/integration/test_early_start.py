"""A run on a Spark that has been started early, with the archive that an earlier run has left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamapp_runtime.spark.class_archive import ARCHIVE, OPTIONS
from support import apps
from support.waiting import eventually

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1_800)]

STREAMAPP = str(Path(sys.executable).with_name("streamapp"))
DAEMON = "-m streamapp_runtime.spark.worker_daemon --listen"
ARCHIVED = 900
"""Seconds until the archive has to be there: who makes it leaves the cores to others."""
TELLS = """
import os, pathlib

def f(batch):
    told = [pathlib.Path(f"/proc/{os.getppid()}/cmdline").read_text().replace("\\0", " ")]
    told.append(os.environ["PYTHONHASHSEED"])
    pathlib.Path(__file__).with_name("told").write_text("|".join(told))
    return batch
"""


@pytest.fixture
def environment(tmp_path):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_", "STREAMAPP_"))}
    return {**kept, "STREAMAPP_CACHE": str(tmp_path / "cache")}


def run(folder, environment):
    command = [STREAMAPP, "run", "app.yaml", "--fresh"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=apps.DEADLINE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(apps.rows(folder / "out")), (folder / "told").read_text().split("|"), done


def test_the_second_run_has_the_classes_of_the_first_and_its_workers_are_of_the_early_daemon(tmp_path, environment):
    (tmp_path / "app.yaml").write_text(json.dumps(apps.with_function(tmp_path, TELLS)))
    rows, (daemon, seed), _ = run(tmp_path, environment)
    assert rows == [("AA", "20"), ("UA", "3")]
    assert DAEMON not in daemon
    assert eventually(lambda: [made for made in (tmp_path / "cache").glob("spark-*") if not made.suffix], ARCHIVED)
    (made,) = (tmp_path / "cache").iterdir()
    assert {file.name for file in made.iterdir()} == {ARCHIVE, OPTIONS}
    again, (daemon, same), done = run(tmp_path, environment)
    assert again == rows
    assert DAEMON in daemon
    assert same == seed
    assert "WARNING" not in done.stdout + done.stderr


def test_a_daemon_ends_with_the_run_that_has_started_it(tmp_path):
    started = (
        "import os, subprocess, sys\n"
        "command = [sys.executable, '-m', 'streamapp_runtime.spark.worker_daemon', '--listen', sys.argv[1]]\n"
        "print(subprocess.Popen([*command, str(os.getpid())]).pid)\n"
    )
    command = [sys.executable, "-c", started, str(tmp_path / "daemon")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=apps.DEADLINE)
    pid = int(done.stdout)
    assert eventually(lambda: not Path(f"/proc/{pid}").exists())
    assert not (tmp_path / "daemon").exists()
