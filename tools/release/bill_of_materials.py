"""The bill of materials of the Python packages, in CycloneDX 1.5."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from tools.release.python_packages import PythonPackage


def write_bill(
    name: str, version: str, packages: Iterable[PythonPackage], *, serial: UUID, at: datetime
) -> dict[str, Any]:
    """Return the bill of a release and what it is installed with."""
    root = f"pkg:pypi/{name}@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": at.isoformat(timespec="seconds"),
            "component": {"type": "application", "bom-ref": root, "name": name, "version": version, "purl": root},
        },
        "components": [_component(package) for package in packages],
    }


def _component(package: PythonPackage) -> dict[str, Any]:
    url = f"pkg:pypi/{package.name.lower()}@{package.version}"
    licences = [] if package.licence is None else [{"license": {"name": package.licence}}]
    return {
        "type": "library",
        "bom-ref": url,
        "name": package.name,
        "version": package.version,
        "purl": url,
        "hashes": [{"alg": "SHA-256", "content": package.sha256}],
        **({"licenses": licences} if licences else {}),
    }
