"""The text of a first app: a stream that was guessed, an operator that shows what it holds, and where results go."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamapp_core.schema import Schema
from streamapp_core.spec.app import API_VERSION, KIND
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.spec.systems import SystemSpec
from streamapp_core.spec.write_yaml import write_inline

_WIDTH = 100
_LOG = "log"
_NAMES = {"by-key", "counted", "chosen", "sent", "results"}
"""The names of operators and outputs of drafts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The parts of an app: one stream that is read, operators, and the output that the last one of them sends to.

    `remarks` say of the stream's fields, by name, what they were guessed from; those of "" are of the stream itself.
    """

    app: str
    stream_name: str
    system: SystemSpec
    stream: StreamSpec
    schema: Schema
    operators: Sequence[Mapping[str, Any]]
    output: Mapping[str, Any]
    remarks: Mapping[str, Sequence[str]]


def label_of(text: str) -> str:
    """Return a DNS label that tells what a text does, and is none of the draft's own names."""
    label = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "rows"
    return f"{label}-in" if label in _NAMES else label


def write_draft(draft: Draft) -> str:
    """Return an app as YAML, with what was guessed, and from what, as comments."""
    return "".join(f"{line.rstrip()}\n" for line in _lines(draft))


def _lines(draft: Draft) -> Iterator[str]:
    yield f"apiVersion: {API_VERSION}"
    yield f"kind: {KIND}"
    yield "metadata:"
    yield f"  name: {write_inline(draft.app)}"
    yield "spec:"
    yield "  systems:"
    yield f"    {write_inline(draft.stream.system)}: {write_inline(_written(draft.system))}"
    if draft.output["system"] == "results":
        yield "    results: {file: {path: .}}"
    yield f"    {_LOG}: {write_inline({_LOG: {'path': f'.streamapp/{draft.app}/log.db'}})}"
    yield f"  defaultSystem: {_LOG}"
    yield "  streams:"
    yield from _comments(draft.remarks.get("", ()), "    ")
    yield f"    {write_inline(draft.stream_name)}:"
    for name, value in _written(draft.stream).items():
        yield from _comments(draft.remarks.get(name, ()), "      ")
        if name == "schema":
            yield "      schema: >-"
            yield from _wrapped([str(column) for column in draft.schema.columns], "        ")
        else:
            yield f"      {name}: {write_inline(value)}"
    yield from _comments(draft.remarks.get("absent", ()), "      ")
    yield f"    results: {write_inline(draft.output)}"
    yield "  operators:"
    for operator in draft.operators:
        yield f"    - {write_inline(operator)}"


def _written(model: SystemSpec | StreamSpec) -> dict[str, Any]:
    """Return the fields of a part of a spec that are given, as YAML has them."""
    given: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return given


def _comments(remarks: Iterable[str], indent: str) -> Iterator[str]:
    for remark in remarks:
        text = "".join(letter if letter.isprintable() else "?" for letter in remark)
        yield from (f"{indent}# {line}" for line in _wrapped_words(text))


def _wrapped_words(text: str) -> Iterator[str]:
    line = ""
    for word in text.split(" "):
        if line and len(line) + len(word) >= _WIDTH:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def _wrapped(columns: Sequence[str], indent: str) -> Iterator[str]:
    """Yield lines of columns; a column is never divided, as a line break would be one in its name."""
    line = ""
    for number, column in enumerate(columns):
        part = column if number == len(columns) - 1 else f"{column},"
        if line and len(line) + len(part) >= _WIDTH:
            yield indent + line
            line = part
        else:
            line = f"{line} {part}" if line else part
    yield indent + line
