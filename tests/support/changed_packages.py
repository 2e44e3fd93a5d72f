"""Copies of the packages with a change of the source: what would the tests say of such code?"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_PACKAGES = ("core", "systems", "runtime")


class Change(NamedTuple):
    """One change: in a file, `old` becomes `new`."""

    file: str
    old: str
    new: str


@contextmanager
def changed_packages(*changes: Change) -> Iterator[dict[str, str]]:
    """Give the environment of processes that import a copy with these changes."""
    with tempfile.TemporaryDirectory(prefix="packages-") as folder:
        packages = Path(folder)
        for package in _PACKAGES:
            shutil.copytree(ROOT / package, packages / package, ignore=shutil.ignore_patterns("*.pyc.*"))
        for change in changes:
            path = packages / change.file
            path.write_text(path.read_text().replace(change.old, change.new))
        imported = [*(str(packages / package) for package in _PACKAGES), str(ROOT / "tests")]
        yield {**os.environ, "PYTHONPATH": os.pathsep.join(imported)}
