"""Where the vectors are. A file `<kind>.json` is run by the module `conformance.<kind>`; another name is a mistake."""

import json
import os
from pathlib import Path

KINDS = ("plan", "tasks", "assignment", "control", "adjunct", "windows")
HERE = Path(__file__).parents[1] / "vectors"


def files():
    directories = [HERE, *(Path(directory) for directory in [os.environ.get("STREAMAPP_VECTORS")] if directory)]
    return [file for directory in directories for file in sorted(directory.glob("*.json"))]


def vectors():
    """Return (kind, vector) of everything."""
    unknown = [str(file) for file in files() if file.stem not in KINDS]
    if unknown:
        raise ValueError(f"no runner knows the vectors in {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return [(file.stem, vector) for file in files() for vector in json.loads(file.read_text())]
