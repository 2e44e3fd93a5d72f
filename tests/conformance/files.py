"""Where the vectors are, and which of them can run.

A file `<kind>.json` is run by the module `conformance.<kind>`. A kind of the contract that has no such module yet is a
capability that comes later; a file of any other name is a mistake.
"""

import importlib.util
import json
import os
from pathlib import Path

KINDS = ("plan", "tasks", "assignment", "control", "adjunct", "windows")
HERE = Path(__file__).parents[1] / "vectors"


def files():
    directories = [HERE, *(Path(directory) for directory in [os.environ.get("STREAMAPP_VECTORS")] if directory)]
    return [file for directory in directories for file in sorted(directory.glob("*.json"))]


def runs(file):
    return importlib.util.find_spec(f"conformance.{file.stem}") is not None


def vectors():
    """Return (kind, vector) of everything that can run."""
    unknown = [str(file) for file in files() if file.stem not in KINDS]
    if unknown:
        raise ValueError(f"no runner knows the vectors in {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return [(file.stem, vector) for file in files() if runs(file) for vector in json.loads(file.read_text())]


def later():
    """Return (file name, number of vectors) of everything that comes later."""
    waiting = [file for file in files() if file.stem in KINDS and not runs(file)]
    return [(file.name, len(json.loads(file.read_text()))) for file in waiting]
