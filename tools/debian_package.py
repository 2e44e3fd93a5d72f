"""The installation of a Debian package."""

import os
import shutil
import subprocess

_SECONDS = 900


def can_install() -> bool:
    """Return whether packages are installed here without questions: it needs root and apt-get."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install_package(name: str) -> None:
    """Install a package where that needs no questions; elsewhere, and where it fails, nothing happens."""
    if can_install():
        install = "apt-get update -qq && apt-get install -qq -y --no-install-recommends "
        subprocess.run(  # noqa: S603 - a fixed command
            ["/bin/sh", "-c", install + name],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdout=subprocess.DEVNULL,
            check=False,
            timeout=_SECONDS,
        )
