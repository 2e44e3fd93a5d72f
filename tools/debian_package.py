"""The installation of a Debian package."""

import os
import shutil
import subprocess

_SECONDS = 900


def can_install() -> bool:
    """Return whether packages are installed here without questions: it needs root and apt-get."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install_command(*names: str) -> list[str]:
    """Return the command that installs packages, without questions."""
    install = "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends"
    return ["/bin/sh", "-c", f"{install} {' '.join(names)}"]


def install_package(*names: str) -> None:
    """Install packages where that needs no questions; elsewhere, and where it fails, nothing happens."""
    if can_install():
        subprocess.run(install_command(*names), stdout=subprocess.DEVNULL, check=False, timeout=_SECONDS)  # noqa: S603 - fixed
