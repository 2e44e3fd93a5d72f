"""The partition count of each join group: known counts spread to the intermediate streams joined with them.

See docs/planner.md.

Two groups that share an intermediate stream of unknown count must agree; they and all they share such streams with
form one *class*, and a class has the count of those of its groups that have one. Classes are found on the walk itself,
without listing groups: operators before a join take the place of the streams that reach them. So the time is linear
in operators and edges. Groups are listed only when there is a conflict.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.plan.join_groups import JoinWalk, Reach

_NONE = 0
_SEVERAL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedCounts:
    """The counts that follow from joins, and the joins with conflicts.

    `given` has the count of each intermediate stream that a known one is joined with. `conflicts` are the joins whose
    group has two counts: known ones, or some that intermediate streams have from joins before.
    """

    given: Mapping[str, int]
    conflicts: frozenset[str]


def spread_counts(walk: JoinWalk, known: Mapping[str, int], unknown: frozenset[str]) -> JoinedCounts:
    """Return the count of every stream in `unknown` that must have the count of what it is joined with.

    Members that are in neither are left out: nothing is known about them. Neither the counts nor the conflicts
    depend on the order in which things are written.
    """
    if not walk.tied:
        return JoinedCounts(given={}, conflicts=frozenset())
    summaries, undecided = _summaries(walk, known, unknown)
    classes = _classes(walk, undecided)
    counts: dict[int, int] = {}  # class -> its count
    for node in walk.tied.values():
        count = summaries[node]
        if count == _SEVERAL:
            return _spread_with_conflicts(walk, known, unknown)
        if count != _NONE and undecided[node] and counts.setdefault(classes.find(node), count) != count:
            return _spread_with_conflicts(walk, known, unknown)
    return JoinedCounts(given=_given(walk, unknown, classes, counts), conflicts=frozenset())


def _spread_with_conflicts(walk: JoinWalk, known: Mapping[str, int], unknown: frozenset[str]) -> JoinedCounts:
    """Spread counts group by group, in the order of the data, leaving out each that disagrees with those before."""
    reach = Reach(walk)
    classes = _Classes(len(walk.members))
    counts: dict[int, int] = {}
    conflicts = set()
    for join in _in_order(walk):
        streams = reach.group(join)
        undecided = {classes.find(walk.nodes[name]) for name in streams & unknown}
        found = {known[name] for name in streams if name in known}
        found |= {counts[node] for node in undecided if node in counts}
        if len(found) > 1:
            conflicts.add(join)
            continue
        for node in undecided:
            classes.union(node, min(undecided))
            counts.update({min(undecided): count for count in found})
    return JoinedCounts(given=_given(walk, unknown, classes, counts), conflicts=frozenset(conflicts))


def _in_order(walk: JoinWalk) -> list[str]:
    position = {node: position for position, together in enumerate(walk.order) for node in together}
    return sorted(walk.tied, key=lambda join: (position[walk.nodes[join]], join))


def _given(
    walk: JoinWalk, unknown: frozenset[str], classes: "_Classes", counts: Mapping[int, int]
) -> Mapping[str, int]:
    roots = {name: classes.find(walk.nodes[name]) for name in unknown}
    return {name: counts[root] for name, root in roots.items() if root in counts}


def _summaries(walk: JoinWalk, known: Mapping[str, int], unknown: frozenset[str]) -> tuple[list[int], list[bool]]:
    """Return, per node, the known count that reaches it (or none, or several), and whether an unknown one does."""
    summaries = [_NONE if name is None else known.get(name, _NONE) for name in walk.members]
    undecided = [name in unknown for name in walk.members]
    for together in walk.order:
        summary, any_undecided = _NONE, False
        for node in together:
            for other in (node, *walk.predecessors[node]):
                if summaries[other] not in (_NONE, summary):
                    summary = summaries[other] if summary == _NONE else _SEVERAL
                any_undecided = any_undecided or undecided[other]
        for node in together:
            summaries[node], undecided[node] = summary, any_undecided
    return summaries, undecided


class _Classes:
    """Disjoint sets of nodes."""

    def __init__(self, size: int) -> None:
        self._parents = list(range(size))

    def find(self, node: int) -> int:
        parents = self._parents
        while parents[node] != node:
            parents[node] = node = parents[parents[node]]
        return node

    def union(self, node: int, other: int) -> None:
        self._parents[self.find(node)] = self.find(other)


def _classes(walk: JoinWalk, undecided: list[bool]) -> _Classes:
    """Unite what must agree: going back from the groups, each node with those of unknown count before it."""
    classes = _Classes(len(walk.members))
    joined = [False] * len(walk.members)
    for node in walk.tied.values():
        joined[node] = True
    for together in reversed(walk.order):
        if any(joined[node] for node in together):
            for node in together:
                joined[node] = True
                for before in walk.predecessors[node]:
                    joined[before] = True
                    if undecided[before]:
                        classes.union(node, before)
    return classes
