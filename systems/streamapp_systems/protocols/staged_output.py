"""Writing to files: part files that are staged first and visible only when published."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from streamapp_core.spec.systems import SystemKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PartOwner:
    """The writer of parts: its app, and text for a file name that no other writer of it has, past or present.

    `app` is what distinguishes it from other apps that write to the same system: `StreamApp.name_prefix`. `opened` is
    the time in milliseconds: who has forgotten what writers there were has later ones.
    """

    app: str
    writer: str
    opened: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedPart:
    """A finished part file that waits for its publication: paths relative to the system's folder.

    `final` is the path it gets, that of the table it is added to, or that of the folder, with / at its end, in which it
    becomes a part of a file.
    """

    stream: str
    staged: str
    final: str


@dataclass(frozen=True, slots=True)
class OutputPlace:
    """The place of parts: the kind of their system, of files or tables, and its folder, relative to the app's."""

    kind: SystemKind
    folder: str


class StagedOutput(Protocol):
    """Writes rows as part files: staged first, visible only when published.

    `publish_seconds` is how long parts should wait for others before they are published; 0: not at all. Until then the
    checkpoints list them.
    """

    publish_seconds: float

    def write(self, stream: str, rows: pa.Table) -> None:
        """Add rows to the part file of this stream that is being written."""
        ...

    def stage(self) -> tuple[StagedPart, ...]:
        """Finish the open part files, durably, under names no reader takes for results."""
        ...

    def full(self, parts: Sequence[StagedPart]) -> Sequence[StagedPart]:
        """Return those of the parts staged here and not yet published that need not wait for others any more."""
        ...

    def publish(self, parts: Iterable[StagedPart]) -> None:
        """Make staged parts visible, once each: those that were published earlier, by whomever, are left alone."""
        ...

    def close(self) -> None:
        """Drop what was not staged and release every handle."""
        ...
