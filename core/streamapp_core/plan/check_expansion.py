"""The growth of streams: which counts the run goes by, and which expansions it can follow (docs/expansion.md)."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.previous_run import PreviousRun
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.tasks.expansion import CheckedAlgorithm, ExpansionRefusedError

NEW_RUN = "set a new `spec.runId` to start from nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCount:
    """The partitions of a stream: now, and when the run first saw it."""

    partitions: int
    initial: int


def kept_counts(graph: Graph, previous: PreviousRun | None) -> Mapping[str, StreamCount]:
    """Return the counts that intermediate streams were created with in this run."""
    if previous is None:
        return {}
    return {
        name: StreamCount(partitions=known.partitions, initial=known.initial_partitions)
        for name, known in previous.streams.items()
        if name in graph.operators and graph.operators[name].kind.makes_intermediate_stream
    }


class ExpansionChecker:
    """The check of how external streams have grown since the previous plan."""

    def __init__(self, previous: PreviousRun | None, algorithm: CheckedAlgorithm | None, *, stateful: bool) -> None:
        self._previous = previous
        self._algorithm = algorithm
        self._stateful = stateful
        self.problems: list[Problem] = []

    def count(self, stream: str, partitions: int, spec: StreamSpec) -> StreamCount:
        """Return the counts of a stream that has `partitions` now; a change that this run can't follow is a problem.

        Then the previous count is used, so that no other problem is reported because of it.
        """
        known = None if self._previous is None else self._previous.streams.get(stream)
        if known is None:
            return StreamCount(partitions=partitions, initial=partitions)
        initial = known.initial_partitions
        if partitions < known.partitions:
            self._add(
                stream,
                ProblemCode.PARTITION_COUNT_SHRUNK,
                f"`{stream}` has {partitions} partitions and had {known.partitions}: the rows of the others are lost; "
                f"set it back to {known.partitions}, or {NEW_RUN}",
            )
            partitions = known.partitions
        elif partitions != known.partitions and spec.control_messages:
            self._add(
                stream,
                ProblemCode.UNSUPPORTED_EXPANSION,
                f"`{stream}` has {partitions} partitions now and had {known.partitions}: the app that writes it knows "
                "these only, and would never end the others; recreate it with "
                f"{known.partitions}, and start a new run of both apps",
            )
            partitions = known.partitions
        elif partitions != known.partitions and self._stateful and not spec.broadcast:
            self._check_growth(stream, partitions, initial)
        return StreamCount(partitions=partitions, initial=initial if self._stateful else partitions)

    def _check_growth(self, stream: str, partitions: int, initial: int) -> None:
        if self._algorithm is None:
            return
        try:
            self._algorithm.initial_partitions(partitions, initial)
        except ExpansionRefusedError as refused:
            self._add(
                stream,
                ProblemCode.UNSUPPORTED_EXPANSION,
                f"`{stream}` has {partitions} partitions now: {refused}, as keys would leave their state; let it "
                f"grow to a count that is accepted, or {NEW_RUN}",
            )

    def _add(self, stream: str, code: ProblemCode, message: str) -> None:
        self.problems.append(Problem(path=f"spec.streams.{stream}", code=code, message=message))
