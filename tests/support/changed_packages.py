"""Copies of the packages with a change of the source: what would the tests say of such code?"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PACKAGES = ("core", "systems", "runtime")


@contextmanager
def changed_packages(file: str, old: str, new: str) -> Iterator[dict[str, str]]:
    """Give the environment of processes that import a copy in which `old` became `new` in a file."""
    with tempfile.TemporaryDirectory(prefix="packages-") as folder:
        packages = Path(folder)
        for package in _PACKAGES:
            shutil.copytree(ROOT / package, packages / package, ignore=shutil.ignore_patterns("__pycache__"))
        path = packages / file
        path.write_text(path.read_text().replace(old, new))
        imported = [*(str(packages / package) for package in _PACKAGES), str(ROOT / "tests")]
        yield {**os.environ, "PYTHONPATH": os.pathsep.join(imported)}
