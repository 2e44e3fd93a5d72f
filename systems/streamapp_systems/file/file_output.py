"""Outputs as folders of part files: staged, then published by a rename, so that a reader sees whole ones only.

The part files that a commit made are in its checkpoint; publishing follows the commit and may be repeated after a
crash at any point, so each appears exactly once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pyarrow as pa

from streamapp_systems.file.column_folders import split_by_folders
from streamapp_systems.file.output_folder import STAGING, part_name, sync_folder
from streamapp_systems.file.part_writer import PartWriter
from streamapp_systems.file.partition_files import part_ending
from streamapp_systems.protocols import StagedPart, StreamDescriptor, StreamSystemError

MAXIMUM_OPEN_PARTS = 64
"""Part files that are written side by side; where rows go to more folders, the oldest part ends for another."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a part: its stream, and its folder in the stream's (empty: that itself)."""

    stream: str
    folder: str


class FileOutput:
    """Writes the part files of one writer. `writer` is text for a file name that no other writer, past or present, has.

    Folders are the streams' addresses; see `claim_output`. Used by one thread.
    """

    def __init__(self, root: Path, streams: Sequence[StreamDescriptor], writer: str) -> None:
        self.publish_seconds = 0.0
        self._root = root
        self._streams = {stream.name: stream for stream in streams}
        self._writer = writer
        self._sequence = count()
        self._open: dict[_Place, tuple[StagedPart, PartWriter]] = {}
        self._finished: list[StagedPart] = []

    def write(self, stream: str, rows: pa.Table) -> None:
        """Add rows to the open part files of this stream: one, or one for each of their folders.

        Raises:
            StreamSystemError: the rows have other columns than those before, a type has no form in this format, or the
                disk is full.
        """
        if not rows.num_rows:
            return
        columns = self._stream(stream).folder_columns
        try:
            for folder, some in split_by_folders(rows, columns) if columns else [("", rows)]:
                self._part(_Place(stream, folder), some.schema).append(some)
        except (OSError, pa.ArrowException) as error:
            raise self._unwritable(stream, error) from error

    def stage(self) -> tuple[StagedPart, ...]:
        """Finish the open part files, as `StagedOutput.stage` says.

        Raises:
            StreamSystemError: one can't be finished.
        """
        for place in list(self._open):
            try:
                self._finish(place)
            except (OSError, pa.ArrowException) as error:
                raise self._unwritable(place.stream, error) from error
        for stream, staged_in in {(names.stream, (self._root / names.staged).parent) for names in self._finished}:
            try:
                sync_folder(staged_in)
            except OSError as error:
                raise self._unwritable(stream, error) from error
        staged, self._finished = tuple(self._finished), []
        return staged

    def publish(self, parts: Iterable[StagedPart]) -> None:
        """Rename staged part files to their final names; those that were published earlier are left alone.

        Raises:
            StreamSystemError: one is neither staged nor published.
        """
        folders: set[Path] = set()
        for part in parts:
            staged, final = self._root / part.staged, self._root / part.final
            try:
                final.parent.mkdir(parents=True, exist_ok=True)
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
                stream = staged.parent.parent
                folders |= {staged.parent, *(folder for folder in final.parents if folder.is_relative_to(stream))}
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

    def _part(self, place: _Place, schema: pa.Schema) -> PartWriter:
        if place not in self._open:
            if len(self._open) == MAXIMUM_OPEN_PARTS:
                self._finish(next(iter(self._open)))
            self._open[place] = self._create(place, schema)
        part = self._open[place][1]
        if part.schema != schema:
            raise StreamSystemError(
                f"output {place.stream}: rows have columns {_names(schema)} after {_names(part.schema)}"
            )
        return part

    def _create(self, place: _Place, schema: pa.Schema) -> tuple[StagedPart, PartWriter]:
        descriptor = self._stream(place.stream)
        name, address = part_name(self._writer, next(self._sequence), part_ending(descriptor)), descriptor.address
        final = f"{address}/{place.folder}/{name}" if place.folder else f"{address}/{name}"
        names = StagedPart(stream=place.stream, staged=f"{address}/{STAGING}/{name}", final=final)
        path = self._root / names.staged
        path.parent.mkdir(parents=True, exist_ok=True)
        return names, PartWriter(path, schema, descriptor)

    def _finish(self, place: _Place) -> None:
        names, part = self._open[place]
        part.finish()
        del self._open[place]
        self._finished.append(names)

    def _stream(self, name: str) -> StreamDescriptor:
        if name not in self._streams:
            raise StreamSystemError(f"stream {name} is none of this output's: {', '.join(sorted(self._streams))}")
        return self._streams[name]


def _names(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
