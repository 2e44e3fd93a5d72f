"""Generations: rows of a source that were staged as files. A manifest, written once and last, makes one exist.

Of those who make the next generation at the same time one succeeds; what others, and those that died, have staged
belongs to no generation, and is removed when a later one exists.
"""

import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import rmtree
from urllib.parse import quote

import msgspec

from streamapp_systems.folder.manifests import Manifests
from streamapp_systems.objects import Place

_FOLDER = re.compile(r"generation-(\d{9,})-[0-9a-f]{32}")


class StagedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file with rows of one partition, by its name in the generation's folder."""

    name: str
    partition: int
    records: int
    size: int


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """A generation, numbered from 1 on, with its files in the order in which they are read.

    `source` tells the generations of a stream from others that were staged at the same place: it is the folder of the
    first. `maximum` is the largest value of the `column` by which rows are new, as text; of a source that is read once
    there is neither.
    """

    number: int
    source: str
    folder: str
    partitions: int
    files: tuple[StagedFile, ...]
    column: str | None = None
    maximum: str | None = None


def stream_folder(root: Place, address: str) -> Place:
    """Return the folder of a stream's generations, in that of its system."""
    return root / f"{quote(address, safe='')}.staged"


def new_folder_name(number: int) -> str:
    """Return a name for the folder of a generation's files that no other attempt has."""
    return f"generation-{number:09}-{uuid.uuid4().hex}"


def superseded_folders(names: Sequence[str], kept: Sequence[Generation]) -> Iterator[str]:
    """Yield the folders that can be of no generation any more: of another attempt at one that exists.

    Of generations that don't exist yet, another driver may be staging the files just now.
    """
    folders = {generation.number: generation.folder for generation in kept}
    for name in names:
        found = _FOLDER.fullmatch(name)
        if found is not None and folders.get(int(found[1]), name) != name:
            yield name


class Generations(Manifests[Generation]):
    """The generations of one stream, in a folder of a disk or a store."""

    def __init__(self, folder: Place) -> None:
        """Look at nothing yet."""
        super().__init__(folder, Generation)

    def remove_superseded(self, generation: Generation) -> None:
        """Remove what other attempts at a generation that exists have staged; what can't be removed stays."""
        for name in superseded_folders(self.names(), [generation]):
            remove_folder(self.folder / name)


def remove_folder(folder: Place) -> None:
    """Remove a folder with its files, as far as that is possible."""
    if isinstance(folder, Path):
        rmtree(folder, ignore_errors=True)
        return
    for path in folder.objects(below=True)[0]:
        path.unlink(missing_ok=True)
