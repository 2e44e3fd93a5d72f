"""Outputs as folders of part files: staged, then published by a rename, so that a reader sees whole ones only.

A store of objects has no rename: there they are copied to their final keys, if nothing is there yet.

The part files that a commit made are in its checkpoint; publishing follows the commit and may be repeated after a
crash at any point, so each appears exactly once. Where outputs are rolled, those of several commits become one file.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pyarrow as pa

from streamapp_systems.file.column_folders import split_by_folders
from streamapp_systems.file.joined_parts import joined_parts, publish_joined, waits_in_folder
from streamapp_systems.file.output_folder import STAGING, part_name, publish_file, sync_folder
from streamapp_systems.file.part_writer import PartWriter
from streamapp_systems.file.partition_files import part_ending
from streamapp_systems.objects import FilesMade, ObjectPath, Place
from streamapp_systems.protocols import StagedPart, StreamDescriptor, StreamSystemError

MAXIMUM_OPEN_PARTS = 64
"""Part files that are written side by side; where rows go to more folders, the oldest part ends for another."""
MOST_WAITING = 1_000
"""Parts of a writer that wait for others: each checkpoint lists them, and records of Kafka have a megabyte."""
MOST_MADE = 512 << 20
"""Bytes of parts for a store that are on this machine at once: a pod has a gigabyte for them. The largest one ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolling:
    """When the parts of several commits become one file: after so many seconds, or with about so many bytes."""

    seconds: float
    size: int


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a part: its stream, and its folder in the stream's (empty: that itself)."""

    stream: str
    folder: str


class FileOutput:
    """Writes the part files of one writer. `writer` is text for a file name that no other writer, past or present, has.

    Folders are the streams' addresses; see `claim_output`. Used by one thread.
    """

    def __init__(
        self, root: Place, streams: Sequence[StreamDescriptor], writer: str, rolling: Rolling | None = None
    ) -> None:
        """Write parts that are published one by one, or are joined if there is a `rolling`."""
        self.publish_seconds = 0.0 if rolling is None else rolling.seconds
        self._rolling = rolling
        self._root = root
        self._made = FilesMade(root)
        self._streams = {stream.name: stream for stream in streams}
        self._waiting: dict[tuple[str, str], pa.Schema] = {}
        """The columns of parts that wait to be joined, by stream and folder."""
        self._sizes: dict[str, int] = {}
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
                self._make_room()
        except (OSError, pa.ArrowException) as error:
            raise self._unwritable(stream, error) from error

    def stage(self) -> tuple[StagedPart, ...]:
        """Finish the open part files, as `StagedOutput.stage` says.

        Raises:
            StreamSystemError: one can't be finished; `Unavailable` if the store does not answer.
        """
        for place in list(self._open):
            try:
                self._finish(place)
            except (OSError, pa.ArrowException) as error:
                raise self._unwritable(place.stream, error) from error
        for stream, staged_in in {(names.stream, (self._root / names.staged).parent) for names in self._finished}:
            try:
                if isinstance(staged_in, Path):
                    sync_folder(staged_in)
            except OSError as error:
                raise self._unwritable(stream, error) from error
        staged, self._finished = tuple(self._finished), []
        return staged

    def full(self, parts: Sequence[StagedPart]) -> Sequence[StagedPart]:
        """See `StagedOutput.full`."""
        if self._rolling is None or len(parts) > MOST_WAITING:
            return parts
        sizes: Counter[tuple[str, str]] = Counter()
        for part in parts:
            sizes[part.stream, part.final] += self._sizes[part.staged]
        return [part for part in parts if sizes[part.stream, part.final] >= self._rolling.size]

    def publish(self, parts: Iterable[StagedPart]) -> None:
        """Rename staged parts to their final names, or join them; what was published earlier is left alone.

        Of a writer and a folder, the parts that wait to be joined are all given at once.

        Raises:
            StreamSystemError: one is neither staged nor published.
        """
        all_parts = list(parts)
        waiting = [part for part in all_parts if waits_in_folder(part)]
        single = [part for part in all_parts if not waits_in_folder(part)]
        for joined in joined_parts(waiting):
            if len(joined.staged) == 1:
                single.append(StagedPart(stream=joined.stream, staged=joined.staged[0], final=joined.final))
            else:
                publish_joined(self._root, joined)
        self._rename(single)
        for part in waiting:
            self._waiting.pop((part.stream, part.final), None)
            self._sizes.pop(part.staged, None)

    def _rename(self, parts: Iterable[StagedPart]) -> None:
        folders: set[Path] = set()
        for part in parts:
            staged, final = self._root / part.staged, self._root / part.final
            try:
                publish_file(staged, final)
            except FileNotFoundError as error:
                if not final.exists():
                    raise StreamSystemError(
                        f"output {part.stream}: {staged} is gone and was not published as {final}: someone removed it. "
                        "Its rows are lost; begin a new run to write them again"
                    ) from error
            except OSError as error:
                raise StreamSystemError(f"output {part.stream}: {staged} can't become {final}: {error}") from error
            if isinstance(staged, Path) and isinstance(final, Path):
                stream = staged.parent.parent
                folders |= {staged.parent, *(folder for folder in final.parents if folder.is_relative_to(stream))}
        for folder in folders:
            sync_folder(folder)

    def close(self) -> None:
        """Drop the open part files."""
        for _, part in self._open.values():
            part.drop()
        self._open.clear()
        self._made.close()

    def _make_room(self) -> None:
        """End the largest part where a store gets its parts from this machine, which has no room for more."""
        if isinstance(self._root, ObjectPath):
            sizes = {place: part.size for place, (_, part) in self._open.items()}
            if sum(sizes.values()) > MOST_MADE:
                self._finish(max(sizes, key=sizes.__getitem__))

    def _unwritable(self, stream: str, error: Exception) -> StreamSystemError:
        folder = self._root / self._streams[stream].address
        return StreamSystemError(f"output {stream} can't be written in {folder}: {error}")

    def _part(self, place: _Place, schema: pa.Schema) -> PartWriter:
        if place not in self._open:
            if len(self._open) == MAXIMUM_OPEN_PARTS:
                self._finish(next(iter(self._open)))
            self._open[place] = self._create(place, schema)
        part = self._open[place][1]
        _check_same(place.stream, schema, part.schema)
        return part

    def _create(self, place: _Place, schema: pa.Schema) -> tuple[StagedPart, PartWriter]:
        descriptor = self._stream(place.stream)
        name, address = part_name(self._writer, next(self._sequence), part_ending(descriptor)), descriptor.address
        folder = f"{address}/{place.folder}/" if place.folder else f"{address}/"
        final = f"{folder}{name}" if self._rolling is None else folder
        names = StagedPart(stream=place.stream, staged=f"{address}/{STAGING}/{name}", final=final)
        if self._rolling is not None:
            if (place.stream, final) in self._waiting:
                _check_same(place.stream, schema, self._waiting[place.stream, final])
                descriptor = replace(descriptor, csv=descriptor.csv.model_copy(update={"header": False}))
            self._waiting[place.stream, final] = schema
        path = self._made.folder / names.staged
        path.parent.mkdir(parents=True, exist_ok=True)
        return names, PartWriter(path, schema, descriptor)

    def _finish(self, place: _Place) -> None:
        names, part = self._open[place]
        part.finish()
        del self._open[place]
        self._finished.append(names)
        if self._rolling is not None:
            self._sizes[names.staged] = (self._made.folder / names.staged).stat().st_size
        self._made.deliver(names.staged)

    def _stream(self, name: str) -> StreamDescriptor:
        if name not in self._streams:
            raise StreamSystemError(f"stream {name} is none of this output's: {', '.join(sorted(self._streams))}")
        return self._streams[name]


def _check_same(stream: str, schema: pa.Schema, before: pa.Schema) -> None:
    if before != schema:
        raise StreamSystemError(f"output {stream}: rows have columns {_names(schema)} after {_names(before)}")


def _names(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
