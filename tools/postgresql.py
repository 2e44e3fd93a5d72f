"""Installs PostgreSQL, if there is none: `python -m tools.postgresql`."""

import shutil
import sys
from pathlib import Path

from tools.debian_package import install_package

_DEBIAN = Path("/usr/lib/postgresql")


def server_programs() -> Path | None:
    """Return the folder of the server's programs; None: this machine has none."""
    found = shutil.which("initdb")
    installed = sorted(_DEBIAN.glob("*/bin/initdb"))
    return Path(found).resolve().parent if found else installed[-1].parent if installed else None


if __name__ == "__main__" and server_programs() is None:
    sys.stdout.write("== installing PostgreSQL\n")
    sys.stdout.flush()
    install_package("postgresql")
