"""The guard of side inputs that have versions: rows of what has changed since a version was taken reach no table."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import SideInputChanged
from streamapp_runtime.processor.decoding_input_source import InputSource
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_systems.file import FileVersion, take_file_version
from streamapp_systems.protocols import StreamSystemError, VersionGone


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedFile:
    """A file of a side input that is to be read, with the version that it must have."""

    path: Path
    version: FileVersion


class SideInputGuard:
    """An input source that checks the files of side inputs after each read: they must be what they were before it."""

    def __init__(self, inputs: InputSource, files: Mapping[Ssp, GuardedFile]) -> None:
        """Take the files that will be read.

        Raises:
            SideInputChanged: one is not of its version (any more).
        """
        self._inputs = inputs
        self._files = {ssp: GuardedFile(path=file.path, version=_seen_here(ssp, file)) for ssp, file in files.items()}

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[DecodedBatch]:
        """See `InputSource.poll`.

        Raises:
            SideInputChanged: a file has changed, or the version of a table or folder is gone.
        """
        try:
            with explained_versions():
                for batch in self._inputs.poll(ssps, max_rows, timeout):
                    self._check(batch.ssp)
                    yield batch
        except StreamSystemError:
            for ssp in ssps:
                self._check(ssp)
            raise

    def _check(self, ssp: Ssp) -> None:
        file = self._files.get(ssp)
        if file is not None and not file.version.is_current(file.path):
            raise _changed(ssp, file.path)


@contextmanager
def explained_versions() -> Iterator[None]:
    """Have the run take a later version where one that is to be read is gone.

    Raises:
        SideInputChanged: for every `VersionGone`.
    """
    try:
        yield
    except VersionGone as gone:
        raise SideInputChanged(f"{gone}. All processors start again with the version that is there now") from gone


def _seen_here(ssp: Ssp, file: GuardedFile) -> FileVersion:
    """Return the version with the time that the file has on this machine, if its content is that of the version."""
    if file.version.is_current(file.path):
        return file.version
    try:
        found = take_file_version(file.version.name, file.path)
    except StreamSystemError:
        raise _changed(ssp, file.path) from None
    if found.digest != file.version.digest:
        raise _changed(ssp, file.path)
    return found


def _changed(ssp: Ssp, path: Path) -> SideInputChanged:
    return SideInputChanged(
        f"side input {ssp.stream}: {path} has changed while the run was reading it; once two looks have found the same "
        "content, all processors start again with the new version"
    )
