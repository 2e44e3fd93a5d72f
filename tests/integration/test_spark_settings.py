"""What a spec says about Spark: its pages and its event log; its own clusters, and apps that `spark-submit` starts."""

import json
import os
import socket
import subprocess
import sys

import pytest

from support import apps
from support.spark_programs import HOME, answer, free_port, history_server, standalone_cluster
from support.waiting import eventually

pytestmark = pytest.mark.spark

WAITS = """
import pathlib, time

GATE = pathlib.Path(__file__).parent / "gate"

def f(batch):
    while not GATE.exists():
        time.sleep(0.05)
    return batch
"""
SCALES = """
import pyarrow as pa
from pyspark import SparkFiles

def f(batch):
    rows = batch.to_pandas()
    with open(SparkFiles.get("factor")) as file:
        rows["delay"] *= int(file.read())
    return pa.RecordBatch.from_pandas(rows, batch.schema, preserve_index=False)
"""
MAIN = "from streamapp_cli.main import main; main()"
TASKS = {"processor 0": "Partition 0", "processor 1": "Partition 1"}


def app(folder, function=WAITS, **spark):
    """Write an app of two processors, with a file for each."""
    document = apps.with_function(folder, function)
    (folder / "flights" / "2.csv").write_text("carrier,delay\nDL,50\n")
    document["spec"] |= {"processors": {"count": 2}, "spark": spark}
    (folder / "app.yaml").write_text(json.dumps(document))


def streamapp(folder, *options, program=(sys.executable, "-c", MAIN)):
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    with (folder / "said").open("wb") as log:
        command = [*program, "run", str(folder / "app.yaml"), *options]
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)


def check_rows(folder, factor=1):
    delays = {"AA": 20, "DL": 50, "UA": 3}
    assert sorted(apps.rows(folder / "out")) == [(name, str(delay * factor)) for name, delay in delays.items()]


def jobs(port):
    """Give state and description of all jobs of the one application that Spark's pages show; None if there is none."""
    found = answer(port, "/api/v1/applications") or []
    if not found:
        return None
    (application,) = found
    listed = answer(port, f"/api/v1/applications/{application['id']}/jobs") or []
    return application, sorted((job["status"], job["description"]) for job in listed)


def is_open(host, port):
    with socket.socket() as client:
        return client.connect_ex((host, port)) == 0


def test_each_processor_is_a_job_with_its_tasks_in_the_ui_and_in_the_history_server(tmp_path):
    port = free_port()
    conf = {"spark.ui.retainedJobs": "7", "spark.eventLog.compress": "false"}
    app(tmp_path, ui={"port": port}, eventLog={"dir": "events"}, conf=conf)
    process = streamapp(tmp_path)
    try:
        assert eventually(lambda: process.poll() is not None or (jobs(port) or (0, ()))[1][1:]), (
            tmp_path / "said"
        ).read_text()
        application, running = jobs(port)
        named = zip(TASKS.items(), running, strict=True)
        assert all(state == "RUNNING" and f"{name} (epoch" in told for (name, _), (state, told) in named)
        assert [told.rpartition(": ")[2] for _, told in running] == list(TASKS.values())
        properties = dict(answer(port, f"/api/v1/applications/{application['id']}/environment")["sparkProperties"])
        assert properties.items() >= conf.items()
        assert is_open("127.0.0.1", port)
        assert not is_open("127.0.0.2", port), "another address of this machine reaches pages without a login"
    finally:
        (tmp_path / "gate").touch()
        code = process.wait(timeout=120)
    assert code == 0, (tmp_path / "said").read_text()
    check_rows(tmp_path)
    with history_server(tmp_path / "events", tmp_path) as pages:
        assert eventually(lambda: jobs(pages))
        assert jobs(pages)[1] == [("SUCCEEDED", told) for _, told in running]


def test_an_app_runs_on_a_standalone_cluster(tmp_path):
    app(tmp_path)
    (tmp_path / "gate").touch()
    with standalone_cluster(tmp_path, cores=2) as master:
        assert streamapp(tmp_path, "--master", master).wait(timeout=240) == 0, (tmp_path / "said").read_text()
    check_rows(tmp_path)
    executors = [path.name for path in tmp_path.glob("work/app-*/*")]
    assert sorted(executors) == ["0", "1"]


def test_spark_submit_starts_an_app_whose_functions_find_its_files(tmp_path):
    app(tmp_path, SCALES)
    (tmp_path / "factor").write_text("10")
    script = tmp_path / "streamapp.py"
    script.write_text(MAIN)
    submit = (
        str(HOME / "bin" / "spark-submit"),
        "--master",
        "local[1]",
        "--files",
        str(tmp_path / "factor"),
        str(script),
    )
    assert streamapp(tmp_path, program=submit).wait(timeout=240) == 0, (tmp_path / "said").read_text()
    check_rows(tmp_path, factor=10)
