"""Writes the CustomResourceDefinition, or checks that the one in the repository is up to date."""

import argparse
import difflib
import re
import sys
from pathlib import Path

import yaml

from streamapp_core.crd import custom_resource_definition

ROOT = Path(__file__).parents[1]
FILE = ROOT / "charts" / "streamapp" / "crds" / "streamapps.streamapp.dev.yaml"
HEADER = "# Made by tools/crds.py from the models in core/streamapp_core/spec: edit those, and run `make crds`.\n"
SHOWN = 40


class _Dumper(yaml.SafeDumper):
    """Writes every value out: Kubernetes' tools need no anchors."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the same for all
        return True


# Kubernetes' tools read YAML 1.1 to the letter, in which these are booleans: they are written in quotes.
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^[yYnN]$"), list("yYnN"))


def text() -> str:
    """Return the file's text."""
    return HEADER + yaml.dump(custom_resource_definition(), Dumper=_Dumper, sort_keys=False, width=120)


def main() -> None:
    """Write the file, or with `--check` exit with 1 and the difference if it is not what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is out of date")
    check = parser.parse_args().check
    found, wanted = FILE.read_text() if FILE.exists() else "", text()
    if found == wanted:
        return
    if not check:
        FILE.write_text(wanted)
        return
    difference = difflib.unified_diff(found.splitlines(), wanted.splitlines(), "in the file", "as made", lineterm="")
    lines = list(difference)[:SHOWN]
    sys.exit("\n".join([f"{FILE.relative_to(ROOT)} is out of date; run `make crds` and commit it:", *lines]))


if __name__ == "__main__":
    main()
