"""The files of a stream: its address resolved to one file per partition, in natural name order."""

import glob
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file.column_folders import FolderColumns
from streamapp_systems.file.compressed_files import COMPRESSIONS
from streamapp_systems.file.csv_format import CsvFormat
from streamapp_systems.file.file_chunks import FileFormat
from streamapp_systems.file.json_format import JsonFormat
from streamapp_systems.file.parquet_format import ParquetFormat
from streamapp_systems.file.zoned_files import ZonedFiles
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError

ENDINGS: Mapping[StreamFormat, tuple[str, ...]] = {
    StreamFormat.CSV: (".csv",),
    StreamFormat.JSON: (".json", ".ndjson", ".jsonl"),
    StreamFormat.PARQUET: (".parquet",),
}
"""The endings of the names of files that a folder's stream is made of; the first is what is written."""


def partition_files(root: Path, stream: StreamDescriptor) -> tuple[Path, ...]:
    """List the files of a stream, one per partition: part-2 comes before part-10. None: it does not exist.

    The address is a path relative to `root`: a file, a folder (its files with an ending of the format) or a pattern
    (`*`, `?`, `[...]`, and `**` for any folders). Files and folders whose names start with `.` or `_` are left out
    of folders and patterns. Where folders are columns, all that is below the folder counts.

    Raises:
        StreamSystemError: there are no files of its format, or the place can't be looked at.
    """
    try:
        return _list_files(root, stream)
    except FileNotFoundError:  # the folder has just gone
        return ()
    except OSError as error:
        raise StreamSystemError(
            f"stream {stream.name}: {root / stream.address} can't be looked at: {error.strerror}. Correct the stream's "
            "`name` or the system's `path`, or let this user read the folder"
        ) from error


def _list_files(root: Path, stream: StreamDescriptor) -> tuple[Path, ...]:
    ends = all_endings(stream)
    place = root / stream.address
    if place.is_file():
        return (place,)
    if place.is_dir() and stream.folder_columns:
        base, names = place, glob.glob("**/*", root_dir=place, recursive=True, include_hidden=True)  # noqa: PTH207 - as below
        names = [name for name in names if name.endswith(ends)]
    elif place.is_dir():
        base, names = place, [path.name for path in place.iterdir() if path.name.endswith(ends)]
    else:
        base, names = root, glob.glob(stream.address, root_dir=root, recursive=True)  # noqa: PTH207 - takes absolute patterns
    return tuple(path for name in shown_names(names, stream) if (path := base / name).is_file())


def shown_names(names: Iterable[str], stream: StreamDescriptor) -> list[str]:
    """Return the names of files that a stream is made of, each once, in natural order, without what is hidden.

    `glob` finds a file several times where several `**` of a pattern can stand for its folders.
    """
    written = PurePosixPath(stream.address).parts

    def hidden(part: str) -> bool:
        return part.startswith((".", "_")) and not (stream.folder_columns and "=" in part)

    shown = {name for name in names if not any(hidden(p) and p not in written for p in PurePosixPath(name).parts)}
    return sorted(shown, key=_natural)


def part_ending(stream: StreamDescriptor) -> str:
    """Return how the names of part files of a stream end, those of Arrow too, which no stream is read from."""
    return ".arrow" if stream.format is StreamFormat.ARROW else endings(stream)[0]


def endings(stream: StreamDescriptor) -> tuple[str, ...]:
    """Return the endings of a stream's files.

    Raises:
        StreamSystemError: there are no files of its format.
    """
    found = ENDINGS.get(stream.format)
    if found is None:
        raise StreamSystemError(f"stream {stream.name}: files are csv, json or parquet, not {stream.format}")
    return found


def all_endings(stream: StreamDescriptor) -> tuple[str, ...]:
    """Return the endings of a stream's files, and those of compressed ones; see `endings`."""
    plain = endings(stream)
    compressions = () if stream.format is StreamFormat.PARQUET else COMPRESSIONS
    return (*plain, *(ending + compression for ending in plain for compression in compressions))


def file_format(stream: StreamDescriptor) -> FileFormat:
    """Return the reader of a stream's files.

    Raises:
        StreamSystemError: there are no files of its format.
    """
    endings(stream)
    files: FileFormat
    match stream.format:
        case StreamFormat.CSV:
            files = CsvFormat(stream.csv)
        case StreamFormat.JSON:
            files = JsonFormat(stream.json)
        case _:
            files = ParquetFormat()
    files = FolderColumns(files, stream.folder_columns) if stream.folder_columns else files
    return files if stream.time_zone == "UTC" else ZonedFiles(files, stream.time_zone)


def _natural(name: str) -> tuple[list[tuple[str, int]], str]:
    parts = re.split(r"(\d+)", name)
    texts_and_numbers = zip(parts[::2], map(int, [*parts[1::2], "0"]), strict=True)
    return list(texts_and_numbers), name
