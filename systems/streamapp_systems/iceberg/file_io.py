"""The files of tables for pyiceberg, read and written as all others are: in a folder durably, in a store as objects.

So a store has the same credentials, certificates, patience and messages here as anywhere.
"""

import io
import os
from typing import TYPE_CHECKING, Any

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

from streamapp_systems.file.output_folder import sync_folder
from streamapp_systems.iceberg.locations import place_of
from streamapp_systems.objects import ObjectPath, Place

if TYPE_CHECKING:
    from pathlib import Path

ROOT = "streamapp.root"
"""The property of a catalog that has the place of the warehouse."""


class PlaceFileIO(FileIO):
    """Opens files by their locations, in the folders of this machine or in the store of the warehouse."""

    def __init__(self, properties: dict[str, Any]) -> None:
        super().__init__(properties)
        self._root: Place = properties[ROOT]

    def new_input(self, location: str) -> InputFile:
        """See `FileIO`."""
        return _PlaceFile(location, place_of(location, self._root))

    def new_output(self, location: str) -> OutputFile:
        """See `FileIO`."""
        return _NewFile(location, place_of(location, self._root))

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """See `FileIO`."""
        place_of(location if isinstance(location, str) else location.location, self._root).unlink()


class _PlaceFile(InputFile):
    def __init__(self, location: str, place: Place) -> None:
        super().__init__(location)
        self._place = place

    def __len__(self) -> int:
        return self._place.stat().st_size

    def exists(self) -> bool:
        return self._place.exists()

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - metadata is read as a whole
        return io.BytesIO(self._place.read_bytes())


class _NewFile(OutputFile):
    def __init__(self, location: str, place: Place) -> None:
        super().__init__(location)
        self._place = place

    def __len__(self) -> int:
        return self._place.stat().st_size

    def exists(self) -> bool:
        return self._place.exists()

    def to_input_file(self) -> InputFile:
        return _PlaceFile(self.location, self._place)

    def create(self, overwrite: bool = False) -> OutputStream:  # noqa: ARG002 - names are new
        return _Bytes(self._place)


class _Bytes(io.BytesIO):
    """The bytes of a file, which is there, durably, once they are closed."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place

    def close(self) -> None:
        if not self.closed:
            _write(self._place, self.getvalue())
        super().close()


def _write(place: Place, content: bytes) -> None:
    if isinstance(place, ObjectPath):
        place.write_bytes(content)
        return
    missing = [folder for folder in place.parents if not folder.exists()]
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    folders: list[Path] = [place.parent, *(folder.parent for folder in missing)]
    for folder in dict.fromkeys(folders):
        sync_folder(folder)
