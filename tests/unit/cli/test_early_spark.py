"""What starts before the imports of a run: for which apps, and that it ends with them."""

import json
import os

import pytest

import streamapp_cli.early_spark
from streamapp_cli.early_spark import early_spark
from streamapp_runtime.driver.run_folder import METADATA
from streamapp_runtime.spark.class_archive import OPTIONS, archive_folder
from support import apps
from support.processes import descendants
from support.waiting import eventually


@pytest.fixture
def early(tmp_path, monkeypatch):
    """A function that starts what is needed, with a Java that waits, and returns the commands that run meanwhile."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nread line\n")
    java.chmod(0o755)
    for name in [name for name in os.environ if name.startswith(("SPARK_", "PYSPARK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("STREAMAPP_CLASS_ARCHIVES")
    monkeypatch.setenv("JAVA_HOME", str(java.parent.parent))
    monkeypatch.setenv("STREAMAPP_CACHE", str(tmp_path / "cache"))
    archive = archive_folder(os.environ)
    archive.mkdir(parents=True)
    (archive / OPTIONS).touch()

    def start(document, *, fresh=False):
        file = tmp_path / "app.yaml"
        file.write_text(json.dumps(document))
        with early_spark(file, state_dir=None, fresh=fresh):
            found = ours()
        assert eventually(lambda: not ours())
        return found

    return start


def ours():
    """Return what has been started: the name of each program."""
    found = descendants(os.getpid()).values()
    return {
        name
        for command in found
        for name in ("PythonGatewayServer", "streamapp_runtime.spark.worker_daemon")
        if name.encode() in command
    }


BOTH = {"PythonGatewayServer", "streamapp_runtime.spark.worker_daemon"}


def test_a_jvm_and_a_daemon_start_and_end_if_nobody_takes_them(early):
    assert early(apps.stateless("file")) == BOTH


def test_nothing_starts_for_an_app_with_problems(early):
    assert early({**apps.stateless("file"), "kind": "Other"}) == set()


def test_nothing_starts_for_jars_that_sparks_scripts_load(early):
    document = apps.stateless("file")
    document["spec"]["spark"] = {"packages": ["a:b:1"]}
    assert early(document) == set()


def test_an_app_that_has_run_waits_until_it_is_known_that_it_goes_on_unless_it_is_fresh(early, tmp_path):
    document = apps.stateless("file")
    record = tmp_path / ".streamapp" / document["metadata"]["name"] / METADATA
    assert record.name == streamapp_cli.early_spark.RECORD
    record.parent.mkdir(parents=True)
    record.touch()
    assert early(document) == set()
    assert early(document, fresh=True) == BOTH
