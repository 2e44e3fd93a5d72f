"""Streams that meet in a join or a group and have different numbers of partitions: what to say, and the repair."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.check_expansion import StreamCount
from streamapp_core.plan.join_groups import Reach
from streamapp_core.plan.join_sides import Side, repair_sides, sides_of
from streamapp_core.plan.partition_counts import PartitionCounts
from streamapp_core.plan.stream_types.stream_partitioning import Hashed
from streamapp_core.plan.stream_types.stream_type import StreamType
from streamapp_core.plan.table_rows import TableRows
from streamapp_core.problems import Problem, ProblemCode

_SHOWN = 8


def check_partitions(
    graph: Graph, counts: PartitionCounts, tables: Mapping[str, TableRows], types: Mapping[str, StreamType]
) -> Iterator[Problem]:
    """Report every join in conflict, with its streams, their counts, and which side to regroup."""
    if not counts.joined.conflicts:
        return
    reach = Reach(counts.walk)
    initial = {name: count.initial for name, count in counts.known.items()}
    for name in counts.joined.conflicts:
        operator = graph.operators[name]
        members = _counted(reach.group(name), initial, counts.joined.given)
        if operator.kind.joins:
            yield _join_problem(
                graph, operator, _sides_to_repair(graph, operator, reach, members, tables), members, counts
            )
        elif isinstance(types[operator.inputs[0]].partitioning, Hashed):  # else its key is the problem
            yield _group_problem(graph, operator, members, counts)


def _join_problem(
    graph: Graph, join: Operator, sides: Sequence[Side], members: Mapping[str, int], counts: PartitionCounts
) -> Problem:
    repair = repair_sides(graph, sides)
    advice = "give all of them one count" if repair is None else repair.text
    return Problem(
        path=join.path("from"),
        code=ProblemCode.JOIN_PARTITION_MISMATCH,
        message=f"`{join.name}` joins streams with different numbers of partitions: {_listed(members, counts.known)}; "
        f"rows of one key would be in different tasks and never meet: {advice}",
        repair=repair,
    )


def _group_problem(graph: Graph, operator: Operator, members: Mapping[str, int], counts: PartitionCounts) -> Problem:
    """Report a group whose rows come from streams that are split differently: a key is in two tasks then."""
    side = Side(name=operator.inputs[0], columns=operator.spec.group_columns[:1], reader=operator)
    repair = repair_sides(graph, [side])
    advice = "give all of them one count" if repair is None else repair.text
    return Problem(
        path=operator.path("from"),
        code=ProblemCode.GROUP_PARTITION_MISMATCH,
        message=f"the rows of `{operator.name}` come from streams with different numbers of partitions: "
        f"{_listed(members, counts.known)}; rows of one key would be in different tasks, and each would emit a result "
        f"of its own: {advice}",
        repair=repair,
    )


def _counted(streams: Iterable[str], *counts: Mapping[str, int]) -> Mapping[str, int]:
    return {name: found[name] for name in sorted(streams) for found in counts if name in found}


def _sides_to_repair(
    graph: Graph, join: Operator, reach: Reach, counts: Mapping[str, int], tables: Mapping[str, TableRows]
) -> Sequence[Side]:
    """Choose the count that most sides have already, those of the table first, and return the sides that don't."""
    sides = [(side, set(_counted(reach.of(side.name), counts).values())) for side in sides_of(graph, join, tables)]

    def kept(count: int) -> tuple[int, int, int]:
        fitting = [side for side, found in sides if found <= {count}]
        return sum(side.fills is not None for side in fitting), len(fitting), count

    best = max(set(counts.values()), key=kept)
    return [side for side, found in sides if not found <= {best}]


def _listed(counts: Mapping[str, int], known: Mapping[str, StreamCount]) -> str:
    parts = []
    for name, count in list(counts.items())[:_SHOWN]:
        note = ""
        if name not in known:
            note = " (from another join)"
        elif known[name].partitions != count:
            note = f" (when this run began; {known[name].partitions} now)"
        parts.append(f"`{name}` has {count}{note}")
    more = len(counts) - len(parts)
    return ", ".join(parts) + (f" and {more} more" if more else "")
