"""Kernels that take values out of XML texts by paths. They go row by row."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import pyarrow as pa

from streamapp_core.expressions.xpath import parse_xpath
from streamapp_runtime.kernels.xml_trees import MalformedXmlError, Node, NodeKind, parse_tree
from streamapp_runtime.kernels.xpath_evaluator import Evaluator
from streamapp_runtime.kernels.xpath_functions import NoValueError, XPathValue, truth
from streamapp_systems.variants.json_generator import java_text

Result = TypeVar("Result")


def xpath_nodes(texts: pa.Array, paths: pa.Array) -> pa.Array:
    """Return the values of the nodes that paths select; null of an element."""

    def values(found: tuple[Evaluator, XPathValue] | None) -> list[str | None] | None:
        if found is None or not isinstance(found[1], list):
            return None
        return [_own_value(node) for node in found[1]]

    return pa.array(map(values, _found(texts, paths)), pa.list_(pa.string()))


def xpath_text(texts: pa.Array, paths: pa.Array) -> pa.Array:
    """Return the values of paths as texts."""
    return pa.array((value and java_text(value) for value in _converted(texts, paths, Evaluator.text)), pa.string())


def xpath_number(texts: pa.Array, paths: pa.Array) -> pa.Array:
    """Return the values of paths as numbers."""
    return pa.array(_converted(texts, paths, Evaluator.number), pa.float64())


def xpath_condition(texts: pa.Array, paths: pa.Array) -> pa.Array:
    """Return the values of paths as conditions: whether there are nodes, a text that is not empty, or a number."""
    return pa.array(_converted(texts, paths, lambda _evaluator, value: truth(value)), pa.bool_())


def _own_value(node: Node) -> str | None:
    if node.kind <= NodeKind.ELEMENT:
        return None
    return node.first if node.kind is NodeKind.TEXT else node.value


def _converted(
    texts: pa.Array, paths: pa.Array, convert: Callable[[Evaluator, XPathValue], Result]
) -> Iterator[Result | None]:
    for found in _found(texts, paths):
        try:
            yield None if found is None else convert(*found)
        except NoValueError:
            yield None


def _found(texts: pa.Array, paths: pa.Array) -> Iterator[tuple[Evaluator, XPathValue] | None]:
    """Yield the values of paths, with what converts them; None of a text that is malformed or takes too much work."""
    for text, path in zip(texts.to_pylist(), paths.to_pylist(), strict=True):
        if not text or not path:
            yield None
            continue
        try:
            evaluator = Evaluator(parse_tree(text))
            yield evaluator, evaluator.value(parse_xpath(path))
        except (MalformedXmlError, NoValueError):
            yield None
