"""Prints what pyproject.toml requires with an extra, one requirement a line: an image's layer without our code."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
sys.stdout.write("\n".join([*project["dependencies"], *project["optional-dependencies"][sys.argv[1]]]) + "\n")
