"""The arguments and results of groupers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from streamapp_core.problems import ProblemCode
from streamapp_core.ssp import Ssp


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedStream:
    """A stream to share out: its number of partitions now, and whether every task reads all of them."""

    system: str
    partitions: int
    broadcast: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamHistory:
    """The partitions a stream had when the run id first saw it, and in the previous job model."""

    initial: int
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousGrouping:
    """The tasks and streams of the previous job model of the run.

    `changelog` holds every task that the run id ever had, also those that `tasks` does not have any more.
    """

    tasks: Mapping[str, Iterable[Ssp]] = field(default_factory=dict)
    streams: Mapping[str, StreamHistory] = field(default_factory=dict)
    changelog: Mapping[str, int] = field(default_factory=dict)


NO_HISTORY = PreviousGrouping()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """The SSPs and the changelog partition of each task there is now.

    SSPs are in natural order of systems and streams, then by partition; those of broadcast streams come last.
    """

    tasks: Mapping[str, tuple[Ssp, ...]]
    changelog: Mapping[str, int]


class ExpansionError(ValueError):
    """A stream has changed its number of partitions in a way that a running app can't follow."""

    def __init__(self, code: ProblemCode, stream: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.stream = stream
