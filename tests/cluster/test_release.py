"""What a release publishes: it is complete, and installs and works from another folder, without a checkout."""

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tools.cluster.binaries import kube_binaries
from tools.cluster.cached import default_cache
from tools.release.artefacts import BILL, NAMESPACE, PROVENANCE, REQUIREMENTS, ROOT, SUMS, ReleaseRequest, make_release
from tools.release.python_packages import PythonPackage

from support.waiting import eventually

APP = """
apiVersion: streamapp.dev/v1alpha1
kind: StreamApp
metadata: {name: tried}
spec:
  systems: {files: {file: {path: .}}, log: {log: {path: log.db}}}
  defaultSystem: log
  streams:
    visits: {system: files, name: visits.csv, format: csv, schema: "page string, seconds int"}
    long: {system: files, name: long, format: csv}
  operators:
    - {name: waits, from: visits, filter: "seconds > 60"}
    - {name: sent, from: waits, sendTo: long}
"""


APP_IN_PYTHON = """
from streamapp_api import App

app = App("typed", default_system="log")
files = app.file_system("files", path=".")
app.log_system("log", path="typed.db")
visits = app.stream("visits", system=files, name="visits.csv", format="csv", schema="page string, seconds int")
visits.filter("seconds > 60").send_to(app.stream("waits", system=files))
print(app.run(quiet=True)["waits"].arrow().to_pylist())
"""

DIGEST = f"sha256:{64 * '0'}"
WHEEL = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}.whl"
PACKAGES = (PythonPackage(name="pydantic", version="2.0", sha256=64 * "1", licence="MIT"),)
SIGNED = (SUMS, PROVENANCE)
PACKED = ("--namespace", "packed")
IN_DEFAULT = ("--namespace", "default", "--selector", "app.kubernetes.io/instance=packed")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    request = ReleaseRequest(
        image="registry.invalid/streamapp-operator",
        digest=DIGEST,
        images=False,
        builder="https://builder.invalid",
        serial=UUID(int=1),
        key=Ed25519PrivateKey.generate(),
    )
    make_release(folder, request, lambda: PACKAGES, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    (folder.parent / "release.pub").write_bytes(
        request.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return folder


@pytest.fixture(scope="module")
def version():
    return yaml.safe_load((ROOT / "charts" / "streamapp" / "Chart.yaml").read_text())["version"]


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A folder with an app, far from the checkout."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "app.yaml").write_text(APP)
    (folder / "visits.csv").write_text("page,seconds\nhome,10\nshop,90\n")
    return folder


@pytest.fixture(scope="module")
def installed(release, version, tmp_path_factory):
    """Commands of an environment that has the wheel, and others' packages, but no checkout."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    (others,) = (Path(path) for path in sys.path if Path(path, "pydantic").is_dir())
    (site / "others.pth").write_text(str(others))
    wheel = release / f"streamapp_operator-{version}-{WHEEL}"
    install = ["-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", "--no-deps", "--no-index"]
    pip = others.parents[2] / "bin" / "python"
    subprocess.run([pip, *install, wheel], check=True, timeout=300)
    return folder / "bin"


def run(installed, folder, *command):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(
        [installed / command[0], *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_it_is_complete_and_every_file_has_its_sum(release, version):
    names = {path.name for path in release.iterdir()}
    assert names == {
        f"streamapp_operator-{version}-{WHEEL}",
        f"streamapp_operator-{version}.tar.gz",
        f"streamapp-{version}.tgz",
        "streamapps.streamapp.dev.yaml",
        "install.yaml",
        REQUIREMENTS,
        BILL,
        SUMS,
        PROVENANCE,
        *(f"{name}.sig" for name in SIGNED),
    }
    sums = dict(reversed(line.split("  ")) for line in (release / SUMS).read_text().splitlines())
    summed = {name for name in names if name != SUMS and not name.endswith(".sig")}
    assert sums == {name: hashlib.sha256((release / name).read_bytes()).hexdigest() for name in summed}
    statement = json.loads((release / PROVENANCE).read_text())
    named = {subject["name"]: subject["digest"]["sha256"] for subject in statement["subject"]}
    assert named == {name: sums[name] for name in summed - {PROVENANCE}}


@pytest.mark.parametrize("name", SIGNED)
def test_openssl_checks_the_signatures_as_the_docs_say(release, name, tmp_path):
    def check(file):
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", release.parent / "release.pub", "-rawin"]
        signature = release / f"{name}.sig"
        return subprocess.run([*command, "-in", file, "-sigfile", signature], check=False, timeout=60).returncode

    assert check(release / name) == 0
    (tmp_path / name).write_bytes((release / name).read_bytes() + b" ")
    assert check(tmp_path / name) != 0


def test_the_source_builds_the_same_wheel(release, version, tmp_path):
    with tarfile.open(release / f"streamapp_operator-{version}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", tmp_path / "again"],
        cwd=source,
        check=True,
        timeout=300,
    )
    name = f"streamapp_operator-{version}-{WHEEL}"
    assert (tmp_path / "again" / name).read_bytes() == (release / name).read_bytes()


def test_the_wheel_plans_and_runs_an_app(installed, elsewhere, version):
    assert run(installed, elsewhere, "streamapp", "--version").strip() == f"streamapp {version}"
    where = run(installed, elsewhere, "python", "-c", "import streamapp_core; print(streamapp_core.__file__)")
    assert str(installed.parent) in where
    assert json.loads(run(installed, elsewhere, "streamapp", "plan", "app.yaml", "--output", "json"))["accepted"]
    run(installed, elsewhere, "streamapp", "run", "app.yaml", "--host", "in-process")
    (part,) = (elsewhere / "long").rglob("*.csv")
    assert part.read_text().splitlines() == ["page,seconds", "shop,90"]


def test_the_wheel_has_the_native_library(installed, elsewhere):
    code = "from streamapp_systems.native.library import native_library; print(native_library())"
    assert str(installed.parent) in run(installed, elsewhere, "python", "-c", code)


def test_the_wheel_runs_an_app_that_is_written_in_python(installed, elsewhere):
    (elsewhere / "app.py").write_text(APP_IN_PYTHON)
    assert run(installed, elsewhere, "python", "app.py").splitlines()[-1] == "[{'page': 'shop', 'seconds': 90}]"
    (typed,) = (installed.parent / "lib").rglob("streamapp_api/py.typed")
    assert typed.is_file()


def test_the_manifest_installs_the_operator_without_helm(release, kubectl, get):
    kubectl("apply", "--server-side", "--force-conflicts", "--filename", str(release / "install.yaml"))
    deployment = get("deployment", "streamapp-operator", "--namespace", NAMESPACE)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"registry.invalid/streamapp-operator@{DIGEST}"
    ours = ("--selector", "app.kubernetes.io/instance=streamapp")
    policies = "validatingadmissionpolicies,validatingadmissionpolicybindings"
    kubectl("delete", f"clusterroles,clusterrolebindings,{policies}", *ours)
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def test_the_packed_chart_installs_the_operator(release, version, api, get, elsewhere):
    helm = kube_binaries(default_cache()) / "helm"
    arguments = [
        "install",
        "packed",
        release / f"streamapp-{version}.tgz",
        "--namespace",
        "packed",
        "--create-namespace",
    ]
    more = ["--skip-crds", "--set", "watch.namespaces={default}", "--set", "rbac.aggregate=false"]
    environment = {**os.environ, **api.cluster.environment}
    subprocess.run([helm, *arguments, *more], cwd=elsewhere, env=environment, check=True, timeout=300)
    assert eventually(lambda: get("deployment", "packed-streamapp-operator", *PACKED))
    subprocess.run([helm, "uninstall", "packed", *PACKED], env=environment, check=True, timeout=300)
    assert [role["metadata"]["name"] for role in get("roles", *IN_DEFAULT)] == ["packed-streamapp-driver"]
