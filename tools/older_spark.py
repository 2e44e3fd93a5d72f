"""Fetches the older of the two supported releases of Spark: `python -m tools.older_spark` prints its folder.

A PYTHONPATH with that folder puts it before the release of `constraints.txt`.
"""

import subprocess
import sys
from pathlib import Path

from tools.cluster.cached import default_cache, kept, key_of

RELEASE = "4.1.4"


def fetch(cache: Path) -> Path:
    """Return the folder of PySpark's older release, fetched from the package index if it is missing.

    Raises:
        CalledProcessError: it can't be fetched; pip has said why.
    """
    return kept(cache, f"pyspark-{key_of(RELEASE)}", _install, what=f"fetching Spark {RELEASE}")


def _install(folder: Path) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", f"--target={folder}"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, f"pyspark=={RELEASE}"], check=True)  # noqa: S603


if __name__ == "__main__":
    sys.stdout.write(f"{fetch(default_cache())}\n")
