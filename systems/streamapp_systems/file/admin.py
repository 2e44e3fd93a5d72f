"""Metadata of a folder of files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_systems.file.counted_files import count_records
from streamapp_systems.file.file_versions import relative_name
from streamapp_systems.file.partition_files import partition_files
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError


class FileAdmin:
    """The files there are and how many records they hold; see `partition_files` for addresses."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def partitions(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, int]:
        """Count the files of these streams; a stream without any file does not exist."""
        counts = {stream.name: len(partition_files(self._root, stream)) for stream in streams}
        return {name: count for name, count in counts.items() if count}

    def names(self, stream: StreamDescriptor) -> list[str]:
        """Name the files of a stream in the order of its partitions, relative to the system's folder if below it."""
        return [relative_name(self._root, path) for path in partition_files(self._root, stream)]

    def create(self, counts: Mapping[StreamDescriptor, int]) -> None:
        """Check that these streams have these many files: StreamApp creates none.

        Raises:
            StreamSystemError: a stream does not exist or has another number of files.
        """
        for stream, count in counts.items():
            found = len(partition_files(self._root, stream))
            if found != count:
                raise StreamSystemError(
                    f"stream {stream.name} needs {count} files at {self._root / stream.address}, there are {found}: "
                    "put them there, or correct the stream's name or partitions"
                )

    def start_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Return 0: files are read from their beginning."""
        counts = self.partitions(streams)
        return {
            Ssp(stream.system, stream.name, partition): 0
            for stream in streams
            for partition in range(counts.get(stream.name, 0))
        }

    def end_offsets(self, streams: Sequence[StreamDescriptor]) -> Mapping[Ssp, int]:
        """Count the records of each file, exactly; every file is read through once.

        Raises:
            StreamSystemError: a file can't be read.
        """
        ends: dict[Ssp, int] = {}
        for stream in streams:
            for partition, path in enumerate(partition_files(self._root, stream)):
                ssp = Ssp(stream.system, stream.name, partition)
                try:
                    ends[ssp] = count_records(stream, path)
                except (OSError, ValueError, pa.ArrowException) as error:
                    raise StreamSystemError(f"{ssp}: {path} can't be read as {stream.format}: {error}") from error
        return ends

    def identities(self, streams: Sequence[StreamDescriptor]) -> Mapping[str, str]:  # noqa: ARG002 - files have none
        """Return none: a file is told from another one by its version (`take_file_versions`)."""
        return {}

    def close(self) -> None:
        """Nothing is held open."""
