"""A document becomes a StreamApp: every field checked, every problem found, and the sound rest kept.

A broken part is cut out and the rest is read again, so that one bad field does not hide what is wrong elsewhere. What
was cut is named in `ParsedApp.broken`: nothing is said about references to it.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from streamapp_core.problems import PathPart, Problem, path_text, sorted_problems
from streamapp_core.spec.app import API_VERSION, KIND, StreamApp
from streamapp_core.spec.name_checks import check_names
from streamapp_core.spec.spark_properties import find_refused_properties
from streamapp_core.spec.spark_settings import SparkSpec
from streamapp_core.spec.validation_problems import shown, validation_problem, written_path
from streamapp_core.spec.yaml_document import MAXIMUM_DEPTH, DocumentError, read_document

_MAXIMUM_ROUNDS = 200
_SHOWN_PARTS = 4
_KEPT = 4
"""Texts whose apps are kept: a driver and its processors read one text several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedApp:
    """The parts of a document that could be read (None: too little), its problems, the names cut out of it.

    A broken operator keeps its place in the list, so that paths stay right; its name is in `broken`. A system is cut
    out whole: what is left of it would be another one, such as Amazon's store for that of an `endpoint`, and be asked.
    """

    app: StreamApp | None
    problems: tuple[Problem, ...]
    broken: frozenset[str]


@lru_cache(maxsize=_KEPT)
def parse_text(text: str) -> ParsedApp:
    """Read a StreamApp from YAML or JSON text.

    Raises:
        DocumentError: the text is no YAML, or its document is no StreamApp at all.
    """
    document, duplicates = read_document(text)
    parsed = parse_document(document)
    return ParsedApp(app=parsed.app, problems=sorted_problems((*duplicates, *parsed.problems)), broken=parsed.broken)


def parse_document(document: object) -> ParsedApp:
    """Read a StreamApp from plain values (mappings, lists, texts, numbers).

    Raises:
        DocumentError: the document is no StreamApp at all: another kind, no mapping, or nested too deeply.
    """
    if not isinstance(document, dict) or document.get("kind") != KIND:
        found = document.get("kind", "no kind") if isinstance(document, dict) else type(document).__name__
        raise DocumentError(f"no StreamApp but {shown(found)}; it begins with apiVersion: {API_VERSION}, kind: {KIND}")
    deep = _find_deeper_than(document, MAXIMUM_DEPTH)
    if deep is not None:
        raise DocumentError(f"no StreamApp: {path_text(deep)} is nested deeper than {MAXIMUM_DEPTH} levels")
    return _Reader(document).read()


def _find_deeper_than(document: object, levels: int) -> tuple[PathPart, ...] | None:
    """Return the beginning of the path of a value that lies deeper than so many levels; None if there is none.

    It goes down level by level: a function that calls itself would end before the document does.
    """
    level: list[tuple[tuple[PathPart, ...], object]] = [((), document)]
    for _ in range(levels):
        level = [
            ((*path[:_SHOWN_PARTS], name), part)
            for path, value in level
            for name, part in _parts(value)
            if isinstance(part, dict | list)
        ]
    return level[0][0][:_SHOWN_PARTS] if level else None


def _parts(value: object) -> Iterable[tuple[PathPart, object]]:
    if isinstance(value, dict):
        return ((str(name), part) for name, part in value.items())
    return enumerate(value) if isinstance(value, list) else ()


class _Reader:
    """Validates, cuts out what is broken, and validates again until the rest is sound."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = deepcopy(document)
        self.problems: list[Problem] = []
        self.broken: set[str] = set()
        self.cut: set[tuple[PathPart, ...]] = set()

    def read(self) -> ParsedApp:
        app = None
        for _ in range(_MAXIMUM_ROUNDS):
            try:
                text = json.dumps(self.document, allow_nan=False)
                app = StreamApp.model_validate_json(text)
                break
            except ValidationError as error:
                if not self._cut_all(error.errors(include_url=False, include_context=False)):
                    break
            except (TypeError, ValueError) as error:
                raise DocumentError(f"no StreamApp: {error}") from None
        if app is not None:
            self.problems += check_names(app)
            self.problems += find_refused_properties(app.spec.spark or SparkSpec())
        return ParsedApp(app=app, problems=sorted_problems(self.problems), broken=frozenset(self.broken))

    def _cut_all(self, errors: Sequence[ErrorDetails]) -> bool:
        # Of the branches of a union, the one that got deepest is what was meant; of these, one whose type is right.
        likely = sorted(errors, key=lambda error: error["type"].endswith("_type"))
        paths = {written_path(self.document, error): error for error in reversed(likely)}
        shadowed = {beginning for path in paths for beginning in _beginnings(path[:-1])}
        for path, error in paths.items():
            if path not in shadowed and self.cut.isdisjoint(_beginnings(path)):
                self.problems.append(validation_problem(path, error, StreamApp))
        # The deepest and last first: cutting must not move what is still to be cut.
        outcomes = [self._cut(path) for path in sorted(paths, key=_depth_first, reverse=True)]
        return all(outcomes)

    def _cut(self, path: tuple[PathPart, ...]) -> bool:
        """Remove the value at a path; where it is needed, what holds it. False: nothing sound is left."""
        if len(path) <= 2 and path[:1] != ("status",) and (len(path) < 2 or path[1] in _NEEDED):  # noqa: PLR2004
            return False
        if path[:2] == ("spec", "operators") and len(path) > 2:  # noqa: PLR2004
            return self._break_operator(path)
        if path[:2] == ("spec", "systems") and len(path) > 3:  # noqa: PLR2004
            return self._cut(path[:3])
        if not self.cut.isdisjoint(_beginnings(path[:-1])):
            return True
        parent: Any = self.document
        for part in path[:-1]:
            parent = parent[part]
        if isinstance(parent, list) or path[-1] not in parent:
            return self._cut(path[:-1])
        del parent[path[-1]]
        self.cut.add(path)
        if len(path) == 3 and path[0] == "spec" and path[1] in _NAMED:  # noqa: PLR2004
            self.broken.add(str(path[2]))
        return True

    def _break_operator(self, path: tuple[PathPart, ...]) -> bool:
        """Replace an operator by something harmless of the same name."""
        index = int(path[2])
        operators = self.document["spec"]["operators"]
        operator = operators[index] if isinstance(operators[index], dict) else {}
        name = operator.get("name")
        if not (isinstance(name, str) and 0 < len(name) < 64):  # noqa: PLR2004
            name = f"operator-{index}"
        names = operator.get("from")
        if path[:3] in self.cut or not isinstance(names, str | list):
            names = name
        operators[index] = {"name": name, "from": names, "merge": {}}
        self.cut.add(path[:3])
        self.broken.add(name)
        return True


_NEEDED = ("systems", "streams", "operators", "name")
_NAMED = ("streams", "tables", "systems", "functions")


def _beginnings(path: tuple[PathPart, ...]) -> Iterator[tuple[PathPart, ...]]:
    """Return the paths of all that holds the value at a path, and its own."""
    return (path[:length] for length in range(len(path) + 1))


def _depth_first(path: tuple[PathPart, ...]) -> tuple[tuple[str, int], ...]:
    return tuple(("", part) if isinstance(part, int) else (part, 0) for part in path)
