"""Files while they are made: in the folder that they are for, or beside it where that is in a store of objects."""

import shutil
from pathlib import Path
from tempfile import mkdtemp
from weakref import finalize

from streamapp_systems.objects.object_path import ObjectPath, Place


class FilesMade:
    """The local folder in which files for a place are made. An object is written when its file is complete."""

    def __init__(self, place: Place) -> None:
        """Make a folder of its own for files that go to a store."""
        self._place = place
        if isinstance(place, Path):
            self.folder, self._remove = place, None
        else:
            self.folder = Path(mkdtemp(prefix="streamapp-"))
            self._remove = finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def deliver(self, name: str) -> None:
        """Have a complete file at its place; names are relative to the folder.

        Raises:
            Unavailable, StreamSystemError: a store does not take it.
        """
        if isinstance(self._place, ObjectPath):
            made = self.folder / name
            (self._place / name).write_file(made)
            made.unlink()

    def close(self) -> None:
        """Remove what was not delivered to a store."""
        if self._remove is not None:
            self._remove()
