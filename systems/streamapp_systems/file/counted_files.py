"""The records of files, counted once the files are known to be what their stream says."""

from collections.abc import Mapping
from pathlib import Path

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.file.compressed_files import COMPRESSIONS, open_bytes
from streamapp_systems.file.partition_files import file_format
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BEGINNINGS: Mapping[bytes, str] = {
    _GZIP: "is compressed by gzip, and its name does not end in `.gz`: rename it",
    _ZSTD: "is compressed by zstd, and its name does not end in `.zst`: rename it",
    b"PK\x03\x04": "is a ZIP archive (or a workbook of Excel), which is not read: write its rows as text",
    b"PAR1": "is a Parquet file: set the stream's `format: parquet`, and name the file so",
    b"\xff\xfe": "is text in UTF-16: write it in UTF-8, as `iconv -f UTF-16 -t UTF-8` does",
    b"\xfe\xff": "is text in UTF-16: write it in UTF-8, as `iconv -f UTF-16 -t UTF-8` does",
}
"""What files of text never begin with, and what it says of a file."""


def count_records(stream: StreamDescriptor, path: Place) -> int:
    """Count the records of a file of a stream.

    A file of CSV without records is read, too: a header that is none of the stream's columns may be its only record.

    Raises:
        StreamSystemError: the file is no text where it should be, or its header is that of other columns.
        OSError, ValueError, pa.ArrowException: it can't be read.
    """
    if stream.format is not StreamFormat.PARQUET and isinstance(path, Path):
        _check_text(path)
    reader = file_format(stream)
    records = reader.count(path)
    if records == 0 and stream.format is StreamFormat.CSV and stream.schema is not None:
        next(reader.read(path, arrow_schema(stream.schema), 0), None)
    return records


def _check_text(path: Path) -> None:
    with open_bytes(path) as file:
        first = file.read(4)
    for beginning, what in _BEGINNINGS.items():
        if first.startswith(beginning):
            raise StreamSystemError(f"{path}{' holds what' if path.suffix in COMPRESSIONS else ''} {what}")
