"""Manifests, numbered from 1 on: each is written once and last, and makes exist what it names."""

import re
from typing import Generic, Protocol, TypeVar

import msgspec

from streamapp_systems.file.output_folder import create_file
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError

_NAME = re.compile(r"generation-(\d{9,})\.json")


class Numbered(Protocol):
    """A manifest."""

    @property
    def number(self) -> int:
        """The number, one larger than that of the manifest before."""
        ...


Manifest = TypeVar("Manifest", bound=Numbered)


def manifest_name(number: int) -> str:
    """Return the name of the manifest of a generation."""
    return f"generation-{number:09}.json"


class Manifests(Generic[Manifest]):
    """The manifests in a folder of a disk or a store."""

    def __init__(self, folder: Place, kind: type[Manifest]) -> None:
        """Look at nothing yet; manifests are structures of this kind."""
        self.folder = folder
        self._decoder = msgspec.json.Decoder(kind)

    def get(self, number: int) -> Manifest | None:
        """Read a manifest; None: it does not exist.

        Raises:
            StreamSystemError: it can't be read.
        """
        path = self.folder / manifest_name(number)
        try:
            return self._decoder.decode(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise StreamSystemError(f"{path} can't be read: {error}. Put back what it was") from error

    def last(self) -> Manifest | None:
        """Return the last manifest; None: there is none yet.

        Raises:
            StreamSystemError: the folder can't be read, or lacks a manifest.
        """
        numbers = self.numbers()
        return self.get(numbers[-1]) if numbers else None

    def numbers(self) -> list[int]:
        """List the numbers of the manifests that there are, in their order.

        Raises:
            StreamSystemError: the folder can't be read.
        """
        return sorted(int(found[1]) for found in map(_NAME.fullmatch, self.names()) if found is not None)

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

    def publish(self, manifest: Manifest) -> bool:
        """Write a manifest; return False if there is another one of its number.

        Raises:
            StreamSystemError: it can't be written.
        """
        return create_file(self.folder / manifest_name(manifest.number), msgspec.json.encode(manifest))
