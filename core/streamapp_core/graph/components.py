"""Strongly connected components, iteratively: the one order that all walks over the graph use."""

from collections.abc import Sequence


def components(predecessors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Group the nodes 0..n-1 so that two share a group if each reaches the other; predecessors come first.

    A group of one node that is not its own predecessor lies on no cycle. Nodes that come after their predecessors
    already stay in their order.
    """
    if all(before < node for node, found in enumerate(predecessors) for before in found):
        return [[node] for node in range(len(predecessors))]
    return _search(predecessors)


def _search(predecessors: Sequence[Sequence[int]]) -> list[list[int]]:
    """Find the groups by the path-based algorithm of Gabow: linear, without recursion."""
    visited = [0] * len(predecessors)  # 0: not seen, else the position in the order of visits, from 1
    done = len(predecessors) + 1  # larger than every position: the node's group is complete
    count = 0
    found: list[list[int]] = []
    open_nodes: list[int] = []
    group_starts: list[int] = []
    for root in range(len(predecessors)):
        if visited[root]:
            continue
        walk = [(root, iter(predecessors[root]))]
        count += 1
        visited[root] = count
        open_nodes.append(root)
        group_starts.append(count)
        while walk:
            node, remaining = walk[-1]
            for other in remaining:
                if not visited[other]:
                    count += 1
                    visited[other] = count
                    open_nodes.append(other)
                    group_starts.append(count)
                    walk.append((other, iter(predecessors[other])))
                    break
                while group_starts and group_starts[-1] > visited[other]:
                    group_starts.pop()
            else:
                walk.pop()
                if group_starts[-1] == visited[node]:
                    group_starts.pop()
                    group = [node]
                    while (member := open_nodes.pop()) != node:
                        group.append(member)
                    for member in group:
                        visited[member] = done
                    found.append(group)
    return found
