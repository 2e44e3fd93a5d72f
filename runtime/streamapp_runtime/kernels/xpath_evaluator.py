"""Values of XPath 1.0 paths in XML trees, as the JDK's own evaluator computes them, within a bound of work."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from streamapp_core.expressions.xpath import REVERSE_AXES, Call, Constant, Path, Step, XPath
from streamapp_runtime.kernels.xml_trees import Node, NodeKind, Tree
from streamapp_runtime.kernels.xpath_axes import AXES
from streamapp_runtime.kernels.xpath_functions import (
    ARITHMETIC,
    COMPARISONS,
    TEXT_FUNCTIONS,
    NoValueError,
    XPathValue,
    number_text,
    pair,
    substring,
    text_number,
    total,
    truth,
    whole_number,
)

Nodes = list[Node]
MAX_WORK = 1_000_000
"""The most nodes that are visited, and 64ths of characters that are gone through."""
_SHIFT = 6
_TESTS = {"text": NodeKind.TEXT, "comment": NodeKind.COMMENT, "processing-instruction": NodeKind.INSTRUCTION}
_SIGNS = frozenset(
    {"and", "or", "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "div", "mod", "negative", "|", "group"}
)
_COMPARED_SIGNS = frozenset({"=", "<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class _Context:
    node: Node
    position: int = 1
    size: int = 1


class Evaluator:
    """Evaluates paths in one tree."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._left = MAX_WORK

    def value(self, path: XPath) -> XPathValue:
        """Return the value of a path; nodes are in document order.

        Raises:
            NoValueError: It has none.
        """
        return self._value(path, _Context(self._tree.nodes[0]))

    def text(self, value: XPathValue) -> str:
        """Return a value as a text: of nodes that of the first."""
        if isinstance(value, list):
            return self._text_of(value[0]) if value else ""
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else number_text(value)

    def number(self, value: XPathValue) -> float:
        """Return a value as a number."""
        if isinstance(value, bool | float):
            return float(value)
        return text_number(self.text(value))

    def _spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise NoValueError

    def _text_of(self, node: Node) -> str:
        parts = self._tree.text(node)
        self._spend(1 + len(parts) + (sum(map(len, parts)) >> _SHIFT))
        return "".join(parts)

    def _value(self, path: XPath, context: _Context) -> XPathValue:
        self._spend(1)
        match path:
            case Constant(value):
                return value
            case Path():
                return self._nodes(path, context)
            case Call():
                return self._call(path, context)

    def _nodes(self, path: Path, context: _Context) -> Nodes:
        found = [self._tree.nodes[0] if path.absolute else context.node]
        if path.start is not None:
            found = self._list(path.start, context)
        for predicate in path.predicates:
            found = self._filtered(found, predicate)
        for step in path.steps[:-1]:
            found = self._stepped(found, step, exact=False)
        return self._stepped(found, path.steps[-1], exact=_is_descent(path)) if path.steps else found

    def _stepped(self, nodes: Nodes, step: Step, *, exact: bool) -> Nodes:
        found: dict[int, Node] = {}
        for node in nodes:
            reached = self._tested(AXES[step.axis](node, self._tree), step, exact=exact)
            for predicate in step.predicates:
                reached = self._filtered(reached, predicate)
            found.update((one.order, one) for one in reached)
        if len(nodes) == 1 and step.axis not in REVERSE_AXES:
            return list(found.values())
        return [found[order] for order in sorted(found)]

    def _tested(self, nodes: Iterable[Node], step: Step, *, exact: bool) -> Nodes:
        """Select nodes by kind and name: by the whole one, and without CDATA sections, if it is `exact`."""
        principal = NodeKind.ATTRIBUTE if step.axis == "attribute" else NodeKind.ELEMENT
        kind, name, anything = _TESTS.get(step.test, principal), step.name, step.test == "node"
        found: Nodes = []
        for node in nodes:
            self._spend(1)
            if anything or (
                node.kind is kind
                and (name in {None, "*"} or name == (node.name if exact else node.local))
                and not (exact and node.section)
            ):
                found.append(node)
        return found

    def _filtered(self, nodes: Nodes, predicate: XPath) -> Nodes:
        found, size = [], len(nodes)
        for position, node in enumerate(nodes, 1):
            value = self._value(predicate, _Context(node, position, size))
            if (position == whole_number(value)) if isinstance(value, float) else truth(value):
                found.append(node)
        return found

    def _list(self, path: XPath, context: _Context) -> Nodes:
        value = self._value(path, context)
        assert isinstance(value, list)
        return value

    def _call(self, call: Call, context: _Context) -> XPathValue:
        name, arguments = call.name, call.arguments
        if name in ("and", "or"):
            left = truth(self._value(arguments[0], context))
            return left if left is (name == "or") else truth(self._value(arguments[1], context))
        if name in ("position", "last"):
            return float(context.position if name == "position" else context.size)
        values: list[XPathValue] = [self._value(argument, context) for argument in arguments]
        if name == "|":
            found = {node.order: node for value in values if isinstance(value, list) for node in value}
            return [found[order] for order in sorted(found)]
        if name in COMPARISONS:
            return self._compared(COMPARISONS[name], *values, texts=name in ("=", "!="))
        if name in ARITHMETIC:
            return ARITHMETIC[name](*map(self.number, values))
        if not values and name not in ("true", "false"):
            values = [[context.node]]
        return self._function(name, values)

    def _function(self, name: str, values: list[XPathValue]) -> XPathValue:  # noqa: PLR0911 - one for each
        first = values[0] if values else ""
        match name:
            case "true" | "false":
                return name == "true"
            case "boolean" | "not":
                return truth(first) is (name == "boolean")
            case "group":
                return first
            case "number":
                return self.number(first)
            case "count":
                assert isinstance(first, list)
                return float(len(first))
            case "sum":
                assert isinstance(first, list)
                return total(text_number(self._text_of(node)) for node in first)
            case "name" | "local-name":
                assert isinstance(first, list)
                return "" if not first else first[0].name if name == "name" else first[0].local
            case "substring":
                return substring(self.text(first), *map(self.number, values[1:]))
            case _:
                texts = list(map(self.text, values))
                self._spend(sum(map(len, texts)) >> _SHIFT)
                return TEXT_FUNCTIONS[name](*texts)

    def _compared(self, compare: Callable[..., bool], left: XPathValue, right: XPathValue, *, texts: bool) -> bool:
        """Compare values: of nodes it is enough that one compares so; `texts` are compared as such, else as numbers."""
        if isinstance(left, list) and isinstance(right, list):
            others = {self._text_of(node) for node in right}
            for text in {self._text_of(node) for node in left}:
                self._spend(len(others))
                if any(compare(*pair(text, other, texts=texts)) for other in others):
                    return True
            return False
        if isinstance(left, bool) or isinstance(right, bool):
            by_truth = texts or isinstance(left, list) or isinstance(right, list)
            one, other = (float(truth(left)), float(truth(right))) if by_truth else map(self.number, (left, right))
            return compare(one, other)
        if isinstance(left, list):
            return any(compare(*self._same(self._text_of(node), right, texts=texts)) for node in left)
        if isinstance(right, list):
            return any(compare(*reversed(self._same(self._text_of(node), left, texts=texts))) for node in right)
        return compare(*self._same(left, right, texts=texts))

    def _same(self, one: XPathValue, other: XPathValue, *, texts: bool) -> tuple[str | float, str | float]:
        if texts and isinstance(one, str) and isinstance(other, str):
            return one, other
        return self.number(one), self.number(other)


def _is_descent(path: Path) -> bool:
    """Return whether a path is such as `//a`, for which the JDK has a walker of its own, which tests otherwise."""
    steps = path.steps
    one = len(steps) == 1 and not path.absolute
    if path.start is not None or one or any(step.test != "node" or step.predicates for step in steps[:-1]):
        return False
    axes = [step.axis for step in steps]
    if axes[0] == "self" and not path.absolute and len(axes) > 1:
        axes = axes[1:]
    if axes not in (["descendant"], ["descendant-or-self"], ["descendant-or-self", "child"]):
        return False
    return not any(_counts_places(predicate) for predicate in steps[-1].predicates)


def _counts_places(predicate: XPath) -> bool:
    """Return whether the JDK holds a predicate for one of places."""
    if isinstance(predicate, Call) and predicate.name not in _SIGNS:
        return _has_places(predicate)
    if isinstance(predicate, Call) and predicate.name in _COMPARED_SIGNS:
        return any(map(_has_places, predicate.arguments))
    return not isinstance(predicate, Path)


def _has_places(path: XPath) -> bool:
    if not isinstance(path, Call):
        return False
    if path.name in ("position", "last") or (path.name in _SIGNS and path.name not in _COMPARED_SIGNS):
        return True
    return any(map(_has_places, path.arguments))
