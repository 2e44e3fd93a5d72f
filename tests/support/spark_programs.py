"""Spark's own programs in processes of their own, from pyspark's jars: a master with a worker, the history server."""

import json
import os
import socket
import subprocess
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from support.waiting import eventually

HOME = Path(pyspark.__file__).parent
HERE = "127.0.0.1"


def free_port():
    """Find a port that nobody listens at now."""
    with socket.socket() as found:
        found.bind((HERE, 0))
        return found.getsockname()[1]


def answer(port, path):
    """Ask for JSON; None if there is no answer yet."""
    try:
        with urllib.request.urlopen(f"http://{HERE}:{port}{path}", timeout=5) as response:
            return json.load(response)
    except (OSError, ValueError):
        return None


@contextmanager
def program(name, log, *arguments, **properties):
    """Run a class of Spark's until the end of the block."""
    options = " ".join(f"-D{key.replace('_', '.')}={value}" for key, value in properties.items())
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    environment = {**os.environ, "SPARK_LOCAL_IP": HERE, "SPARK_DAEMON_MEMORY": "256m"}
    environment["SPARK_DAEMON_JAVA_OPTS"] = options
    with log.open("ab") as output, subprocess.Popen(command, stdout=output, stderr=output, env=environment) as process:
        try:
            yield
        finally:
            process.terminate()


@contextmanager
def standalone_cluster(folder, cores):
    """Run a master and a worker with so many cores; yield the master's URL."""
    port, pages = free_port(), free_port()
    place = ["--host", HERE, "--webui-port"]
    worker = ["--cores", str(cores), "--memory", "2g", "--work-dir", str(folder / "work")]
    with ExitStack() as stack:
        run = lambda *arguments: stack.enter_context(program(*arguments))  # noqa: E731
        run("master.Master", folder / "master.log", *place, str(pages), "--port", str(port))
        run("worker.Worker", folder / "worker.log", *place, str(free_port()), *worker, f"spark://{HERE}:{port}")
        assert eventually(lambda: (answer(pages, "/json/") or {}).get("aliveworkers") == 1)
        yield f"spark://{HERE}:{port}"


@contextmanager
def history_server(logs, folder):
    """Run the history server on a folder of event logs; yield the port of its pages."""
    port = free_port()
    properties = {"spark_history_fs_logDirectory": logs.as_uri(), "spark_history_ui_port": port}
    with program("history.HistoryServer", folder / "history.log", **properties):
        yield port
