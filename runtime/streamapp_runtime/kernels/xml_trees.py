"""XML texts as trees of nodes in document order, without namespaces. What may be hostile is no tree.

There is no document type, hence no entity but the five of XML itself; depth and the size of names are bounded.
"""

import pyexpat
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from streamapp_runtime.kernels.java_units import utf16_order

MAX_DEPTH = 250
MAX_NODES = 500_000
_MAX_NAME = 1000
_MAX_ATTRIBUTES = 10_000


class NodeKind(IntEnum):
    """The kinds of nodes."""

    DOCUMENT = 0
    ELEMENT = 1
    ATTRIBUTE = 2
    TEXT = 3
    COMMENT = 4
    INSTRUCTION = 5


class MalformedXmlError(ValueError):
    """A text is no XML, or one that is not read."""


@dataclass(slots=True, eq=False)
class Node:
    """A node: `order` is its place in the document, `end` that of the last node inside.

    `value` is that of an attribute, text, comment or instruction; `first` that of a text up to where a CDATA section
    begins or ends; `section`: a text is all in such ones.
    """

    kind: NodeKind
    name: str
    value: str
    parent: "Node | None"
    order: int
    end: int = 0
    first: str = ""
    section: bool = False
    children: "Sequence[Node]" = ()
    attributes: "Sequence[Node]" = ()

    @property
    def local(self) -> str:
        """The name behind a prefix."""
        return self.name.partition(":")[2] if ":" in self.name else self.name


@dataclass(frozen=True, slots=True)
class Tree:
    """A document with all its nodes in order, attributes too, and the texts of elements with their places."""

    nodes: Sequence[Node]
    text_places: Sequence[int]
    texts: Sequence[str]

    def text(self, node: Node) -> Sequence[str]:
        """Return the parts of the text of a node."""
        if node.kind > NodeKind.ELEMENT:
            return (node.value,)
        start = bisect_right(self.text_places, node.order)
        return self.texts[start : bisect_left(self.text_places, node.end + 1)]


def parse_tree(text: str) -> Tree:
    """Read an XML text.

    Raises:
        MalformedXmlError: It is none, has a document type or another version than 1.0, is nested too deep, or has too
            many nodes.
    """
    if text.startswith("\ufeff"):
        raise MalformedXmlError
    builder = _Builder()
    try:
        builder.parser().Parse(text, True)
    except (pyexpat.ExpatError, UnicodeError):
        raise MalformedXmlError from None
    return builder.tree()


class _Builder:
    def __init__(self) -> None:
        self._nodes = [Node(NodeKind.DOCUMENT, "", "", None, 0)]
        self._open = [self._nodes[0]]
        self._parts: list[str] = []
        self._first: str | None = None
        self._inside = False
        self._plain = False

    def parser(self) -> pyexpat.XMLParserType:
        parser = pyexpat.ParserCreate()
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._document_type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartCdataSectionHandler = self._start_section
        parser.EndCdataSectionHandler = self._end_section
        parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruction
        return parser

    def tree(self) -> Tree:
        self._nodes[0].end = len(self._nodes) - 1
        texts = [node for node in self._nodes if node.kind is NodeKind.TEXT]
        return Tree(self._nodes, [node.order for node in texts], [node.value for node in texts])

    def _declaration(self, version: str, _encoding: str | None, _standalone: int) -> None:
        if version != "1.0":
            raise MalformedXmlError

    def _document_type(self, *_names: object) -> None:
        raise MalformedXmlError

    def _add(self, kind: NodeKind, name: str, value: str) -> Node:
        order = len(self._nodes)
        if len(name) > _MAX_NAME or order > MAX_NODES:
            raise MalformedXmlError
        node = Node(kind, name, value, self._open[-1], order, order)
        self._nodes.append(node)
        return node

    def _add_child(self, kind: NodeKind, name: str, value: str) -> Node:
        node, parent = self._add(kind, name, value), self._open[-1]
        if isinstance(parent.children, list):
            parent.children.append(node)
        else:
            parent.children = [node]
        return node

    def _add_text(self) -> None:
        if self._parts or self._first is not None:
            text = "".join(self._parts)
            node = self._add_child(NodeKind.TEXT, "", text)
            node.first = text if self._first is None else self._first
            node.section = not self._plain
            self._parts.clear()
            self._first, self._plain = None, False

    def _start(self, name: str, attributes: list[str]) -> None:
        self._add_text()
        if len(self._open) > MAX_DEPTH or len(attributes) > 2 * _MAX_ATTRIBUTES:
            raise MalformedXmlError
        element = self._add_child(NodeKind.ELEMENT, name, "")
        self._open.append(element)
        named = sorted(zip(attributes[::2], attributes[1::2], strict=True), key=lambda pair: utf16_order(pair[0]))
        element.attributes = [self._add(NodeKind.ATTRIBUTE, key, value) for key, value in named if not _declares(key)]

    def _end(self, _name: str) -> None:
        self._add_text()
        self._open.pop().end = len(self._nodes) - 1

    def _text(self, text: str) -> None:
        self._parts.append(text)
        self._plain = self._plain or not self._inside

    def _start_section(self) -> None:
        self._inside = True
        if self._parts and self._first is None:
            self._first = "".join(self._parts)

    def _end_section(self) -> None:
        self._inside = False
        if self._first is None:
            self._first = "".join(self._parts)

    def _comment(self, text: str) -> None:
        self._add_text()
        self._add_child(NodeKind.COMMENT, "", text)

    def _instruction(self, target: str, text: str) -> None:
        self._add_text()
        self._add_child(NodeKind.INSTRUCTION, target, text)


def _declares(name: str) -> bool:
    return name == "xmlns" or name.startswith("xmlns:")
