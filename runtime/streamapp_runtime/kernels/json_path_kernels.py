"""The kernels of `get_json_object`, `json_tuple` and of what a JSON text has: its elements, its keys.

They go row by row. A malformed text gives null; what is behind the first value of a text is not looked at.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import TypeVar

import pyarrow as pa

from streamapp_systems.variants.json_generator import Generator, java_text
from streamapp_systems.variants.json_tokens import HIVE, MalformedJsonError, TokenKind, Tokens, tokens

MAX_STEPS = 100
"""The most steps of a path; beyond it is null."""
_Result = TypeVar("_Result")
_LONG_BITS = 63
_SPACES = r"[ \t\n\x0b\f\r]*"
_STEP = re.compile(
    rf"{_SPACES}(?P<any>\.\*|\['\*'\])|\.{_SPACES}(?P<name>[^.\[]+)|{_SPACES}\['{_SPACES}(?P<quoted>[^']+)'\]"
    rf"|\[(?:(?P<all>\*)|{_SPACES}(?P<index>[0-9]+))\]"
)


class _Step(Enum):
    FIELD = auto()
    ELEMENT = auto()
    ELEMENTS = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True)
class _PathStep:
    step: _Step
    name: str = ""
    index: int = 0


class _Style(Enum):
    RAW = auto()
    QUOTED = auto()
    FLAT = auto()


def get_json_object(texts: pa.Array, paths: pa.Array) -> pa.Array:
    """Return what is at a path of a JSON text; null if there is none, or text or path are malformed."""

    def found(text: str, path: str) -> str | None:
        steps = _parsed(path)
        read = tokens(text, HIVE) if steps is not None else None
        if read is None or steps is None:
            return None
        generator = Generator(as_bytes=True)
        return generator.text() if _evaluate(read, 0, generator, _Style.RAW, steps) else None

    return pa.array(map(_safe(found), texts.to_pylist(), paths.to_pylist()), pa.string())


def json_array_length(texts: pa.Array) -> pa.Array:
    """Return the number of elements of a JSON array; null if a text is none."""

    def length(text: str) -> int | None:
        read = tokens(text, HIVE)
        if read is None or read.kinds[0] is not TokenKind.ARRAY:
            return None
        return sum(1 for _ in read.parts(0))

    return pa.array(map(_safe(length), texts.to_pylist()), pa.int32())


def json_object_keys(texts: pa.Array) -> pa.Array:
    """Return the names of the fields of a JSON object; null if a text is none."""

    def keys(text: str) -> list[str] | None:
        read = tokens(text, HIVE)
        if read is None or read.kinds[0] is not TokenKind.OBJECT:
            return None
        return [java_text(read.texts[place]) for place in read.parts(0)]

    return pa.array(map(_safe(keys), texts.to_pylist()), pa.list_(pa.string()))


def json_fields(texts: pa.Array, *names: pa.Array) -> pa.Array:
    """Return the fields of a JSON object of these names, as texts; nulls if there are none."""
    nothing: list[str | None] = [None] * len(names)

    def fields(text: str, *wanted: str | None) -> list[str | None] | None:
        read = tokens(text, HIVE)
        if read is None or read.kinds[0] is not TokenKind.OBJECT:
            return None
        values = list(nothing)
        for place in read.parts(0):
            if read.texts[place] in wanted and read.kinds[place + 1] is not TokenKind.NULL:
                generator = Generator(as_bytes=True)
                _write(read, place + 1, generator)
                values = [
                    generator.text() if name == read.texts[place] else value
                    for name, value in zip(wanted, values, strict=True)
                ]
        return values

    def row(text: str | None, *wanted: str | None) -> list[str | None]:
        try:
            return (fields(text, *wanted) if text is not None else None) or nothing
        except MalformedJsonError:
            return nothing

    columns = [column.to_pylist() for column in names]
    return pa.array(map(row, texts.to_pylist(), *columns), pa.list_(pa.string()))


def _safe(function: Callable[..., _Result | None]) -> Callable[..., _Result | None]:
    """Return a function that gives null for a null or a malformed text."""

    def safe(*arguments: str | None) -> _Result | None:
        if None in arguments:
            return None
        try:
            return function(*arguments)
        except MalformedJsonError:
            return None

    return safe


@lru_cache(maxsize=1024)
def _parsed(path: str) -> Sequence[_PathStep] | None:
    """Read a path as Spark does, which skips spaces before most of its parts; None if it is none."""
    at, steps = 1, list[_PathStep]()
    if not path.startswith("$"):
        return None
    while at < len(path):
        if len(steps) == MAX_STEPS:
            return None
        match = _STEP.match(path, at)
        if match is None:
            return None
        if match["any"]:
            steps.append(_PathStep(_Step.NOTHING))
        elif match["all"]:
            steps.append(_PathStep(_Step.ELEMENTS))
        elif match["index"]:
            index = int(match["index"][:20])
            if index.bit_length() > _LONG_BITS:
                return None
            steps.append(_PathStep(_Step.ELEMENT, index=index))
        else:
            steps.append(_PathStep(_Step.FIELD, name=match["name"] or match["quoted"]))
        at = match.end()
    return tuple(steps)


def _write(read: Tokens, place: int, generator: Generator) -> None:
    if read.kinds[place] is TokenKind.STRING:
        generator.raw(read.texts[place])
    else:
        generator.copy(read, place)


def _evaluate(read: Tokens, place: int, generator: Generator, style: _Style, steps: Sequence[_PathStep]) -> bool:
    """Write what is at the end of a path; return whether there is anything."""
    if not steps:
        return _write_end(read, place, generator, style)
    kind, step, rest = read.kinds[place], steps[0], steps[1:]
    if step.step is _Step.FIELD and kind is TokenKind.OBJECT:
        return any(
            _evaluate(read, name + 1, generator, style, rest)
            for name in read.parts(place)
            if read.texts[name] == step.name and read.kinds[name + 1] is not TokenKind.NULL
        )
    if kind is not TokenKind.ARRAY or step.step not in (_Step.ELEMENT, _Step.ELEMENTS):
        return False
    elements = list(read.parts(place))
    if step.step is _Step.ELEMENTS:
        return _evaluate_all(read, elements, generator, style, rest)
    inner = _Style.QUOTED if rest and rest[0].step is _Step.ELEMENTS else style
    return step.index < len(elements) and _evaluate(read, elements[step.index], generator, inner, rest)


def _write_end(read: Tokens, place: int, generator: Generator, style: _Style) -> bool:
    if read.kinds[place] is TokenKind.ARRAY and style is _Style.FLAT:
        return _write_flat(read, place, generator)
    if style is _Style.RAW:
        _write(read, place, generator)
    else:
        generator.copy(read, place)
    return True


def _write_flat(read: Tokens, start: int, generator: Generator) -> bool:
    """Write the elements of an array, and of arrays in it, without these arrays."""
    place, found = start, False
    while place <= read.ends[start]:
        if read.kinds[place] in (TokenKind.ARRAY, TokenKind.END_ARRAY):
            place += 1
        else:
            generator.copy(read, place)
            place, found = read.ends[place] + 1, True
    return found


def _evaluate_all(
    read: Tokens, elements: Sequence[int], generator: Generator, style: _Style, rest: Sequence[_PathStep]
) -> bool:
    """Write what is at the end of a path from every element: an array, without which one result stands if it can."""
    twice = bool(rest) and rest[0].step is _Step.ELEMENTS
    if twice or style is _Style.QUOTED:
        inner, following = (_Style.FLAT, rest[1:]) if twice else (style, rest)
        generator.open_array()
        found = [_evaluate(read, element, generator, inner, following) for element in elements]
        generator.close_array()
        return any(found)
    inner = _Style.QUOTED if style is _Style.RAW else style
    buffer = Generator(as_bytes=False)
    buffer.open_array()
    number = sum(_evaluate(read, element, buffer, inner, rest) for element in elements)
    buffer.close_array()
    if number:
        text = buffer.text()
        generator.raw_value(text if number > 1 else text[1:-1])
    return number > 0
