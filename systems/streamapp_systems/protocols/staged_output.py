"""Writing to files: part files that are staged first and visible only when published."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPart:
    """A finished part file that waits for its publication: paths relative to the system's folder."""

    stream: str
    staged: str
    final: str


class StagedOutput(Protocol):
    """Writes rows as part files: staged first, visible only when published."""

    def write(self, stream: str, rows: pa.Table) -> None:
        """Add rows to the part file of this stream that is being written."""
        ...

    def stage(self) -> tuple[StagedPart, ...]:
        """Finish the open part files, durably, under names no reader takes for results."""
        ...

    def publish(self, parts: Iterable[StagedPart]) -> None:
        """Rename staged part files to their final names; those that already have them are left alone."""
        ...

    def close(self) -> None:
        """Drop what was not staged and release every handle."""
        ...
