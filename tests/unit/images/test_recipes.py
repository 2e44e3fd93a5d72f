"""What goes into the images, and that both ways of making them agree."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tools.images.archive import Layer
from tools.images.base import AppBase, operator_image, runtime_image
from tools.images.debian import JAVA_PACKAGES, USER
from tools.images.labels import checkout_labels
from tools.images.packages import closure, requirements

from streamapp_runtime.spark.daemon_names import WORKER_DAEMON

ROOT = Path(__file__).parents[3]
LAYER = Layer(tar=Path("/none"), digest="sha256:0", size=1)
BASE = AppBase(key="key", operator=(LAYER,), runtime=(LAYER, LAYER), kafka=None)
IMAGES = {
    "operator": operator_image(BASE, LAYER, checkout_labels()),
    "runtime": runtime_image(BASE, LAYER, checkout_labels()),
}


def instructions(name):
    """Give the instructions of a Dockerfile's last stage, with continued lines joined."""
    text = (ROOT / "images" / name / "Dockerfile").read_text().replace("\\\n", " ")
    last = text.rpartition("\nFROM ")[2]
    return [line.partition(" ")[::2] for line in last.splitlines()[1:] if line and not line.startswith("#")]


def settings(name, instruction):
    (text,) = (rest for word, rest in instructions(name) if word == instruction)
    return dict(part.split("=", 1) for part in shlex.split(text))


@pytest.mark.parametrize("name", IMAGES)
def test_both_ways_give_the_same_user_environment_and_command(name):
    image, given = IMAGES[name], dict(instructions(name))
    assert given["USER"] == image.user == f"{USER}:{USER}"
    assert given["WORKDIR"] == image.folder
    assert re.findall(r'"([^"]*)"', given["ENTRYPOINT"]) == list(image.entrypoint)
    assert re.findall(r'"([^"]*)"', given.get("CMD", "")) == list(image.command)
    for variable, value in settings(name, "ENV").items():
        assert image.environment[variable].startswith(value.removesuffix("$PATH"))


@pytest.mark.parametrize("name", IMAGES)
def test_both_ways_label_alike(name):
    labels = settings(name, "LABEL")
    assert set(labels) == set(IMAGES[name].labels)
    fixed = {key: value for key, value in labels.items() if not value.startswith("$")}
    assert fixed.items() <= IMAGES[name].labels.items()


def test_the_operator_has_neither_java_nor_spark():
    given = (ROOT / "images" / "operator" / "Dockerfile").read_text()
    assert "jre" not in given
    assert all(package in (ROOT / "images" / "runtime" / "Dockerfile").read_text() for package in JAVA_PACKAGES)
    assert "pyspark" not in closure(requirements("operator"))
    assert "pyspark" in closure(requirements("runtime"))


def test_what_packages_need_comes_with_them_at_the_pinned_version():
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    pins = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    found = closure(requirements("runtime"))
    assert {"py4j", "markdown-it-py", "urllib3"} <= set(found)
    assert found.items() <= pins.items()
    assert "pytest" not in found


ENTRYPOINT = ROOT / "images" / "runtime" / "entrypoint"


def test_the_entrypoint_runs_its_arguments():
    done = subprocess.run([ENTRYPOINT, "echo", "a b", "c"], capture_output=True, text=True, check=True)
    assert done.stdout == "a b c\n"


@pytest.mark.parametrize("archives", [None, "/classes"])
def test_the_entrypoint_starts_an_executor_as_spark_describes_it(tmp_path, archives):
    java = tmp_path / "java"
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    names = {
        "driver-url": "SPARK_DRIVER_URL",
        "executor-id": "SPARK_EXECUTOR_ID",
        "cores": "SPARK_EXECUTOR_CORES",
        "app-id": "SPARK_APPLICATION_ID",
        "hostname": "SPARK_EXECUTOR_POD_IP",
        "resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
        "podName": "SPARK_EXECUTOR_POD_NAME",
    }
    options = ["-Done=1 2", "-Dtwo=*", *(f"-Dn{number}" for number in range(9))]
    archived = [] if archives is None else [f"-XX:SharedArchiveFile={archives}/executor.jsa"]
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "SPARK_HOME": "/spark",
        "SPARK_CONF_DIR": "/conf",
        "SPARK_EXECUTOR_MEMORY": "512m",
        **{variable: name for name, variable in names.items()},
        **{f"SPARK_JAVA_OPT_{number}": option for number, option in enumerate(options)},
        **({} if archives is None else {"STREAMAPP_CLASS_ARCHIVES": archives}),
    }
    done = subprocess.run([ENTRYPOINT, "executor"], env=environment, capture_output=True, text=True, check=True)
    given = done.stdout.splitlines()
    assert given[: len(options) + len(archived)] == options + archived
    rest = given[len(options) + len(archived) :]
    assert rest[:2] == ["-Xms512m", "-Xmx512m"]
    assert rest[2:4] == [
        "-cp",
        "/conf:/spark/jars/*" if archives is None else f"{archives}/spark.jar:/conf:/spark/jars/*",
    ]
    assert rest[4].endswith("KubernetesExecutorBackend")
    assert rest[5:] == [word for name in names for word in (f"--{name}", name)]


def test_beside_an_executor_a_daemon_for_its_workers_starts(tmp_path):
    """The JVM waits for the daemon here, as both are scripts; in an image the one is not seen by the other."""
    programs = {
        "python": 'printf "%s\\n" "$PYTHONHASHSEED" "$@" > "$TOLD.new"; mv "$TOLD.new" "$TOLD"',
        "java": 'while [ ! -e "$TOLD" ]; do :; done; echo "$STREAMAPP_WORKER_DAEMON"',
    }
    for name, program in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / name).chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "TOLD": str(tmp_path / "told"),
        "PYSPARK_PYTHON": str(tmp_path / "python"),
        "SPARK_LOCAL_DIRS": "/var/data/spark,/other",
        **dict.fromkeys(("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_EXECUTOR_MEMORY", "SPARK_DRIVER_URL"), "a"),
        **dict.fromkeys(("SPARK_EXECUTOR_ID", "SPARK_EXECUTOR_CORES", "SPARK_APPLICATION_ID"), "a"),
        **dict.fromkeys(("SPARK_EXECUTOR_POD_IP", "SPARK_RESOURCE_PROFILE_ID", "SPARK_EXECUTOR_POD_NAME"), "a"),
    }
    done = subprocess.run(
        [ENTRYPOINT, "executor"], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "/var/data/spark/worker-daemon\n"
    told = ["0", "-m", WORKER_DAEMON, "--listen", "/var/data/spark/worker-daemon"]
    assert (tmp_path / "told").read_text().splitlines() == told
