"""The parts of an image, from its own files: packages of Debian and Python, jars, and a Python that is no package.

The hash of a jar is its own. That of a package is the hash of the list that the image has of the package's files, with
a digest for each: `NAME.md5sums` of dpkg, `RECORD` of a Python package.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from urllib.parse import quote

from tools.release.bill_of_materials import Component

_STATUS, _INFO, _RELEASE = "var/lib/dpkg/status", "var/lib/dpkg/info/", "usr/lib/os-release"
_PYTHON = re.compile(r"usr/local/include/python3\.\d+/patchlevel\.h")
_DIST_INFO = re.compile(r"(?P<folder>.*/(site|dist)-packages/[^/]+\.dist-info)/(METADATA|RECORD)")
_MANIFEST = "META-INF/MANIFEST.MF"
_COORDINATES = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
_JAR_NAMES = (
    re.compile(r"(?P<name>.+?)-(?P<version>\d.*)\.jar"),
    re.compile(r"(?P<name>.*?[a-z])(?P<version>\d+\.\d[\d.]*)\.jar"),
    re.compile(r"(?P<name>.+)(?P<version>)\.jar"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A file: its SHA-256, its text if that is read, and the part that it is if it is a jar."""

    sha256: str
    text: str = ""
    jar: Component | None = None


def is_wanted(path: str) -> bool:
    """Return whether a file of an image says something of its parts."""
    of_debian = path in (_STATUS, _RELEASE) or (path.startswith(_INFO) and path.endswith((".list", ".md5sums")))
    return of_debian or path.endswith(".jar") or bool(_DIST_INFO.fullmatch(path) or _PYTHON.fullmatch(path))


def learn_facts(path: str, content: bytes) -> Facts:
    """Return what a file says."""
    sha256 = hashlib.sha256(content).hexdigest()
    if path.endswith(".jar"):
        return Facts(sha256=sha256, jar=_read_jar(path, content, sha256))
    return Facts(sha256=sha256, text=content.decode(errors="replace"))


def find_components(files: Mapping[str, Facts]) -> list[Component]:
    """Return the parts of an image, sorted. Jars and Python packages that are of a Debian package are left to it."""
    owned = {
        line.strip("/")
        for path, facts in files.items()
        if path.startswith(_INFO) and path.endswith(".list")
        for line in facts.text.splitlines()
    }
    found = [*_debian(files), *_python(files, owned)]
    found += [facts.jar for path, facts in files.items() if facts.jar is not None and path not in owned]
    return sorted(found, key=lambda part: (part.url, part.file or ""))


def _debian(files: Mapping[str, Facts]) -> Iterator[Component]:
    if _STATUS not in files:
        return
    release = dict(line.partition("=")[::2] for line in files[_RELEASE].text.splitlines())
    distribution = f"{release['ID']}-{release['VERSION_ID']}".replace('"', "")
    for stanza in files[_STATUS].text.strip().split("\n\n"):
        package = HeaderParser().parsestr(stanza)
        if not package["Status"].endswith(" installed"):
            continue
        name, version, architecture = package["Package"], package["Version"], package["Architecture"]
        lists = (f"{_INFO}{name}.md5sums", f"{_INFO}{name}:{architecture}.md5sums")
        file = next((path for path in lists if path in files), None)
        yield Component(
            name=name,
            version=version,
            url=f"pkg:deb/debian/{quote(name)}@{quote(version, safe='')}?arch={architecture}&distro={distribution}",
            sha256=None if file is None else files[file].sha256,
            file=file,
        )


def _python(files: Mapping[str, Facts], owned: set[str]) -> Iterator[Component]:
    for path, facts in files.items():
        found = _DIST_INFO.fullmatch(path)
        if found and path.endswith("/METADATA") and path not in owned:
            metadata = HeaderParser().parsestr(facts.text)
            name, version = metadata["Name"], metadata["Version"]
            licence = (metadata["License-Expression"] or metadata["License"] or "").strip()
            record = files.get(f"{found['folder']}/RECORD")
            yield Component(
                name=name,
                version=version,
                url=f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{quote(version, safe='')}",
                sha256=None if record is None else record.sha256,
                licence=licence.splitlines()[0] if licence else None,
                file=found["folder"],
            )
        elif _PYTHON.fullmatch(path) and (own := re.search(r'#define PY_VERSION\s+"(.+?)"', facts.text)):
            yield Component(name="python", version=own[1], url=f"pkg:generic/python@{own[1]}", file=path)


def _read_jar(path: str, content: bytes, sha256: str) -> Component | None:
    """Return the part that a jar is: by its coordinates in Maven, else by its file's name.

    None if it has a manifest alone, which names other jars.
    """
    file = path.rpartition("/")[2]
    named = next(found for pattern in _JAR_NAMES if (found := pattern.fullmatch(file)))
    name, version = named["name"], named["version"]
    group = None
    with zipfile.ZipFile(io.BytesIO(content)) as jar:
        if jar.namelist() == [_MANIFEST]:
            return None
        for entry in filter(_COORDINATES.fullmatch, jar.namelist()):
            lines = jar.read(entry).decode(errors="replace").splitlines()
            values = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
            if values.get("artifactId") == name:  # others are of what is packed into it
                group, version = values.get("groupId"), values.get("version", version)
    space = "generic" if group is None else f"maven/{quote(group)}"
    url = f"pkg:{space}/{quote(name)}" + (f"@{quote(version, safe='')}" if version else "")
    return Component(name=name, version=version, url=url, sha256=sha256, file=path)
