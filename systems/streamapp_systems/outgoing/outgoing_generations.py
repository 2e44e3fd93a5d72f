"""Generations of committed rows that jobs of Spark write: a table of files, as its writers see it.

A manifest has the rows of one publication of one writer, and the marks of all that there were. A marker says up to
which number generations are written; what lies below it is removed, its files at once and its manifests later.
"""

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec
import pyarrow as pa

from streamapp_systems.file.output_folder import create_file, sync_folder
from streamapp_systems.folder.manifests import Manifests
from streamapp_systems.objects import ObjectPath, Place
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.tables import TableFile

_ENDING = ".outgoing"
_ROWS = "rows"
_MARKER = re.compile(r"generation-(\d{9,})\.written")
_KEPT = 100
"""Manifests that stay behind the newest: a writer that stood still finds the one that it goes on from."""


class OutgoingGeneration(msgspec.Struct, frozen=True, kw_only=True):
    """A generation: its files by their names, and by each name of a writer the number of its last part that there is.

    `chain` names the sequence of generations, which are for a place of a `system` of the app's. The first, of number 0,
    has no files.
    """

    number: int
    chain: str
    system: str
    files: tuple[str, ...] = ()
    marks: Mapping[str, int] = {}


def outgoing_folder(root: Place, app: str, address: str) -> Place:
    """Return the folder of the generations that an app has for a place, in that of its system."""
    return root / f".streamapp/{app}" / f"{quote(address, safe='')}{_ENDING}"


def outgoing_addresses(root: Place, app: str) -> list[str]:
    """List the places that an app has generations for.

    Raises:
        StreamSystemError: the folder can't be read.
    """
    folder = root / f".streamapp/{app}"
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StreamSystemError(f"{folder} can't be read: {error}") from error
    return sorted(unquote(name.removesuffix(_ENDING)) for name in names if name.endswith(_ENDING))


class OutgoingGenerations(Manifests[OutgoingGeneration]):
    """The generations for one place; `system` is the name of that which they are made for, if they are."""

    def __init__(self, folder: Place, system: str = "") -> None:
        """Look at nothing yet."""
        super().__init__(folder, OutgoingGeneration)
        self._system = system

    def load(self) -> "OutgoingVersion | None":
        """See `AppendedTable.load`."""
        last = self.last()
        return None if last is None else OutgoingVersion(self, last)

    def create(self, columns: pa.Schema, partition_columns: Sequence[str]) -> "OutgoingVersion":  # noqa: ARG002
        """See `AppendedTable.create`: what is written to is made by the first job."""
        if isinstance(self.folder, Path):
            (self.folder / _ROWS).mkdir(parents=True, exist_ok=True)
            for folder in (self.folder, *list(self.folder.parents)[:3]):
                sync_folder(folder)
        self.publish(OutgoingGeneration(number=0, chain=uuid.uuid4().hex, system=self._system))
        created = self.load()
        if created is None:
            raise StreamSystemError(f"{self.folder} is gone again, right after it was made")
        return created

    def written(self) -> int:
        """Return the number up to which generations are written.

        Raises:
            StreamSystemError: the folder can't be read.
        """
        return max(self._markers(), default=0)

    def pending(self) -> list[OutgoingGeneration]:
        """Return the generations that are to be written, in their order.

        Raises:
            StreamSystemError: they can't be read.
        """
        found, number = [], self.written() + 1
        while (generation := self.get(number)) is not None:
            found.append(generation)
            number += 1
        return found

    def place(self, file: str) -> Place:
        """Return where a file of a generation is."""
        return self.folder / _ROWS / file

    def note_written(self, generation: OutgoingGeneration) -> None:
        """Note that a generation and all before it are written, and remove what nobody needs any more.

        Raises:
            StreamSystemError: that can't be noted.
        """
        create_file(self.folder / f"generation-{generation.number:09}.written", b"{}")
        try:
            self._remove(generation)
            last = max(self.numbers())
            for number in (n for n in self.numbers() if n < min(generation.number, last) - _KEPT):
                self._remove(self.get(number))
                self._file(number, "json").unlink(missing_ok=True)
            for number in sorted(self._markers()):
                if number < generation.number:
                    self._file(number, "written").unlink(missing_ok=True)
        except OSError as error:
            raise StreamSystemError(f"what is written can't be removed from {self.folder}: {error}") from error

    def _remove(self, generation: OutgoingGeneration | None) -> None:
        for file in () if generation is None else generation.files:
            self.place(file).unlink(missing_ok=True)

    def _file(self, number: int, ending: str) -> Place:
        return self.folder / f"generation-{number:09}.{ending}"

    def _markers(self) -> list[int]:
        return [int(found[1]) for found in map(_MARKER.fullmatch, self.names()) if found is not None]


class OutgoingVersion:
    """The generations as they are at one of them; see `AppendedVersion`."""

    partition_columns: tuple[str, ...] = ()
    keeps_partition_columns = False
    layout: object = ()

    def __init__(self, generations: OutgoingGenerations, last: OutgoingGeneration) -> None:
        """Take the last generation."""
        self._generations, self._last = generations, last

    @property
    def id(self) -> str:
        """See `AppendedVersion.id`."""
        return self._last.chain

    @property
    def folder(self) -> Place:
        """See `AppendedVersion.folder`."""
        return self._generations.folder / _ROWS

    @property
    def system(self) -> str:
        """The name of the app's system that they were made for."""
        return self._last.system

    def stored(self, rows: pa.Table) -> pa.Table:
        """See `AppendedVersion.stored`."""
        return rows

    def mismatches(self, rows: pa.Schema, folder_columns: Sequence[str]) -> Iterator[str]:  # noqa: ARG002
        """See `AppendedVersion.mismatches`: the job judges, which asks what it writes to."""
        return iter(())

    def staged_mismatches(self, rows: pa.Schema) -> Iterator[str]:  # noqa: ARG002
        """See `AppendedVersion.staged_mismatches`."""
        return iter(())

    def count_rows(self) -> int:
        """See `AppendedVersion.count_rows`: what is written to is not asked."""
        return 0

    def mark(self, name: str) -> int | None:
        """See `AppendedVersion.mark`."""
        return self._last.marks.get(name)

    def append(self, files: Iterable[TableFile], marks: Mapping[str, int]) -> bool:
        """See `AppendedVersion.append`.

        Who stood still for long may write a manifest in the place of one that was removed: then the one before is gone,
        too, and the last one says whose rows there are.
        """
        following = OutgoingGeneration(
            number=self._last.number + 1,
            chain=self._last.chain,
            system=self._last.system,
            files=tuple(file.path for file in files),
            marks={**self._last.marks, **marks},
        )
        if not self._generations.publish(following):
            return False
        if self._generations.get(self._last.number) is not None:
            return True
        last = self._generations.last()
        return last is not None and all(last.marks.get(name, -1) >= number for name, number in marks.items())

    def sync(self) -> None:
        """See `AppendedVersion.sync`."""
        if not isinstance(self._generations.folder, ObjectPath):
            sync_folder(self._generations.folder)
