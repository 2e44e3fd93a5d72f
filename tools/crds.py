"""Writes the CustomResourceDefinition, or checks that the one in the repository is up to date."""

import argparse
import difflib
import sys
from pathlib import Path

import yaml

from streamapp_core.crd import custom_resource_definition
from streamapp_core.spec.write_yaml import YamlWriter

ROOT = Path(__file__).parents[1]
FILE = ROOT / "charts" / "streamapp" / "crds" / "streamapps.streamapp.dev.yaml"
HEADER = "# Made by tools/crds.py from the models in core/streamapp_core/spec: edit those, and run `make crds`.\n"
SHOWN = 40


def text() -> str:
    """Return the file's text."""
    return HEADER + yaml.dump(custom_resource_definition(), Dumper=YamlWriter, sort_keys=False, width=120)


def write_or_check(file: Path, wanted: str, description: str | None) -> None:
    """Write a file, or with `--check` exit with 1 and the difference if it is not what would be written."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is out of date")
    check = parser.parse_args().check
    found = file.read_text() if file.exists() else ""
    if found == wanted:
        return
    if not check:
        file.write_text(wanted)
        return
    difference = difflib.unified_diff(found.splitlines(), wanted.splitlines(), "in the file", "as made", lineterm="")
    lines = list(difference)[:SHOWN]
    sys.exit("\n".join([f"{file.relative_to(ROOT)} is out of date; run `make crds` and commit it:", *lines]))


if __name__ == "__main__":
    write_or_check(FILE, text(), __doc__)
