"""The text files of the repository, as they are kept: nothing that was made, fetched or cached."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "systems", "runtime", "operator", "cli", "api")
"""The folders of our packages, one each."""
_FOLDERS = (*PACKAGES, "tools", "benchmarks", "examples", "images", "tests", "charts", "deploy", "docs")
_SUFFIXES = {".py", ".md", ".toml", ".yaml", ".yml", ".tpl", ".sh", ".xml", ".txt"}
_MADE = {"__pycache__", "data", "out", "build", ".streamapp"}


def texts(*folders: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file in these folders, or in all and at the top."""
    paths = [] if folders else [path for path in ROOT.iterdir() if path.is_file()]
    for folder in folders or _FOLDERS:
        paths += (ROOT / folder).rglob("*")
    for path in sorted(paths):
        relative = path.relative_to(ROOT)
        if path.is_file() and path.suffix in _SUFFIXES and not _MADE.intersection(relative.parts):
            yield str(relative), path.read_text(encoding="utf-8")


def modules() -> Iterator[Path]:
    """Yield the modules of our packages."""
    for folder in PACKAGES:
        yield from sorted((ROOT / folder).rglob("*.py"))
