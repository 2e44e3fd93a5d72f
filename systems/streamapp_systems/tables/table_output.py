"""Outputs that are tables: rows are staged as parts, and a commit of the table adds those of many commits of the app.

Parts stay in the app's checkpoints until the table has them. Who adds parts writes into the same version up to which
number he has those of their writer, and adds only what lies above: a part is added once, whoever dies or comes late.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import PurePosixPath

import pyarrow as pa

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.file import FileOutput, remove_parts
from streamapp_systems.objects import FilesMade, ObjectPath, Place
from streamapp_systems.protocols import PartOwner, StagedPart, StreamDescriptor, StreamSystemError
from streamapp_systems.tables.output_table import AppendedVersion, OpenAppended, TableFile
from streamapp_systems.tables.table_files import TableFilesWriter, remove_files

_PART = re.compile(r"part-(.+)-(\d+)\.arrow")


def staging_folder(app: str, stream: str) -> str:
    """Return the folder in which an app stages the rows of a stream, relative to that of the tables."""
    return f".streamapp/{app}/{stream}"


class TableOutput:
    """Writes the rows of one writer to the tables of a system. Used by one thread; see `StagedOutput`."""

    def __init__(
        self,
        root: Place,
        open_table: OpenAppended,
        streams: Sequence[StreamDescriptor],
        owner: PartOwner,
        publish_seconds: float,
    ) -> None:
        """Stage below `root` for these streams; their addresses are those of tables, their schemas are known."""
        self.publish_seconds = publish_seconds
        self._root = root
        self._open_table = open_table
        self._addresses = {stream.name: stream.address for stream in streams}
        self._schemas = {stream.name: arrow_schema(stream.schema) for stream in streams if stream.schema is not None}
        staged = [
            replace(
                stream, format=StreamFormat.ARROW, folder_columns=(), address=staging_folder(owner.app, stream.name)
            )
            for stream in streams
        ]
        writer = f"{owner.writer}-{owner.opened}"
        self._made = FilesMade(root)
        self._files = FileOutput(self._made.folder, staged, writer)
        self._names = (f"part-{writer}-{number}" for number in count())

    def write(self, stream: str, rows: pa.Table) -> None:
        """See `StagedOutput.write`.

        Raises:
            StreamSystemError: the rows have other columns than the stream, or the disk is full.
        """
        schema = self._schemas[stream]
        try:
            fitting = rows.select(schema.names).cast(schema)
        except (KeyError, ValueError, pa.ArrowException) as error:
            raise StreamSystemError(f"output {stream}: rows don't have the columns of the stream: {error}") from error
        self._files.write(stream, fitting)

    def stage(self) -> tuple[StagedPart, ...]:
        """See `StagedOutput.stage`.

        Raises:
            StreamSystemError: a part can't be finished; `Unavailable` if the store does not answer.
        """
        staged = self._files.stage()
        for part in staged:
            self._made.deliver(part.staged)
        return tuple(replace(part, final=self._addresses[part.stream]) for part in staged)

    def full(self, parts: Sequence[StagedPart]) -> Sequence[StagedPart]:  # noqa: ARG002
        """See `StagedOutput.full`: all wait for the next version of their tables."""
        return ()

    def publish(self, parts: Iterable[StagedPart]) -> None:
        """Add parts to their tables, those that are not there yet, in one version of each; then remove them.

        Raises:
            StreamSystemError: a table is gone, has another layout or can't be written, or a part was lost.
        """
        by_table: dict[tuple[str, str], list[StagedPart]] = defaultdict(list)
        for part in parts:
            by_table[part.stream, part.final].append(part)
        for (stream, address), some in by_table.items():
            self._add(stream, address, some)

    def close(self) -> None:
        """See `StagedOutput.close`."""
        self._files.close()
        self._made.close()

    def _add(self, stream: str, address: str, parts: Sequence[StagedPart]) -> None:
        joined: object = None
        files: tuple[TableFile, ...] = ()
        while True:
            table = self._load(stream, address)
            missing = tuple(part for part in parts if not _has(table, part))
            if (missing, table.layout) != joined:
                remove_files(table.folder, files)
                joined, files = (missing, table.layout), ()
            if not missing:
                table.sync()
                break
            try:
                files = files or self._join(stream, address, table, missing)
                if self._all_staged(missing) and table.append(files, _marks(missing)):
                    break
            except FileNotFoundError:
                joined = None
            self._check_not_lost(stream, address, missing)
        remove_parts(self._root / part.staged for part in parts)

    def _load(self, stream: str, address: str) -> AppendedVersion:
        table = self._open_table(address).load()
        if table is None:
            raise StreamSystemError(
                f"output {stream}: table {address} of {self._root} is gone: put it back, or begin a new run to write "
                "its rows again"
            )
        return table

    def _all_staged(self, parts: Iterable[StagedPart]) -> bool:
        return all((self._root / part.staged).exists() for part in parts)

    def _check_not_lost(self, stream: str, address: str, parts: Sequence[StagedPart]) -> None:
        """Check that parts that are gone were added by another process: an earlier owner, or the next one.

        Raises:
            StreamSystemError: they were not.
        """
        gone = [part for part in parts if not self._all_staged([part])]
        table = self._load(stream, address)
        lost = [part for part in gone if not _has(table, part)]
        if lost:
            raise StreamSystemError(
                f"output {stream}: {self._root / lost[0].staged} is gone and was not added to table {address}: someone "
                "removed it. Its rows are lost; begin a new run to write them again"
            )

    def _join(
        self, stream: str, address: str, table: AppendedVersion, parts: Sequence[StagedPart]
    ) -> tuple[TableFile, ...]:
        """Write the rows of some parts into files for a table.

        Raises:
            FileNotFoundError: a part is gone.
            StreamSystemError: the table has changed, or can't be written.
        """
        paths = [self._root / part.staged for part in parts]

        def batches() -> Iterator[pa.RecordBatch]:
            for path in paths:
                with _opened(path) as file, pa.ipc.open_stream(file) as reader:
                    reasons = list(table.staged_mismatches(reader.schema))
                    if reasons:
                        raise StreamSystemError(
                            f"output {stream}: rows can't be added to table {address} any more: {'; '.join(reasons)}"
                        )
                    yield from reader

        try:
            return TableFilesWriter(table, self._names).write(batches())
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException) as error:
            raise StreamSystemError(f"output {stream} can't be written in {table.folder}: {error}") from error


def _mark(part: StagedPart) -> tuple[str, int]:
    """Return the name of the mark that a table has of a part's writer, and the part's number."""
    path = PurePosixPath(part.staged)
    found = _PART.fullmatch(path.name)
    if found is None:
        raise StreamSystemError(f"output {part.stream}: {part.staged} is no name of a part that this release staged")
    return f"{path.parent.parent}/{found[1]}", int(found[2])


def _has(table: AppendedVersion, part: StagedPart) -> bool:
    name, number = _mark(part)
    mark = table.mark(name)
    return mark is not None and number <= mark


def _marks(parts: Iterable[StagedPart]) -> dict[str, int]:
    marks: dict[str, int] = {}
    for name, number in map(_mark, parts):
        marks[name] = max(number, marks.get(name, number))
    return marks


def _opened(path: Place) -> pa.NativeFile:
    return pa.PythonFile(path.open("rb"), "r") if isinstance(path, ObjectPath) else pa.memory_map(str(path))
