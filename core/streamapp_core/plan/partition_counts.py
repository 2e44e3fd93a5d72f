"""The number of partitions of every stream, and the rule that set it (docs/planner.md)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.check_expansion import ExpansionChecker, StreamCount
from streamapp_core.plan.join_group_counts import JoinedCounts, spread_counts
from streamapp_core.plan.join_groups import JoinWalk, walk_joins
from streamapp_core.plan.plan import CountRule
from streamapp_core.plan.supported_features import FILE_FORMATS
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import SystemKind

LARGEST_MAXIMUM = 256
"""No intermediate stream gets more partitions than this by rule `maximum`."""
MOST_PARTITIONS = 10_000
"""An app has no more partitions than this in all its streams."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCounts:
    """Counts of all streams that have one (`counts`), why (`rules`), and how joins tie them together.

    `known` are the counts that do not depend on joins: of external streams, and of intermediate streams that the run
    has created already.
    """

    counts: Mapping[str, StreamCount]
    rules: Mapping[str, CountRule]
    known: Mapping[str, StreamCount]
    walk: JoinWalk
    joined: JoinedCounts


def count_partitions(
    graph: Graph,
    external: Mapping[str, StreamCount],
    kept: Mapping[str, StreamCount],
    broadcast: frozenset[str],
) -> PartitionCounts:
    """Count the partitions of all streams, given those of external and of existing intermediate streams.

    `broadcast` is what is in every task (`graph.broadcast_names`).
    """
    walk = walk_joins(graph, broadcast)
    known = {name: count for name, count in external.items() if not graph.spec.streams[name].broadcast}
    known |= {name: count for name, count in kept.items() if _regroups(graph, name)}
    unknown = frozenset(o.name for o in graph.of_kinds(OperatorKind.PARTITION_BY) if o.name not in kept)
    joined = spread_counts(walk, {name: count.initial for name, count in known.items()}, unknown)
    counts = {**external, **kept}
    rules = dict.fromkeys(external, CountRule.GIVEN) | dict.fromkeys(kept, CountRule.INITIAL)
    rest = graph.spec.job.intermediate_stream_partitions
    rule = CountRule.MAXIMUM if rest is None else CountRule.CONFIGURED
    partitions = _maximum(graph, external) if rest is None else rest
    for name in unknown:
        rules[name] = CountRule.JOINED if name in joined.given else rule
        count = joined.given.get(name, partitions)
        counts[name] = StreamCount(partitions=count, initial=count)
    for operator in graph.of_kinds(OperatorKind.BROADCAST):
        rules[operator.name] = CountRule.BROADCAST
        counts.setdefault(operator.name, StreamCount(partitions=1, initial=1))
    return PartitionCounts(counts=counts, rules=rules, known=known, walk=walk, joined=joined)


def count_external(
    graph: Graph, streams: Mapping[str, int], expansions: ExpansionChecker
) -> tuple[Mapping[str, StreamCount], list[Problem]]:
    """Return the counts of the declared streams that are used, given those in the systems (`streams`)."""
    counts: dict[str, StreamCount] = {}
    problems: list[Problem] = []
    for name, stream in graph.spec.streams.items():
        read = name in graph.readers or name in graph.side_inputs
        if name in graph.opaque or not (read or name in graph.senders):
            continue
        partitions = streams.get(name, 0) or _created_partitions(graph, stream, read=read)
        if partitions < 1:
            problems += _not_found(graph, name, stream)
        elif read:
            counts[name] = expansions.count(name, partitions, stream)
        else:
            counts[name] = StreamCount(partitions=partitions, initial=partitions)
    return counts, problems + expansions.problems


def check_total(counts: Mapping[str, StreamCount]) -> Iterator[Problem]:
    """Refuse an app with more partitions than can be run."""
    total = sum(count.partitions for count in counts.values())
    if total > MOST_PARTITIONS:
        largest = sorted(counts, key=lambda name: (-counts[name].partitions, name))[:3]
        listed = ", ".join(f"`{name}` {counts[name].partitions:,}" for name in largest)
        yield Problem(
            path="spec",
            code=ProblemCode.TOO_MANY_PARTITIONS,
            message=f"the app has {total:,} partitions in all its streams, and at most {MOST_PARTITIONS:,} are "
            f"possible; the largest are {listed}. Split the app, or lower `job.intermediateStreamPartitions`",
        )


def _regroups(graph: Graph, name: str) -> bool:
    return graph.operators[name].kind is OperatorKind.PARTITION_BY


def _maximum(graph: Graph, external: Mapping[str, StreamCount]) -> int:
    """Return the largest count of inputs and outputs; side inputs and broadcast streams have no part in it."""
    counts = (
        count.initial
        for name, count in external.items()
        if (name in graph.readers or name in graph.senders) and not graph.spec.streams[name].broadcast
    )
    return min(max(counts, default=1), LARGEST_MAXIMUM)


def _created_partitions(graph: Graph, stream: StreamSpec, *, read: bool) -> int:
    """Return the partitions that a missing stream gets when the app creates it; 0 if it can't be created."""
    system = graph.spec.systems.get(stream.system)
    if system is None:
        return 0
    if system.kind is SystemKind.FILE:
        return 0 if read else 1
    if system.kind is SystemKind.POSTGRESQL:
        return 1
    if system.kind.grows:
        return stream.partitions or 1
    return stream.partitions or (1 if system.kind is SystemKind.LOG and not stream.control_messages else 0)


def _not_found(graph: Graph, name: str, stream: StreamSpec) -> Iterator[Problem]:
    system = graph.spec.systems.get(stream.system)
    if system is None:  # the unknown system is a problem of its own
        return
    if system.kind is SystemKind.FILE and (stream.format not in FILE_FORMATS or system.url is not None):  # so are these
        return
    if name in graph.senders and name in graph.readers:  # nothing is looked for where an output is read back
        return
    advice = "create it, or give its number of `partitions` and the app creates it"
    if system.kind is SystemKind.FILE:
        advice = "put files there; a folder is a stream with one partition per file"
    elif stream.control_messages:
        advice = "start the app that writes it first, with this name in its `partitionBy.stream`"
    yield Problem(
        path=f"spec.streams.{name}",
        code=ProblemCode.STREAM_NOT_FOUND,
        message=f"`{stream.name or name}` does not exist in system `{stream.system}`: {advice}",
    )
