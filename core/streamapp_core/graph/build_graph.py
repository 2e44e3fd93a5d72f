"""From the spec to its graph: names resolved, operators in the order of the data, cycles found."""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

from streamapp_core.graph.components import components
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.spec.app import StreamAppSpec
from streamapp_core.spec.operators import OperatorKind, OperatorSpec

K = TypeVar("K")
T = TypeVar("T")


def build_graph(
    spec: StreamAppSpec,
    broken: Collection[str] = (),
    places: Sequence[int] | None = None,
    in_sql: Sequence[bool] | None = None,
    queries: Mapping[str, Collection[str]] | None = None,
) -> Graph:
    """Resolve the names of a spec. The order of everything in the result depends on names, not on that in the spec.

    Args:
        spec: its operators are those of the graph.
        broken: declarations that could not be read (`ParsedApp.broken`).
        places: of each operator, in the list that was written; by default that of the spec.
        in_sql: for each operator whether it is a step of one in SQL.
        queries: what operators in SQL read, by their names.
    """
    count = len(spec.operators)
    names = Counter(operator.name for operator in spec.operators)
    names.update(spec.streams.keys())
    opaque = frozenset(broken).union(name for name, count in names.items() if count > 1)
    declared = [
        _operator(place, operator, _queried(operator, queries or {}), in_sql=step)
        for place, step, operator in zip(places or range(count), in_sql or [False] * count, spec.operators, strict=True)
        if operator.name not in broken
    ]
    declared.sort(key=attrgetter("name"))
    operators, cycles = _in_order([operator for operator in declared if operator.name not in opaque])
    return Graph(
        spec=spec,
        operators=operators,
        kinds=_grouped((operator.kind, operator) for operator in operators.values()),
        opaque=opaque,
        incomplete=bool(broken) and not _names_of_streams_and_systems(spec).issuperset(broken),
        cycles=cycles,
        readers=_grouped((name, operator) for operator in declared for name in operator.inputs),
        senders=_grouped((o.spec.send_to, o) for o in declared if o.spec.send_to is not None),
        fillers=_grouped((o.spec.send_to_table, o) for o in declared if o.spec.send_to_table is not None),
        joiners=_grouped((o.spec.join_table.table, o) for o in declared if o.spec.join_table is not None),
        side_inputs=_grouped((name, table) for table in sorted(spec.tables) for name in spec.tables[table].side_inputs),
    )


def _names_of_streams_and_systems(spec: StreamAppSpec) -> set[str]:
    """Collect what is used as a stream or a system, and is no operator: its declaration could use no other name."""
    names = {name for operator in spec.operators for name in (*operator.inputs, operator.send_to) if name is not None}
    names.update(operator.join.with_ for operator in spec.operators if operator.join is not None)
    names.update(name for table in spec.tables.values() for name in table.side_inputs)
    names.update(stream.system for stream in spec.streams.values())
    return names.difference(operator.name for operator in spec.operators)


def _queried(operator: OperatorSpec, queries: Mapping[str, Collection[str]]) -> Sequence[str]:
    """Return what the query of an operator reads; its last step has its name, and reads `from` as others do."""
    return () if operator.sql is None else sorted(queries.get(operator.name, ()))


def _operator(index: int, spec: OperatorSpec, queried: Sequence[str], *, in_sql: bool) -> Operator:
    kind = spec.kind
    inputs = (*spec.inputs, *queried)
    if kind is OperatorKind.JOIN and spec.join is not None:
        inputs = (*inputs, spec.join.with_)
    return Operator(index=index, name=spec.name, kind=kind, spec=spec, inputs=inputs, in_sql=in_sql)


def _grouped(pairs: Iterable[tuple[K, T]]) -> Mapping[K, tuple[T, ...]]:
    found: defaultdict[K, list[T]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return {key: tuple(values) for key, values in found.items()}


def _in_order(operators: Sequence[Operator]) -> tuple[dict[str, Operator], tuple[tuple[str, ...], ...]]:
    numbers = {operator.name: number for number, operator in enumerate(operators)}
    predecessors = [[numbers[name] for name in operator.inputs if name in numbers] for operator in operators]
    groups = components(predecessors)
    cycles = [
        _shortest_cycle(group, predecessors) for group in groups if len(group) > 1 or group[0] in predecessors[group[0]]
    ]
    ordered = {operators[number].name: operators[number] for group in groups for number in group}
    return ordered, tuple(tuple(operators[number].name for number in cycle) for cycle in cycles)


def _shortest_cycle(group: Sequence[int], predecessors: Sequence[Sequence[int]]) -> list[int]:
    """Find the shortest way, in the direction of the data, from the first node of a group back to itself."""
    first = min(group)
    inside = set(group)
    after: dict[int, int] = {}  # node -> the next node on its shortest way to `first`
    waiting = deque([first])
    while first not in after:
        node = waiting.popleft()
        for other in predecessors[node]:
            if other in inside and other not in after:
                after[other] = node
                waiting.append(other)
    way = [first, after[first]]
    while way[-1] != first:
        way.append(after[way[-1]])
    return way
