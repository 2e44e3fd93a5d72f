"""Bills of materials in CycloneDX 1.5: of the Python package, and of the images."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from tools.release.python_packages import PythonPackage


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A part of something, or the whole: its package URL and SHA-256, and in which file of an image it was found."""

    name: str
    version: str
    url: str
    sha256: str | None = None
    licence: str | None = None
    file: str | None = None


def package_component(package: PythonPackage) -> Component:
    """Return a Python package as a part."""
    url = f"pkg:pypi/{package.name.lower()}@{package.version}"
    return Component(
        name=package.name, version=package.version, url=url, sha256=package.sha256, licence=package.licence
    )


def write_bill(
    whole: Component, parts: Iterable[Component], *, kind: str = "application", serial: UUID, at: datetime
) -> dict[str, Any]:
    """Return the bill of something that consists of these parts; `kind` is CycloneDX's word for what it is."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"timestamp": at.isoformat(timespec="seconds"), "component": _component(whole, kind)},
        "components": [_component(part, "library") for part in parts],
    }


def _component(component: Component, kind: str) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if component.sha256 is not None:
        more["hashes"] = [{"alg": "SHA-256", "content": component.sha256}]
    if component.licence is not None:
        more["licenses"] = [{"license": {"name": component.licence}}]
    if component.file is not None:
        more["evidence"] = {"occurrences": [{"location": component.file}]}
    return {
        "type": kind,
        "bom-ref": component.url if component.file is None else f"{component.url}#{component.file}",
        "name": component.name,
        "version": component.version,
        "purl": component.url,
        **more,
    }
