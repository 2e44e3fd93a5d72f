"""The JVM that a driver's program starts before its imports: PySpark uses it, and it ends with the program."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pyspark
import pytest

from support.waiting import eventually

pytestmark = pytest.mark.spark

LISTENING = "0A"
LOOPBACK = "0000000000000000FFFF00000100007F"
"""127.0.0.1, mapped into IPv6."""
OPENED = ("java.lang", "java.lang.invoke", "java.util", "java.nio", "java.net", "sun.nio.ch", "sun.util.calendar")
PROGRAM = """
import json, os, sys
from streamapp_runtime.spark.driver_jvm import start_archived

jvm = start_archived(os.environ)
from pyspark import SparkConf, SparkContext

with jvm.offered():
    settings = {"spark.master": "local[1]", "spark.app.name": "one", "spark.ui.port": "0"}
    context = SparkContext(conf=SparkConf(loadDefaults=False).setAll(list(settings.items())))
told = {"pid": context._gateway.jvm.java.lang.ProcessHandle.current().pid(), "pages": context.uiWebUrl}
print(json.dumps(told | {"offered": "PYSPARK_GATEWAY_PORT" in os.environ}), flush=True)
if sys.stdin.readline() == "kill\\n":
    jvm.kill()
    print("killed", flush=True)
    sys.stdin.readline()
os._exit(0)
"""


@pytest.fixture
def archives(tmp_path):
    """A folder as of an image, with the options of a JVM that has no archive."""
    options = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
    jars = Path(pyspark.__file__).parent / "jars"
    (tmp_path / "driver.options").write_text("\n".join(["-cp", f"{jars}/*", "-Xshare:auto", *options]))
    return tmp_path


@pytest.fixture
def program(archives):
    environment = {**os.environ, "STREAMAPP_CLASS_ARCHIVES": str(archives)}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def listeners(port):
    """Find the addresses at which processes listen at a port, as the kernel writes them."""
    lines = [
        line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]
    ]
    return {
        local.partition(":")[0]
        for _, local, _, state, *_ in lines
        if state == LISTENING and local.endswith(f":{port:04X}")
    }


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_spark_runs_in_it_and_it_is_killed_when_the_driver_says_so(program):
    told = json.loads(program.stdout.readline())
    assert children(program.pid) == [str(told["pid"])]
    assert not told["offered"]
    assert listeners(urlsplit(told["pages"]).port) == {LOOPBACK}
    program.stdin.write("kill\n")
    program.stdin.flush()
    assert program.stdout.readline() == "killed\n"
    assert children(program.pid) == []


def test_it_ends_with_the_program_however_that_ends(program):
    pid = json.loads(program.stdout.readline())["pid"]
    program.kill()
    program.wait()
    assert eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_a_jvm_that_does_not_start_is_told(program_without_jars):
    assert "OSError: Java has not started; its log says why" in program_without_jars


@pytest.fixture
def program_without_jars(tmp_path):
    (tmp_path / "driver.options").write_text("")
    environment = {**os.environ, "STREAMAPP_CLASS_ARCHIVES": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    return done.stderr
