"""The labels of images: the checkout that they were made from."""

import tomllib

from tools.cluster.process import attempt
from tools.images.packages import ROOT


def version() -> str:
    """Return the project's version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def revision() -> str:
    """Return the commit of the checkout, or `unknown` outside of git."""
    found = attempt(["git", "rev-parse", "HEAD"], cwd=ROOT)
    return found.stdout.strip() if found.returncode == 0 else "unknown"


def checkout_labels() -> dict[str, str]:
    """Return the labels of both, under the names that OCI gives them."""
    prefix = "org.opencontainers.image"
    return {f"{prefix}.version": version(), f"{prefix}.revision": revision()}
