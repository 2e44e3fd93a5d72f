"""The daemon that is ready before Spark asks for one: workers are its children, with what Spark has given."""

import json
import os
import subprocess
import sys

import pytest

from streamapp_runtime.spark.daemon_names import SOCKET_VARIABLE
from support.waiting import eventually

pytestmark = pytest.mark.spark

DAEMON = [sys.executable, "-m", "streamapp_runtime.spark.worker_daemon"]
PROGRAM = """
import json, os, signal
from pathlib import Path
from streamapp_runtime.spark.local_session import local_settings, start_spark
from streamapp_runtime.spark.spark_logging import write_log_settings

settings = local_settings(write_log_settings(Path("logs")))
context = start_spark(settings | {"spark.app.name": "a", "spark.ui.enabled": "false"})

def look(_):
    return os.getppid(), os.getcwd(), os.environ["GIVEN"], len(os.environ["PYTHON_WORKER_FACTORY_SECRET"]) > 0

def ask():
    return context.parallelize([0], 1).map(look).collect()[0]

found = [ask(), ask()]
os.kill(found[0][0], signal.SIGKILL)
found.append(ask())
context.stop()
print(json.dumps(found))
"""


@pytest.fixture
def address(tmp_path):
    address = tmp_path / "daemon"
    with subprocess.Popen([*DAEMON, "--listen", address], env={**os.environ, "GIVEN": "early"}) as daemon:
        assert eventually(address.exists)
        assert address.stat().st_mode & 0o077 == 0
        yield address, daemon
        daemon.kill()


def test_workers_are_forked_by_the_daemon_that_is_ready_and_after_its_death_by_another(tmp_path, address):
    address, daemon = address
    environment = {**os.environ, SOCKET_VARIABLE: str(address), "GIVEN": "late"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    first, second, after = json.loads(done.stdout)
    assert first == second == [daemon.pid, str(tmp_path), "late", True]
    assert after[0] != daemon.pid
    assert after[1:] == first[1:]
    assert daemon.wait(30)


def test_a_daemon_that_nobody_takes_over_ends_when_it_is_told(address):
    address, daemon = address
    daemon.terminate()
    assert daemon.wait(30)
