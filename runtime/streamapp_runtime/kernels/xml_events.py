"""XML texts as streams of events, read one after the other, as Spark's own reader takes them.

A fault shows where the stream comes to it, so what stands behind the part that is read may be malformed. Texts and
CDATA sections side by side are one event; comments and instructions part them.
"""

import pyexpat
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from streamapp_runtime.kernels.xml_trees import MAX_DEPTH, MAX_NODES, MalformedXmlError

_MAX_NAME = 1000
_SPACES = " \t\n\r"


class EventKind(Enum):
    """The kinds of events."""

    START = auto()
    END = auto()
    TEXT = auto()
    FINISH = auto()
    """The end of the document."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event: `text` is the name of an element, or a text; `place` the number of the first of its texts."""

    kind: EventKind
    text: str = ""
    attributes: Sequence[tuple[str, str]] = ()
    place: int = 0

    @property
    def blank(self) -> bool:
        """Whether a text has nothing but spaces."""
        return not self.text.strip(_SPACES)


class EventStream:
    """The events of a text from the root's start on."""

    def __init__(self, text: str) -> None:
        """Read the text, as far as it is XML."""
        self._events = _read(text)
        self._at = 0

    def peek(self) -> Event:
        """Return the next event without taking it.

        Raises:
            MalformedXmlError: There is a fault, or nothing more.
        """
        if self._at == len(self._events):
            raise MalformedXmlError
        return self._events[self._at]

    def take(self) -> Event:
        """Take the next event.

        Raises:
            MalformedXmlError: There is a fault, or nothing more.
        """
        event = self.peek()
        self._at += 1
        return event


def values(text: str) -> Sequence[str]:
    """Return the texts and values of attributes in a text, in the order of their places."""
    found: list[str] = []
    for event in _read(text):
        found += [value for _, value in event.attributes] if event.kind is EventKind.START else ()
        if event.kind is EventKind.TEXT:
            found.append(event.text)
    return found


def _read(text: str) -> Sequence[Event]:
    reader = _Reader()
    if not text.startswith("\ufeff"):
        try:
            reader.parser().Parse(text, True)
        except (pyexpat.ExpatError, UnicodeError, MalformedXmlError):
            reader.broken = True
    return reader.finished()


class _Reader:
    def __init__(self) -> None:
        self.broken = False
        self._events: list[Event] = []
        self._parts: list[str] = []
        self._texts = 0
        self._depth = 0

    def parser(self) -> pyexpat.XMLParserType:
        parser = pyexpat.ParserCreate()
        parser.ordered_attributes = True
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._document_type
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._parts.append
        parser.CommentHandler = self._add_text
        parser.ProcessingInstructionHandler = self._add_text
        return parser

    def finished(self) -> Sequence[Event]:
        if not self.broken and self._events:
            self._events.append(Event(EventKind.FINISH))
        return self._events

    def _declaration(self, version: str, _encoding: str | None, _standalone: int) -> None:
        if version != "1.0":
            raise MalformedXmlError

    def _document_type(self, *_names: object) -> None:
        raise MalformedXmlError

    def _add_text(self, *_: str) -> None:
        if self._parts:
            text = "".join(self._parts)
            self._parts.clear()
            self._add(Event(EventKind.TEXT, text, place=self._texts))
            self._texts += 1

    def _add(self, event: Event) -> None:
        if len(self._events) >= MAX_NODES or len(event.attributes) + self._texts > MAX_NODES:
            raise MalformedXmlError
        self._events.append(event)

    def _start(self, name: str, attributes: list[str]) -> None:
        self._add_text()
        self._depth += 1
        if self._depth > MAX_DEPTH or len(name) > _MAX_NAME:
            raise MalformedXmlError
        named = tuple(zip(attributes[::2], attributes[1::2], strict=True))
        self._add(Event(EventKind.START, name, named, self._texts))
        self._texts += len(named)

    def _end(self, name: str) -> None:
        self._add_text()
        self._depth -= 1
        self._add(Event(EventKind.END, name))
