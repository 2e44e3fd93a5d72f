"""The axes of XPath 1.0: the nodes that can be reached from one, in the order in which they are counted."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from streamapp_runtime.kernels.xml_trees import Node, NodeKind, Tree


def _descendants(node: Node, tree: Tree) -> Iterator[Node]:
    if node.kind is NodeKind.ATTRIBUTE:
        return iter(())
    return _without_attributes(tree.nodes[node.order + 1 : node.end + 1])


def _without_attributes(nodes: Iterable[Node]) -> Iterator[Node]:
    return (node for node in nodes if node.kind is not NodeKind.ATTRIBUTE)


def _ancestors(node: Node, _tree: Tree) -> Iterator[Node]:
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def _siblings(node: Node) -> tuple[Sequence[Node], int]:
    if node.parent is None or node.kind is NodeKind.ATTRIBUTE:
        return (), 0
    siblings = node.parent.children
    low, high = 0, len(siblings)
    while siblings[(low + high) // 2] is not node:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if siblings[middle].order < node.order else (low, middle)
    return siblings, (low + high) // 2


def _later_siblings(node: Node, _tree: Tree) -> Sequence[Node]:
    siblings, place = _siblings(node)
    return siblings[place + 1 :]


def _earlier_siblings(node: Node, _tree: Tree) -> Sequence[Node]:
    siblings, place = _siblings(node)
    return siblings[:place][::-1]


def _preceding(node: Node, tree: Tree) -> Iterator[Node]:
    """Yield what is before a node, but no ancestors, and nothing before the outermost element around it."""
    above = [node.order, *(one.order for one in _ancestors(node, tree))]
    first = above[-2] if len(above) > 1 else 0
    skipped = set(above)
    return (one for one in _without_attributes(tree.nodes[first : node.order][::-1]) if one.order not in skipped)


AXES: dict[str, Callable[[Node, Tree], Iterable[Node]]] = {
    "child": lambda node, _tree: node.children,
    "descendant": _descendants,
    "parent": lambda node, _tree: [] if node.parent is None else [node.parent],
    "ancestor": _ancestors,
    "following-sibling": _later_siblings,
    "preceding-sibling": _earlier_siblings,
    "following": lambda node, tree: _without_attributes(tree.nodes[node.end + 1 :]),
    "preceding": _preceding,
    "attribute": lambda node, _tree: node.attributes,
    "self": lambda node, _tree: [node],
    "descendant-or-self": lambda node, tree: [node, *_descendants(node, tree)],
    "ancestor-or-self": lambda node, tree: [node, *_ancestors(node, tree)],
}
