"""Assignment of tasks to processors: balance first, then local state, then the previous processor.

See docs/host-affinity.md.

**The problem as a flow.** One unit of flow is one task; its path leads to the processor of the task:

    source -> origin -> (pool ->) processor -> (extra ->) sink

* An *origin* stands for all tasks whose state is at one location; the last one for those with no state at a live
  location. Tasks of one origin and one previous processor are interchangeable, so they share an arc.
* From its origin, a task may go to its previous processor, to any processor at the location, or through the *pool* to
  any processor at all.
* A processor passes floor(tasks / processors) tasks straight to the sink and one more through *extra*, which lets
  through exactly the remainder. The capacities into the sink sum up to the number of tasks, so a flow of all tasks is
  a balanced assignment, and every balanced assignment is such a flow.

**Why it is the best.** A task that stays at its location earns `tasks + 1`, one that stays at its processor earns 1.
All that tasks can earn with their processors is `tasks`, so the largest sum has the most kept locations and, among
those, the most kept processors. The cheapest flow of all tasks (cost = -earnings) has the largest sum, and as
capacities are whole numbers it consists of whole tasks. Which tasks of a class stay makes no difference to the sum.
Those leave that have an older state where others of the class go, as many as there is room for.

The network has about as many nodes as there are processors and locations, however many tasks there are.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from streamapp_core.assignment.minimum_cost_flow import Network
from streamapp_core.assignment.task_origins import ANY_LOCATION, Origin, origins
from streamapp_core.tasks.natural_order import natural_key

_SOURCE, _SINK, _EXTRA, _POOL, _FIRST_PROCESSOR = range(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The id of the processor of each task, in natural order of task names."""

    processors: Mapping[str, str]


def assign(
    tasks: Iterable[str],
    processors: Mapping[str, str],
    task_locality: Mapping[str, str],
    previous: Mapping[str, str],
    former_locality: Mapping[str, str] | None = None,
) -> Assignment:
    """Assign each task to one processor.

    In this order: loads differ by at most one; as many tasks as possible are at their last location; as many as
    possible are on their previous processor. Of tasks that are alike in these, those move whose older state lies where
    there is room. The same input in another order gives the same assignment.

    Args:
        tasks: names of the tasks.
        processors: id -> location of the live processors.
        task_locality: task -> the location where it last opened its state; a task may have none.
        previous: task -> the id of its last processor, which may be gone.
        former_locality: task -> the location where it opened its state before the last one, if there is one.

    Raises:
        ValueError: there are tasks but no processor.
    """
    ordered = sorted(set(tasks), key=natural_key)
    if not ordered:
        return Assignment(processors={})
    if not processors:
        raise ValueError(f"{len(ordered)} tasks and no processor to run them: start at least one processor")
    live = {id_: processors[id_] for id_ in sorted(processors, key=natural_key)}
    sources = origins(ordered, live, task_locality, previous)
    placed = _placed(sources, _Wiring(live, sources), _FormerHomes(live, former_locality or {}))
    return Assignment(processors={task: placed[task] for task in ordered})


class _Wiring:
    """The network of an assignment, and the numbers of its arcs into processors."""

    def __init__(self, live: Mapping[str, str], sources: Sequence[Origin]) -> None:
        self._live = live
        self._total = sum(origin.size for origin in sources)
        self._nodes = {id_: node for node, id_ in enumerate(live, _FIRST_PROCESSOR)}
        self._network = Network(_FIRST_PROCESSOR + len(live) + len(sources))
        self._add_loads()
        self.from_pool = {
            id_: self._network.add(_POOL, node, capacity=self._total) for id_, node in self._nodes.items()
        }
        self.to_previous: list[dict[str, int]] = []
        self.to_location: list[dict[str, int]] = []
        at_location: dict[str | None, list[str]] = {}
        for id_, location in live.items():
            at_location.setdefault(location, []).append(id_)
        for node, origin in enumerate(sources, _FIRST_PROCESSOR + len(live)):
            self._add_origin(node, origin, at_location.get(origin.location, []))

    def _add_loads(self) -> None:
        base, remainder = divmod(self._total, len(self._nodes))
        for node in self._nodes.values():
            self._network.add(node, _SINK, capacity=base)
            self._network.add(node, _EXTRA, capacity=1)
        self._network.add(_EXTRA, _SINK, capacity=remainder)

    def _add_origin(self, node: int, origin: Origin, neighbours: Sequence[str]) -> None:
        add, nodes, kept_location = self._network.add, self._nodes, self._total + 1
        add(_SOURCE, node, capacity=origin.size)
        add(node, _POOL, capacity=origin.size)
        self.to_location.append(
            {id_: add(node, nodes[id_], capacity=origin.size, cost=-kept_location) for id_ in neighbours}
        )
        self.to_previous.append({})
        for id_, tasks in origin.tasks.items():
            if id_ is not None:
                earned = 1 + (kept_location if self._live[id_] == origin.location else 0)
                self.to_previous[-1][id_] = add(node, nodes[id_], capacity=len(tasks), cost=-earned)

    def flows(self) -> list[int]:
        return self._network.cheapest_flow(_SOURCE, _SINK)


class _FormerHomes:
    """The live processors at the former locations of tasks, where older states of theirs lie."""

    def __init__(self, live: Mapping[str, str], former_locality: Mapping[str, str]) -> None:
        self._former = former_locality
        self._at: dict[str, list[str]] = {}
        for id_, location in live.items():
            if location != ANY_LOCATION:
                self._at.setdefault(location, []).append(id_)

    def hand_out(self, tasks: Iterable[str], room: dict[str, int], placed: dict[str, str]) -> Iterator[str]:
        """Place tasks at their older state as far as there is room, which shrinks; yield the others."""
        for task in tasks:
            home = next((id_ for id_ in self._homes(task) if room.get(id_)), None)
            if home is None:
                yield task
            else:
                room[home] -= 1
                placed[task] = home

    def exchange(self, tasks: Sequence[str], location: str | None, placed: dict[str, str]) -> None:
        """Exchange the places of tasks of one location and one previous processor: as many as possible return."""
        away = [task for task in tasks if self._former.get(task, location) != location and self._homes(task)]
        if away:
            room = dict(Counter(placed[task] for task in tasks))
            gone = set(away)
            others = [*(task for task in tasks if task not in gone), *self.hand_out(away, room, placed)]
            _hand_out(others, room, placed)

    def _homes(self, task: str) -> Sequence[str]:
        return self._at.get(self._former.get(task, ANY_LOCATION), ())


def _placed(sources: Sequence[Origin], wiring: _Wiring, homes: _FormerHomes) -> dict[str, str]:
    """Return the processor of each task: one task per unit of the cheapest flow."""
    flows = wiring.flows()
    placed: dict[str, str] = {}
    pool: list[str] = []
    for origin, to_previous, to_location in zip(sources, wiring.to_previous, wiring.to_location, strict=True):
        movable: list[str] = []
        for before, tasks in origin.tasks.items():
            staying = 0
            if before is not None:
                staying = flows[to_previous[before]]
                placed.update(dict.fromkeys(tasks[:staying], before))
            movable.extend(tasks[staying:])
        room = {id_: flows[arc] for id_, arc in to_location.items()}
        pool.extend(_hand_out(movable, room, placed))
    room = {id_: flows[arc] for id_, arc in wiring.from_pool.items()}
    _hand_out(list(homes.hand_out(pool, room, placed)), room, placed)
    for origin in sources:
        for tasks in origin.tasks.values():
            homes.exchange(tasks, origin.location, placed)
    return placed


def _hand_out(tasks: Iterable[str], room: Mapping[str, int], placed: dict[str, str]) -> Iterator[str]:
    """Place as many tasks on each processor as it has room for; return the rest."""
    rest = iter(tasks)
    for id_, places in room.items():
        placed.update(dict.fromkeys(islice(rest, places), id_))
    return rest
