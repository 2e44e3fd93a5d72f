"""The Python packages at their pinned versions, as the package index has them: each with its file and its hash."""

import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.cluster.process import run


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPackage:
    """A package: name, version, the SHA-256 of the file that is installed, and what its authors say of its licence."""

    name: str
    version: str
    sha256: str
    licence: str | None = None


def find_packages(requirements: Path, *, options: Sequence[str] = ()) -> tuple[PythonPackage, ...]:
    """Return the packages that a file of requirements names, by name, as pip would install them on this platform.

    Raises:
        ClusterError: the index can't be reached, or has no such version.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
        run([*command, "--report", report, *options, "--requirement", requirements])
        found = json.loads(report.read_text())["install"]
    packages = [
        PythonPackage(
            name=item["metadata"]["name"],
            version=item["metadata"]["version"],
            sha256=item["download_info"]["archive_info"]["hashes"]["sha256"],
            licence=item["metadata"].get("license_expression") or _first_line(item["metadata"].get("license")),
        )
        for item in found
    ]
    return tuple(sorted(packages, key=lambda package: package.name.lower()))


def write_requirements(packages: Iterable[PythonPackage]) -> str:
    """Return what `pip install --require-hashes --requirement` reads."""
    return "".join(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n" for package in packages)


def _first_line(text: str | None) -> str | None:
    """Return a licence's name; some packages have its whole text there."""
    lines = (text or "").strip().splitlines()
    return lines[0] if lines else None
