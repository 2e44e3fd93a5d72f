"""YAML text to plain values, with the limits that keep a hostile text from costing time or memory.

The YAML is what Kubernetes users mean by it: YAML 1.2's core types (`on` and `no` are text), no tags, no dates.
"""

import re
from collections.abc import Iterator

import yaml

from streamapp_core.problems import PathPart, Problem, ProblemCode, path_text
from streamapp_core.spec.yaml_hints import yaml_hint

MAXIMUM_BYTES = 1_500_000  # etcd takes no more in one object
MAXIMUM_DEPTH = 64
_MAXIMUM_VALUES = 200_000


class DocumentError(ValueError):
    """The text is no document that could be a StreamApp; the message has the reason."""


class CoreLoader(yaml.CSafeLoader):
    """libyaml's loader with the core types of YAML 1.2 only."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


CoreLoader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(~|null|Null|NULL|)$"), ["~", "n", "N", ""])
CoreLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
CoreLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(0|[1-9][0-9]*)$"), list("-+0123456789"))
CoreLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?((\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)$"),
    list("-+.0123456789"),
)


def read_document(text: str) -> tuple[object, tuple[Problem, ...]]:
    """Read one YAML (or JSON) document; keys that stand twice in a mapping are problems.

    Raises:
        DocumentError: the text is too large, too deep, no YAML, or several documents.
    """
    if len(text.encode()) > MAXIMUM_BYTES:
        raise DocumentError(f"the document is larger than {MAXIMUM_BYTES:,} bytes, more than Kubernetes could store")
    try:
        has_aliases = _check_shape(text)
        loader = CoreLoader(text)
        node = loader.get_single_node()
        if node is None:
            raise DocumentError("the document is empty")
        if has_aliases:
            _check_expanded(node)
        problems = tuple(_duplicate_keys(node))
        return loader.construct_document(node), problems
    except yaml.YAMLError as error:
        raise DocumentError(f"no valid YAML: {_one_line(error, text)}") from None
    except (ValueError, RecursionError) as error:
        raise (error if isinstance(error, DocumentError) else DocumentError(f"no valid YAML: {error}")) from None


def _check_shape(text: str) -> bool:
    """Refuse a document that is too deep or has too many values; return whether it has aliases."""
    depth, has_aliases = 0, False
    for values, event in enumerate(yaml.parse(text, Loader=CoreLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            has_aliases = True
        if depth > MAXIMUM_DEPTH:
            raise DocumentError(f"line {_line(event)}: nested deeper than {MAXIMUM_DEPTH} levels")
        if values > _MAXIMUM_VALUES:
            raise DocumentError(f"line {_line(event)}: more than {_MAXIMUM_VALUES:,} values")
    return has_aliases


def _check_expanded(root: yaml.Node) -> None:
    """Refuse a document whose aliases stand for more than could be written out (a "billion laughs")."""
    sizes: dict[int, tuple[int, int] | None] = {}

    def measure(node: yaml.Node) -> tuple[int, int]:
        """Count values and levels below a node as if aliases were written out."""
        if id(node) not in sizes:
            sizes[id(node)] = None
            children = [child for pair in node.value for child in pair] if isinstance(node, yaml.MappingNode) else []
            children = list(node.value) if isinstance(node, yaml.SequenceNode) else children
            below = [measure(child) for child in children]
            sizes[id(node)] = (1 + sum(size for size, _ in below), 1 + max((levels for _, levels in below), default=0))
        known = sizes[id(node)]
        if known is None:
            raise DocumentError(f"line {_line(node)}: an anchor that contains itself")
        return known

    size, levels = measure(root)
    if size > _MAXIMUM_VALUES or levels > MAXIMUM_DEPTH:
        raise DocumentError(
            f"with its aliases written out the document has {size:,} values on {levels} levels; "
            f"{_MAXIMUM_VALUES:,} on {MAXIMUM_DEPTH} are the most"
        )


def _duplicate_keys(root: yaml.Node) -> Iterator[Problem]:
    open_nodes: list[tuple[yaml.Node, tuple[PathPart, ...]]] = [(root, ())]
    while open_nodes:
        node, path = open_nodes.pop()
        if isinstance(node, yaml.SequenceNode):
            open_nodes.extend((child, (*path, index)) for index, child in enumerate(node.value))
        elif isinstance(node, yaml.MappingNode):
            seen: dict[object, int] = {}
            for key, value in node.value:
                name = str(key.value)
                line = _line(key)
                if name in seen:
                    yield Problem(
                        path=path_text((*path, name)),
                        code=ProblemCode.INVALID_SPEC,
                        message=f"`{name}` is given twice, on lines {seen[name]} and {line}; the second would win",
                    )
                seen.setdefault(name, line)
                open_nodes.append((value, (*path, name)))


def _line(where: yaml.Event | yaml.Node) -> int:
    return where.start_mark.line + 1 if where.start_mark else 0


def _one_line(error: yaml.YAMLError, text: str) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"line {mark.line + 1}, column {mark.column + 1}: {what}{yaml_hint(error, text)}" if mark else str(what)
