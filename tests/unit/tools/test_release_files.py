"""What vouches for a release: hashes as pip finds them, a bill, provenance, signatures that openssl checks."""

import hashlib
import subprocess
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
import yaml
from tools.cluster.errors import ClusterError
from tools.release.bill_of_materials import Component, package_component, write_bill
from tools.release.provenance import Build, write_statement
from tools.release.python_packages import PythonPackage, find_packages, write_requirements
from tools.release.signatures import read_key, sign

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PACKAGES = (
    PythonPackage(name="PyYAML", version="6.0", sha256=64 * "a", licence="MIT"),
    PythonPackage(name="unsaid", version="1.0", sha256=64 * "b"),
)


@pytest.fixture
def index(tmp_path):
    """A folder of wheels, as an index would have them, and the requirement for the only one."""
    wheel = tmp_path / "small-1.5-py3-none-any.whl"
    metadata = "Metadata-Version: 2.1\nName: small\nVersion: 1.5\nLicense: Apache-2.0\n and more\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("small.py", "")
        archive.writestr("small-1.5.dist-info/METADATA", metadata)
        archive.writestr("small-1.5.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("small-1.5.dist-info/RECORD", "")
    return wheel


def find(index, text):
    requirements = index.with_name("constraints.txt")
    requirements.write_text(text)
    return find_packages(requirements, options=["--no-index", "--find-links", str(index.parent)])


def test_pip_finds_the_hashes_and_installs_by_them(index):
    (found,) = packages = find(index, "small==1.5\n")
    digest = hashlib.sha256(index.read_bytes()).hexdigest()
    assert found == PythonPackage(name="small", version="1.5", sha256=digest, licence="Apache-2.0")
    assert find(index, write_requirements(packages)) == packages
    other = write_requirements([PythonPackage(name="small", version="1.5", sha256=64 * "0")])
    with pytest.raises(ClusterError, match="DO NOT MATCH"):
        find(index, other)


def test_the_bill_names_every_package_with_its_hash_and_licence():
    whole = Component(name="streamapp-operator", version="1.0", url="pkg:pypi/streamapp-operator@1.0")
    bill = write_bill(whole, map(package_component, PACKAGES), serial=UUID(int=7), at=NOON)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert bill["serialNumber"] == "urn:uuid:00000000-0000-0000-0000-000000000007"
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/streamapp-operator@1.0"
    yaml, unsaid = bill["components"]
    assert yaml["purl"] == "pkg:pypi/pyyaml@6.0"
    assert yaml["hashes"] == [{"alg": "SHA-256", "content": 64 * "a"}]
    assert yaml["licenses"] == [{"license": {"name": "MIT"}}]
    assert "licenses" not in unsaid


def test_the_provenance_names_files_sources_and_the_builder():
    build = Build(
        commit="c0ffee",
        pins={"constraints.txt": 64 * "1"},
        parameters={"image": "i"},
        builder="https://ci.invalid",
        started=NOON,
        finished=NOON,
    )
    statement = write_statement(build, {"b": 64 * "b", "a": 64 * "a"})
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert [subject["name"] for subject in statement["subject"]] == ["a", "b"]
    predicate = statement["predicate"]
    assert predicate["runDetails"]["builder"] == {"id": "https://ci.invalid"}
    assert {"uri": "git+local", "digest": {"gitCommit": "c0ffee"}} in predicate["buildDefinition"][
        "resolvedDependencies"
    ]
    assert predicate["runDetails"]["metadata"]["startedOn"] == "2026-01-01T12:00:00+00:00"


def openssl(*arguments):
    return subprocess.run(["openssl", *arguments], capture_output=True, check=False, timeout=60)


def test_a_signature_is_checked_by_openssl_and_fits_one_file_only(tmp_path):
    pem = openssl("genpkey", "-algorithm", "ed25519").stdout
    private, public, file = tmp_path / "release.pem", tmp_path / "release.pub", tmp_path / "SHA256SUMS"
    private.write_bytes(pem)
    assert openssl("pkey", "-in", private, "-pubout", "-out", public).returncode == 0
    file.write_text("sums\n")
    signature = sign(file, read_key(pem))
    assert signature.name == "SHA256SUMS.sig"
    check = ("pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", file, "-sigfile", signature)
    assert openssl(*check).returncode == 0
    file.write_text("other sums\n")
    assert openssl(*check).returncode != 0


@pytest.mark.parametrize("pem", [b"no key", openssl("genpkey", "-algorithm", "x25519").stdout], ids=["text", "x25519"])
def test_what_is_no_key_to_sign_with_is_refused(pem):
    with pytest.raises(ClusterError, match="key to sign with"):
        read_key(pem)


def test_the_workflow_only_calls_make_release():
    workflow = yaml.safe_load((Path(__file__).parents[3] / ".github/workflows/release.yaml").read_text())
    (job,) = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make release"]
