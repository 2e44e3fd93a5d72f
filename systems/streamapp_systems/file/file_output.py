"""Outputs as folders of part files: staged, then published by a rename, so that a reader sees whole ones only.

The part files that a commit made are in its checkpoint; publishing follows the commit and may be repeated after a
crash at any point, so each appears exactly once.
"""

from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path

import pyarrow as pa

from streamapp_systems.file.output_folder import STAGING, part_name, sync_folder
from streamapp_systems.file.part_writer import PartWriter
from streamapp_systems.file.partition_files import endings
from streamapp_systems.protocols import StagedPart, StreamDescriptor, StreamSystemError


class FileOutput:
    """Writes the part files of one writer. `writer` is text for a file name that no other writer, past or present, has.

    Folders are the streams' addresses; see `claim_output`. Used by one thread.
    """

    def __init__(self, root: Path, streams: Sequence[StreamDescriptor], writer: str) -> None:
        self._root = root
        self._streams = {stream.name: stream for stream in streams}
        self._writer = writer
        self._sequence = count()
        self._open: dict[str, tuple[StagedPart, PartWriter]] = {}

    def write(self, stream: str, rows: pa.Table) -> None:
        """Add rows to the open part file of this stream.

        Raises:
            StreamSystemError: the rows have other columns than those before, a type has no form in this format, or the
                disk is full.
        """
        if not rows.num_rows:
            return
        try:
            part = self._part(stream, rows.schema)
            part.append(rows)
        except (OSError, pa.ArrowException) as error:
            raise self._unwritable(stream, error) from error

    def stage(self) -> tuple[StagedPart, ...]:
        """Finish the open part files, as `StagedOutput.stage` says.

        Raises:
            StreamSystemError: one can't be finished.
        """
        staged: list[StagedPart] = []
        for stream in list(self._open):
            names, part = self._open[stream]
            try:
                part.finish()
                sync_folder((self._root / names.staged).parent)
            except (OSError, pa.ArrowException) as error:
                raise self._unwritable(stream, error) from error
            del self._open[stream]
            staged.append(names)
        return tuple(staged)

    def publish(self, parts: Iterable[StagedPart]) -> None:
        """Rename staged part files to their final names; those that were published earlier are left alone.

        Raises:
            StreamSystemError: one is neither staged nor published.
        """
        folders: set[Path] = set()
        for part in parts:
            staged, final = self._root / part.staged, self._root / part.final
            try:
                staged.replace(final)
            except FileNotFoundError as error:
                if not final.exists():
                    raise StreamSystemError(
                        f"output {part.stream}: {staged} is gone and was not published as {final}: someone removed it. "
                        "Its rows are lost; begin a new run to write them again"
                    ) from error
            except OSError as error:
                raise StreamSystemError(f"output {part.stream}: {staged} can't become {final}: {error}") from error
            else:
                folders |= {staged.parent, final.parent}
        for folder in folders:
            sync_folder(folder)

    def close(self) -> None:
        """Drop the open part files."""
        for _, part in self._open.values():
            part.drop()
        self._open.clear()

    def _unwritable(self, stream: str, error: Exception) -> StreamSystemError:
        folder = self._root / self._streams[stream].address
        return StreamSystemError(f"output {stream} can't be written in {folder}: {error}")

    def _part(self, stream: str, schema: pa.Schema) -> PartWriter:
        if stream not in self._open:
            self._open[stream] = self._create(stream, schema)
        part = self._open[stream][1]
        if part.schema != schema:
            raise StreamSystemError(f"output {stream}: rows have columns {_names(schema)} after {_names(part.schema)}")
        return part

    def _create(self, stream: str, schema: pa.Schema) -> tuple[StagedPart, PartWriter]:
        descriptor = self._streams.get(stream)
        if descriptor is None:
            raise StreamSystemError(f"stream {stream} is none of this output's: {', '.join(sorted(self._streams))}")
        name = part_name(self._writer, next(self._sequence), endings(descriptor)[0])
        names = StagedPart(
            stream=stream, staged=f"{descriptor.address}/{STAGING}/{name}", final=f"{descriptor.address}/{name}"
        )
        path = self._root / names.staged
        path.parent.mkdir(parents=True, exist_ok=True)
        return names, PartWriter(path, schema, descriptor)


def _names(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
