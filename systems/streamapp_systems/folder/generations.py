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

from streamapp_systems.file.output_folder import create_file
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError

_NAME = re.compile(r"generation-(\d{9,})(\.json|-[0-9a-f]{32})")


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


def manifest_name(number: int) -> str:
    """Return the name of the manifest of a generation."""
    return f"generation-{number:09}.json"


def new_folder_name(number: int) -> str:
    """Return a name for the folder of a generation's files that no other attempt has."""
    return f"generation-{number:09}-{uuid.uuid4().hex}"


def superseded_folders(names: Sequence[str], kept: Sequence[Generation]) -> Iterator[str]:
    """Yield the folders that can be of no generation any more: of another attempt at one that exists.

    Of generations that don't exist yet, another driver may be staging the files just now.
    """
    folders = {generation.number: generation.folder for generation in kept}
    for name in names:
        found = _NAME.fullmatch(name)
        if found is not None and found[2] != ".json" and folders.get(int(found[1]), name) != name:
            yield name


class Generations:
    """The generations of one stream, in a folder of a disk or a store."""

    def __init__(self, folder: Place) -> None:
        """Look at nothing yet."""
        self.folder = folder

    def get(self, number: int) -> Generation | None:
        """Read a generation; None: it does not exist.

        Raises:
            StreamSystemError: it can't be read.
        """
        path = self.folder / manifest_name(number)
        try:
            return msgspec.json.decode(path.read_bytes(), type=Generation)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise StreamSystemError(f"{path} can't be read: {error}. Put back what it was") from error

    def last(self) -> Generation | None:
        """Return the last generation; None: there is none yet.

        Raises:
            StreamSystemError: the folder can't be read, or lacks a manifest.
        """
        names = (_NAME.fullmatch(name) for name in self.names())
        number = max((int(found[1]) for found in names if found is not None and found[2] == ".json"), default=0)
        return self.get(number) if number else None

    def names(self) -> list[str]:
        """List the names in the folder; none if it is not there.

        Raises:
            StreamSystemError: it can't be read.
        """
        try:
            return [path.name for path in self.folder.iterdir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StreamSystemError(f"{self.folder} can't be read: {error}") from error

    def publish(self, generation: Generation) -> bool:
        """Make a generation exist, whose files are there; return False if another one of its number does.

        Raises:
            StreamSystemError: the manifest can't be written.
        """
        return create_file(self.folder / manifest_name(generation.number), msgspec.json.encode(generation))

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
