"""Files whose texts of timestamps may name no time zone: these are in that of the app."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from streamapp_systems.arrow_types import in_time_zone
from streamapp_systems.file.file_chunks import Chunk, FileFormat, UnreadableRow
from streamapp_systems.objects import Place


@dataclass(frozen=True, slots=True)
class ZonedFiles:
    """The reader of files in a time zone; see `FileFormat`."""

    files: FileFormat
    time_zone: str

    def count(self, path: Place) -> int:
        """See `FileFormat.count`."""
        return self.files.count(path)

    def read(self, path: Place, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """See `FileFormat.read`."""
        for chunk in self.files.read(path, in_time_zone(schema, self.time_zone), start):
            yield chunk if isinstance(chunk, UnreadableRow) else chunk.cast(schema)
