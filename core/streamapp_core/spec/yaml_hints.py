"""Hints at what is probably wrong where a text is no YAML: the parser says what it met, not what was meant."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import yaml

_ODD_INDENT = re.compile("[ -]*\N{NO-BREAK SPACE}")
_CLOSING = {"flow mapping": "}", "flow sequence": "]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the parser stopped, what it says of it, what it was reading, and the line on which that began."""

    what: str
    context: str
    began: yaml.Mark | None
    lines: Sequence[str]
    column: int

    @property
    def line(self) -> str:
        return self.lines[-1] if self.lines else ""


def yaml_hint(error: yaml.YAMLError, text: str) -> str:
    """Return what is probably wrong at the place of an error, behind a colon; empty if nobody knows."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return ""
    place = _Place(
        what=getattr(error, "problem", None) or "",
        context=getattr(error, "context", None) or "",
        began=getattr(error, "context_mark", None),
        lines=text.splitlines()[: mark.line + 1],
        column=mark.column,
    )
    hints = (rule(place) for rule in (_open_quote, _tab, _odd_space, _sign, _nested_mapping, _unexpected, _documents))
    return next((f": {hint}" for hint in hints if hint), "")


def _open_quote(place: _Place) -> str:
    if "quoted scalar" not in place.context or place.began is None:
        return ""
    return f"the quote of {_where(place.began)} is not closed"


def _tab(place: _Place) -> str:
    indent = place.line[: len(place.line) - len(place.line.lstrip())]
    return "a tab; indent by spaces" if "\t" in indent else ""


def _odd_space(place: _Place) -> str:
    number = next((number for number, line in enumerate(place.lines, 1) if _ODD_INDENT.match(line)), None)
    return "" if number is None else f"line {number} is indented by a no-break space; write plain ones"


def _sign(place: _Place) -> str:
    sign = place.line[place.column : place.column + 1]
    begins = place.what.startswith("found character that cannot start") and sign
    return f"a text that begins with `{sign}` is written in quotes" if begins else ""


def _nested_mapping(place: _Place) -> str:
    if not place.what.startswith("mapping values are not allowed"):
        return ""
    return "a text with `: ` in it is written in quotes; else the line is not indented as those beside it"


def _unexpected(place: _Place) -> str:
    if not place.what.startswith("did not find expected") or place.began is None:
        return ""
    closing = next((sign for name, sign in _CLOSING.items() if name in place.context), None)
    if closing is not None:
        return f"what begins in {_where(place.began)} needs a `,` or its `{closing}` here"
    return f"the line is not indented as those that begin with {_where(place.began)}"


def _documents(place: _Place) -> str:
    return "an app is one document; put others into files of their own" if "another document" in place.what else ""


def _where(mark: yaml.Mark) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"
