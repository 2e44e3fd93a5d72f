"""A bill of an image names what is in it: packages of Debian and Python and jars, as its layers leave them."""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from datetime import UTC, datetime
from uuid import UUID

import pytest
from tools.images.archive import Image, Layer, write_archive
from tools.release.artefacts import write_image_bills
from tools.release.image_archives import read_images
from tools.release.image_components import find_components, is_wanted, learn_facts

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STATUS = """Package: libssl3
Status: install ok installed
Architecture: amd64
Version: 1:3.0.15-1~deb12u1+b1
Description: it is said
 over: several lines

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 1.0

Package: python3-old
Status: install ok installed
Architecture: all
Version: 2.0
"""
SUMS = "0123  usr/lib/libssl.so.3\n"
SITE = "opt/streamapp/lib/python3.11/site-packages"
METADATA = "Metadata-Version: 2.1\nName: Ruamel.YAML\nVersion: 0.18\nLicense: MIT\n\nName: of the description\n"
RECORD = "ruamel/__init__.py,sha256=abc,1\n"
OWNED = "usr/lib/python3/dist-packages/old-2.0.dist-info"
DEBIAN = {
    "usr/lib/os-release": 'ID=debian\nVERSION_ID="12"\n',
    "var/lib/dpkg/status": STATUS,
    "var/lib/dpkg/info/libssl3:amd64.md5sums": SUMS,
    "var/lib/dpkg/info/python3-old.list": f"/.\n/{OWNED}/METADATA\n/usr/share/old.jar\n",
    f"{OWNED}/METADATA": "Name: old\nVersion: 2.0\n",
    "usr/share/old.jar": b"",
}
PYTHON = {f"{SITE}/ruamel.yaml-0.18.dist-info/METADATA": METADATA, f"{SITE}/ruamel.yaml-0.18.dist-info/RECORD": RECORD}


def jar(**coordinates):
    """Return a jar that says where it is in Maven: `group__artifact="version"`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, version in coordinates.items():
            group, _, artifact = name.partition("__")
            said = f"#made\ngroupId={group}\nartifactId = {artifact}\nversion={version}\n"
            archive.writestr(f"META-INF/maven/{group}/{artifact}/pom.properties", said)
    return packed.getvalue()


def layer(folder, files, *, pack=bytes):
    """Write a layer of files, by path."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    data = pack(packed.getvalue())
    digest = hashlib.sha256(data).hexdigest()
    (folder / digest).write_bytes(data)
    return Layer(tar=folder / digest, digest=f"sha256:{digest}", size=len(data))


@pytest.fixture
def components(tmp_path):
    """A function that returns the parts of an image of some layers, by the path of what they were found in."""

    def components(*layers):
        archive = tmp_path / "images.tar"
        write_archive(archive, [Image(name="localhost/one:dev", layers=layers)])
        (image,) = read_images(archive, is_wanted, learn_facts)
        return {part.file or part.name: part for part in find_components(image.files)}

    return components


def test_packages_of_debian_are_named_with_the_hash_of_their_files(components, tmp_path):
    found = components(layer(tmp_path, DEBIAN | {"usr/share/old.jar": jar()}))
    assert found.keys() == {"var/lib/dpkg/info/libssl3:amd64.md5sums", "python3-old"}
    ssl = found["var/lib/dpkg/info/libssl3:amd64.md5sums"]
    assert ssl.url == "pkg:deb/debian/libssl3@1%3A3.0.15-1~deb12u1%2Bb1?arch=amd64&distro=debian-12"
    assert ssl.sha256 == hashlib.sha256(SUMS.encode()).hexdigest()
    assert found["python3-old"].sha256 is None


def test_packages_of_python_are_named_with_the_hash_of_their_record(components, tmp_path):
    header = {"usr/local/include/python3.11/patchlevel.h": '#define PY_VERSION              "3.11.9"\n'}
    python, package = components(layer(tmp_path, PYTHON | header)).values()
    assert (package.name, package.version, package.licence) == ("Ruamel.YAML", "0.18", "MIT")
    assert package.url == "pkg:pypi/ruamel-yaml@0.18"
    assert package.sha256 == hashlib.sha256(RECORD.encode()).hexdigest()
    assert python.url == "pkg:generic/python@3.11.9"


@pytest.mark.parametrize(
    "name, content, url",
    [
        ("guava-33.4.jar", jar(com__guava="33.4", other__packed="1"), "pkg:maven/com/guava@33.4"),
        ("spark-core_2.13-4.2.1.jar", jar(**{"org.spark__spark-core_2.13": "4.2.1"}), None),
        ("shaded-1.0.jar", jar(other__packed="1"), "pkg:generic/shaded@1.0"),
        ("py4j0.10.9.9.jar", jar(), "pkg:generic/py4j@0.10.9.9"),
        ("plain.jar", jar(), "pkg:generic/plain"),
    ],
)
def test_jars_are_named_by_maven_or_their_file_with_their_own_hash(components, tmp_path, name, content, url):
    (part,) = components(layer(tmp_path, {f"jars/{name}": content})).values()
    assert part.url == (url or "pkg:maven/org.spark/spark-core_2.13@4.2.1")
    assert part.sha256 == hashlib.sha256(content).hexdigest()


def test_a_jar_that_only_names_others_is_no_part(components, tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as names:
        names.writestr("META-INF/MANIFEST.MF", "Class-Path: a-1.jar")
    assert components(layer(tmp_path, {"archives/all.jar": out.getvalue(), "a-1.jar": jar()})).keys() == {"a-1.jar"}


def test_what_an_upper_layer_removes_or_replaces_is_not_there(components, tmp_path):
    lower = layer(tmp_path, {f"jars/{name}-1.jar": jar() for name in "abc"} | {"more/d-1.jar": jar()})
    newer = jar(g__c="2")
    upper = layer(
        tmp_path, {"jars/.wh.a-1.jar": b"", "jars/c-1.jar": newer, "more/.wh..wh..opq": b"", "more/e-1.jar": jar()}
    )
    found = components(lower, upper)
    assert found.keys() == {"jars/b-1.jar", "jars/c-1.jar", "more/e-1.jar"}
    assert found["jars/c-1.jar"].version == "2"


def test_layers_may_be_compressed(components, tmp_path):
    assert components(layer(tmp_path, {"a-1.jar": jar()}, pack=gzip.compress)).keys() == {"a-1.jar"}


def test_each_image_has_a_bill_of_its_own(tmp_path):
    below = layer(tmp_path, PYTHON)
    labels = {"org.opencontainers.image.version": "1.2"}
    images = [
        Image(name="localhost/one:dev", layers=(below,), labels=labels),
        Image(name="localhost/two:dev", layers=(below, layer(tmp_path, {"a-1.jar": jar()}))),
    ]
    write_archive(tmp_path / "images.tar", images)
    write_image_bills(tmp_path, tmp_path / "images.tar", UUID(int=7), NOON)
    one, two = (json.loads((tmp_path / f"{name}.cdx.json").read_text()) for name in ("one", "two"))
    assert one["metadata"]["component"]["version"] == "1.2"
    assert (one["metadata"]["component"]["type"], len(one["components"]), len(two["components"])) == ("container", 1, 2)
    assert one["serialNumber"] != two["serialNumber"]
    references = [part["bom-ref"] for part in two["components"]]
    assert len(set(references)) == 2
    assert two["components"][0]["evidence"] == {"occurrences": [{"location": "a-1.jar"}]}
