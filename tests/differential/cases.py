"""A case of the differential test: an app, what it reads, and the circumstances in which it runs. Plain values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = tuple[Any, ...]
"""id, k, g, v, and seconds after `START`."""
DELETION = "deletes"
"""The v of a row of a stream of changes that deletes its key."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Rows that are written at once: up to row `end`, when the stream has so many partitions.

    It is written before start number `start` of the app, or while it runs, after so many `reports` of its progress.
    """

    partitions: int
    end: int
    start: int = 0
    reports: int = 0


@dataclass(frozen=True, kw_only=True)
class Source:
    """An input: its rows in the order in which they are written, and the rule for their partitions.

    `placing` is `hashed` (by murmur2 of column k), `hashed by both` (of g and k), `hashed by id`, `apart` (all rows of
    one k are in one partition, which may be any) or `anywhere`. Of `changes`, each is the newest row of the key that
    rows are hashed by. `last` has a row for each partition that comes when all else is written,
    and is far later than all other rows: without it, the watermark of a stream without an end would stay.
    """

    system: str
    placing: str
    rows: tuple[Row, ...]
    stages: tuple[Stage, ...]
    last: tuple[Row, ...] = ()
    changes: bool = False

    @property
    def partitions(self) -> int:
        """The partitions in the end."""
        return self.stages[-1].partitions


@dataclass(frozen=True, kw_only=True)
class Start:
    """A start of the app that does not go on to the end: stopped after so many reports, or killed at a fail-point.

    It has so many `processors`, and the last start as many as the document says.
    """

    processors: int
    reports: int | None = None
    fail_point: str | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """An app, what it reads, and the starts that come before the last one.

    `keys` names the kind of its keys. `steps` are the operators that were added together, by the name of the one that
    others read; what it reads of others is its first input.
    """

    document: dict[str, Any]
    keys: str
    sources: Mapping[str, Source]
    steps: Mapping[str, tuple[str, ...]]
    starts: tuple[Start, ...]

    @property
    def bounded(self) -> bool:
        """Whether the app ends by itself."""
        return not any(source.last for source in self.sources.values())

    @property
    def idle(self) -> bool:
        """Whether partitions may be idle; if all are, at one time, the watermark stays and results wait for rows."""
        streams = self.document["spec"]["streams"].values()
        return any("idleTimeout" in stream.get("eventTime", {}) for stream in streams)
