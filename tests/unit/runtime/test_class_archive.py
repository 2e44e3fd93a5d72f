"""The folder of an archive of classes: what decides whether there is one, and which."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamapp_runtime.spark.class_archive import OPTIONS, archive_folder, is_wanted, make_archive, quote_options


def make_java(folder):
    """Write a program that is taken for Java."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    return java


@pytest.fixture
def environment(tmp_path):
    make_java(tmp_path / "java")
    return {"JAVA_HOME": str(tmp_path / "java"), "HOME": str(tmp_path / "home")}


def test_it_is_in_the_cache_that_is_named_else_in_the_users(tmp_path, environment):
    found = archive_folder(environment)
    assert found.parent == tmp_path / "home" / ".cache" / "streamapp"
    assert archive_folder({**environment, "XDG_CACHE_HOME": "/c"}) == Path("/c/streamapp") / found.name
    assert archive_folder({**environment, "STREAMAPP_CACHE": "/s"}) == Path("/s") / found.name
    assert archive_folder({"JAVA_HOME": environment["JAVA_HOME"]}) is None


def test_another_java_has_another_one_and_without_java_there_is_none(tmp_path, environment):
    make_java(tmp_path / "later")
    others = [{**environment, "JAVA_HOME": str(tmp_path / "later")}, {**environment, "JAVA_HOME": str(tmp_path)}]
    first, (second, third) = archive_folder(environment), map(archive_folder, others)
    assert first != second
    assert third is None
    on_path = {"PATH": f"{tmp_path / 'java' / 'bin'}", "HOME": environment["HOME"]}
    assert archive_folder(on_path) == first


def test_a_java_that_was_replaced_has_another_one(environment):
    first = archive_folder(environment)
    java = Path(environment["JAVA_HOME"], "bin", "java")
    os.utime(java, (0, 0))
    assert archive_folder(environment) not in (first, None)


@pytest.mark.parametrize(
    "variable",
    ["SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT", "HADOOP_CONF_DIR", "STREAMAPP_CLASS_ARCHIVES"],
)
def test_there_is_none_where_spark_is_told_how_to_start(environment, variable):
    assert archive_folder({**environment, variable: ""}) is None


def test_what_python_or_the_jvm_reads_itself_changes_nothing(environment):
    more = {"PYSPARK_PYTHON": "python", "SPARK_LOCAL_DIRS": "/tmp"}
    assert archive_folder({**environment, **more}) == archive_folder(environment)


def test_one_that_another_process_makes_is_left_to_it(tmp_path):
    making = tmp_path / "spark-0.making"
    making.mkdir()
    make_archive(tmp_path / "spark-0")
    assert list(tmp_path.iterdir()) == [making]


def test_what_could_not_be_made_is_tried_again_a_day_later(tmp_path):
    folder, day = tmp_path / "spark-0", 86_400
    assert is_wanted(folder, 0)
    folder.mkdir()
    os.utime(folder, (1_000, 1_000))
    assert not is_wanted(folder, 1_000 + day)
    assert is_wanted(folder, 1_001 + day)
    (folder / OPTIONS).touch()
    os.utime(folder, (1_000, 1_000))
    assert not is_wanted(folder, 1_001 + day)


def test_another_try_takes_the_place_of_one_that_failed(tmp_path, environment):
    folder = tmp_path / "spark-0"
    folder.mkdir()
    (folder / "left.jsa").touch()
    command = [sys.executable, "-m", "streamapp_runtime.spark.class_archive", str(folder)]
    failed = subprocess.run(
        command, env={**environment, "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False
    )
    assert "JAVA_GATEWAY_EXITED" in failed.stderr
    assert [path.name for path in tmp_path.glob("spark-*")] == ["spark-0"]
    assert not (folder / "left.jsa").exists()


def test_options_are_quoted_for_java():
    assert quote_options(["-cp", 'a b\\"c']) == '"-cp"\n"a b\\\\\\"c"\n'
