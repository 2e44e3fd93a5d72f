"""Reads the documentation: sections, fenced blocks, and the conventions its examples are written in.

* A YAML block is a whole StreamApp. `# 8 partitions` behind a stream is its count, `# 8 partitions before, 4 now` a
  change while the app ran.
* A text block after it has the problems it is refused with, as `streamapp plan` prints them, without their messages.
* A diff block changes the YAML above; a blank line separates the places it changes.
* A word after the language of a block is the name of the file it is saved as.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.problems import Problem

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COUNT = re.compile(r"^ +([a-z0-9-]+):.*# (\d+) partitions?(?: before, (\d+) now)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fenced block; `name` is the file it is saved as."""

    language: str
    name: str | None
    text: str


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def fences(text: str) -> Sequence[Fence]:
    return [Fence(language=found[1], name=found[2], text=found[3]) for found in _FENCE.finditer(text)]


def prose(text: str) -> str:
    """Leave the fenced blocks out."""
    return _FENCE.sub("", text)


def sections(text: str) -> Sequence[tuple[str, str]]:
    """Give title and text of each section of the second level."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def counts(yaml: str) -> dict[str, int]:
    """Read the partition counts of now."""
    return {found[1]: int(found[3] or found[2]) for found in _COUNT.finditer(yaml)}


def counts_before(yaml: str) -> dict[str, int]:
    """Read the partition counts before a change."""
    return {found[1]: int(found[2]) for found in _COUNT.finditer(yaml)}


def changed(yaml: str, diff: str) -> str:
    """Apply a diff; each of its places must be found exactly once."""
    for hunk in re.split(r"^\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        assert yaml.count(old) == 1, f"found {yaml.count(old)} times:\n{old}"
        yaml = yaml.replace(old, new)
    return yaml


def printed(problems: Iterable[Problem]) -> Iterator[str]:
    """Write problems as `streamapp plan` does, without their messages."""
    for problem in problems:
        yield f"{problem.path}  {problem.code}"
        if problem.repair is not None:
            yield f"  repair: {problem.repair.text}"
