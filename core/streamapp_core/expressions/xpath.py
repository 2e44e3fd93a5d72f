"""Paths of XPath 1.0, as `xpath` and its like take them: read and checked before any text is.

All that has a value has a kind that is known from the path alone. There are no prefixes, variables, namespaces or
identifiers: texts are read without namespaces, and without a document type.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

MAX_LENGTH = 1000
_MAX_DEPTH = 30


class XPathError(ValueError):
    """A text is no path."""


class XPathKind(Enum):
    """The kinds of values."""

    NODES = "nodes"
    TEXT = "a text"
    NUMBER = "a number"
    CONDITION = "a condition"


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or a text."""

    value: float | str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function, or an operation of values under its sign; `-` of one is `negative`, ( ) are a `group`."""

    name: str
    arguments: "tuple[XPath, ...]"
    kind: XPathKind


@dataclass(frozen=True, slots=True)
class Step:
    """A step: the nodes on an axis that have a kind and name (`*` is any), and fulfil all predicates.

    The test is `element` (or attribute), `node`, `text`, `comment` or `processing-instruction`.
    """

    axis: str
    test: str
    name: str | None
    predicates: "tuple[XPath, ...]"


@dataclass(frozen=True, slots=True)
class Path:
    """Steps from the document, from a value of nodes, or (None) from where one is; nodes may be filtered first."""

    start: "XPath | None"
    absolute: bool
    predicates: "tuple[XPath, ...]"
    steps: tuple[Step, ...]


XPath = Constant | Call | Path

AXES = (
    "child", "descendant", "parent", "ancestor", "following-sibling", "preceding-sibling", "following", "preceding",
    "attribute", "self", "descendant-or-self", "ancestor-or-self",
)  # fmt: skip
REVERSE_AXES = frozenset({"parent", "ancestor", "preceding-sibling", "preceding", "ancestor-or-self"})
_N, _T, _D, _C = XPathKind.NODES, XPathKind.TEXT, XPathKind.NUMBER, XPathKind.CONDITION
_FUNCTIONS: dict[str, tuple[XPathKind, int, int, XPathKind | None]] = {
    "last": (_D, 0, 0, None), "position": (_D, 0, 0, None), "count": (_D, 1, 1, _N), "sum": (_D, 1, 1, _N),
    "name": (_T, 0, 1, _N), "local-name": (_T, 0, 1, _N), "string": (_T, 0, 1, None), "concat": (_T, 2, 100, None),
    "starts-with": (_C, 2, 2, None), "contains": (_C, 2, 2, None), "substring-before": (_T, 2, 2, None),
    "substring-after": (_T, 2, 2, None), "substring": (_T, 2, 3, None), "string-length": (_D, 0, 1, None),
    "normalize-space": (_T, 0, 1, None), "translate": (_T, 3, 3, None), "boolean": (_C, 1, 1, None),
    "not": (_C, 1, 1, None), "true": (_C, 0, 0, None), "false": (_C, 0, 0, None), "number": (_D, 0, 1, None),
    "floor": (_D, 1, 1, None), "ceiling": (_D, 1, 1, None), "round": (_D, 1, 1, None),
}  # fmt: skip
"""The functions: the kind of the result, the least and most arguments, and the kind that these must have."""
_PLACES = ("position", "last")
_LEVELS: tuple[tuple[tuple[str, ...], XPathKind], ...] = (
    (("or",), _C),
    (("and",), _C),
    (("=", "!="), _C),
    (("<", "<=", ">", ">="), _C),
    (("+", "-"), _D),
    (("*", "div", "mod"), _D),
)
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r\n]+)|(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)|(?P<text>"[^"]*"|'[^']*')"""
    r"""|(?P<name>[^\W\d][\w.\-]*)|(?P<sign>//|::|\.\.|!=|<=|>=|[()\[\].@,/|+\-=<>*])"""
)
_NODE_TYPES = ("node", "text", "comment", "processing-instruction")
_WORDS = ("and", "or", "mod", "div")
_BEFORE_NAMES = ("@", "::", "(", "[", ",", "/", "//", "|", "+", "-", "=", "!=", "<", "<=", ">", ">=", "*")
_ANY_NODE = Step("descendant-or-self", "node", None, ())


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def kind_of(path: XPath) -> XPathKind:
    """Return the kind of a path's value."""
    match path:
        case Constant(value):
            return XPathKind.TEXT if isinstance(value, str) else XPathKind.NUMBER
        case Call():
            return path.kind
        case Path():
            return XPathKind.NODES


@lru_cache(256)
def parse_xpath(text: str) -> XPath:
    """Read a path.

    Raises:
        XPathError: It is none, or one that is not supported.
    """
    if len(text) > MAX_LENGTH:
        raise XPathError(f"it has more than {MAX_LENGTH} characters")
    parser = _Parser(_tokens(text))
    path = parser.operation()
    parser.end()
    return path


def _tokens(text: str) -> Sequence[_Token]:
    tokens: list[_Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise XPathError(f"`{text[place : place + 20]}` is not understood")
        kind = match.lastgroup or ""
        place = match.end()
        if kind == "blank":
            continue
        glued = kind == "number" and re.match(r"[\w.]", text[place:])
        if glued or (kind == "name" and re.match(":[^:]", text[place:])):
            why = "a number ends before it" if glued else "there are no prefixes; take *[name()='a:b']"
            raise XPathError(f"`{text[place : place + 20]}` is not understood: {why}")
        operand = bool(tokens) and not (tokens[-1].kind == "operator" or tokens[-1].text in _BEFORE_NAMES)
        if operand and (match[0] == "*" or (kind == "name" and match[0] in _WORDS)):
            kind = "operator"
        tokens.append(_Token(kind, match[0]))
    return tokens


class _Parser:
    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0
        self._filters = 0

    def end(self) -> None:
        if self._place < len(self._tokens):
            raise XPathError(f"`{self._tokens[self._place].text[:20]}` is not expected")

    def _peek(self, ahead: int = 0) -> _Token:
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else _Token("end", "")

    def _take(self, *signs: str) -> str | None:
        token = self._peek()
        if token.kind == "sign" and token.text in signs:
            self._place += 1
            return token.text
        return None

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise XPathError(f"`{sign}` is missing before `{self._peek().text[:20]}`")

    def operation(self, level: int = 0) -> XPath:
        if level == len(_LEVELS):
            return self._negation()
        if level == 0:
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise XPathError(f"it is nested deeper than {_MAX_DEPTH}")
        signs, kind = _LEVELS[level]
        left = self.operation(level + 1)
        while (token := self._peek()).text in signs and token.kind in ("sign", "operator"):
            self._place += 1
            left = Call(token.text, (left, self.operation(level + 1)), kind)
        self._depth -= level == 0
        return left

    def _negation(self) -> XPath:
        if self._take("-"):
            return Call("negative", (self._union(),), XPathKind.NUMBER)
        return self._union()

    def _union(self) -> XPath:
        parts = [self._path()]
        while self._take("|"):
            parts.append(self._path())
        if len(parts) == 1:
            return parts[0]
        return Call("|", tuple(map(_nodes, parts)), XPathKind.NODES)

    def _path(self) -> XPath:
        token = self._peek()
        if token.kind in ("number", "text") or token.text == "(" or self._is_call():
            start = self._primary()
            predicates = self._predicates()
            steps = self._steps() if self._peek().text in ("/", "//") else ()
            return Path(_nodes(start), False, predicates, steps) if predicates or steps else start
        if token.kind == "sign" and token.text in ("/", "//"):
            if token.text == "/" and not self._begins_step(1):
                self._place += 1
                return Path(None, True, (), ())
            return Path(None, True, (), self._steps())
        return Path(None, False, (), (self._step(), *self._steps()))

    def _is_call(self) -> bool:
        name = self._peek()
        return name.kind == "name" and self._peek(1).text == "(" and name.text not in _NODE_TYPES

    def _primary(self) -> XPath:
        token = self._peek()
        self._place += 1
        if token.kind == "number":
            return Constant(float(token.text))
        if token.kind == "text":
            return Constant(token.text[1:-1])
        if token.text == "(":
            inner = self.operation()
            self._expect(")")
            return Call("group", (inner,), kind_of(inner))
        return self._call(token.text)

    def _call(self, name: str) -> XPath:
        if name not in _FUNCTIONS:
            raise XPathError(f"there is no function {name[:20]}")
        self._expect("(")
        arguments: list[XPath] = []
        if not self._take(")"):
            arguments.append(self.operation())
            while self._take(","):
                arguments.append(self.operation())
            self._expect(")")
        if name in _PLACES and not self._filters:
            raise XPathError(f"{name}() is the place among nodes: it stands inside of [ ]")
        kind, least, most, taken = _FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            raise XPathError(f"{name} takes other arguments than these {len(arguments)}")
        if taken is XPathKind.NODES:
            arguments = list(map(_nodes, arguments))
        return Call(name, tuple(arguments), kind)

    def _steps(self) -> tuple[Step, ...]:
        steps: list[Step] = []
        while sign := self._take("/", "//"):
            if sign == "//":
                steps.append(_ANY_NODE)
            steps.append(self._step())
        return tuple(steps)

    def _begins_step(self, ahead: int) -> bool:
        token = self._peek(ahead)
        return token.kind == "name" or (token.kind == "sign" and token.text in (".", "..", "@", "*"))

    def _step(self) -> Step:
        if sign := self._take(".", ".."):
            return Step("self" if sign == "." else "parent", "node", None, ())
        axis = "child"
        if self._take("@"):
            axis = "attribute"
        elif self._peek(1).text == "::":
            axis = self._peek().text
            if axis not in AXES:
                raise XPathError(f"there is no axis {axis[:20]}")
            self._place += 2
        test, name = self._test()
        return Step(axis, test, name, self._predicates())

    def _test(self) -> tuple[str, str | None]:
        token = self._peek()
        if token.text == "*" and token.kind == "sign":
            self._place += 1
            return "element", "*"
        if token.kind != "name":
            raise XPathError(f"a name is missing before `{token.text[:20]}`")
        self._place += 1
        if token.text not in _NODE_TYPES or not self._take("("):
            return "element", token.text
        target = self._peek()
        named = token.text == "processing-instruction" and target.kind == "text"
        self._place += named
        self._expect(")")
        return token.text, target.text[1:-1] if named else None

    def _predicates(self) -> tuple[XPath, ...]:
        found: list[XPath] = []
        while self._take("["):
            self._filters += 1
            predicate = self.operation()
            computed = isinstance(predicate, Call) and kind_of(predicate) is _D and predicate.name in _FUNCTIONS
            if isinstance(predicate, Call) and computed and predicate.name not in _PLACES:
                raise XPathError(f"{predicate.name}(...) stands for a place: write [position() = ...], or compare it")
            found.append(predicate)
            self._filters -= 1
            self._expect("]")
        return tuple(found)


def _nodes(path: XPath) -> XPath:
    if kind_of(path) is not XPathKind.NODES:
        raise XPathError(f"{kind_of(path).value} stands where nodes are expected")
    return path
