"""Installs Chromium, if there is none: `python -m tools.chromium`."""

import shutil
import sys

from tools.debian_package import install_package

if __name__ == "__main__" and shutil.which("chromium") is None:
    sys.stdout.write("== installing Chromium\n")
    sys.stdout.flush()
    install_package("chromium")
