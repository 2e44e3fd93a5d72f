"""The kernel of `from_xml`: XML texts read by a type, as Spark's own reader does, which goes event by event.

A value that does not fit leaves the reader where it stands, so that what follows in its element is lost, or read as a
part of another. It writes JSON whose values are texts, which SQL casts (see `kernel_texts`). It goes row by row.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from streamapp_core.data_types import DataType, TypeKind, all_types
from streamapp_core.expressions.conversions import WHOLE_BITS
from streamapp_core.expressions.growth import MAX_GROWTH
from streamapp_runtime.kernels.java_numbers import floating, lenient, whole, wrapped
from streamapp_runtime.kernels.json_readers import UnfitError, decimal_text
from streamapp_runtime.kernels.row_functions import each_row, literal_type
from streamapp_runtime.kernels.text_schemas import holds
from streamapp_runtime.kernels.xml_events import Event, EventKind, EventStream, values
from streamapp_runtime.kernels.xml_options import XmlOptions
from streamapp_runtime.kernels.xml_trees import MalformedXmlError

_WITHOUT_SIGN = (TypeKind.INT, TypeKind.BIGINT, TypeKind.FLOAT, TypeKind.DOUBLE)
_BOOLEANS = {"true": "true", "1": "true", "false": "false", "0": "false"}
_Row = dict[str, Any]


class _PartialError(UnfitError):
    """Something inside of a struct does not fit; `row` is what does."""

    def __init__(self, row: _Row) -> None:
        super().__init__()
        self.row = row


def from_xml(texts: pa.Array, types: pa.Array, options: pa.Array, dates: pa.Array, moments: pa.Array) -> pa.Array:
    """Return the values of XML texts by the types of structs, in the form that SQL reads.

    `dates` and `moments` say of the values in a text (see `xml_values`) whether they are dates and timestamps.
    """
    return pa.array(each_row(_written, texts, types, options, dates, moments), pa.string())


def _written(text: str, written: str, given: str, days: list[bool], moments: list[bool]) -> str | None:
    sound = {TypeKind.DATE: days, TypeKind.TIMESTAMP: moments}
    row = _read(text, literal_type(written), XmlOptions.parse(given), sound)
    return None if row is None else json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def xml_values(texts: pa.Array, options: pa.Array) -> pa.Array:
    """Return the values in XML texts that may be dates and timestamps: the texts and attributes in order."""

    def found(text: str, given: str) -> list[str]:
        return [XmlOptions.parse(given).trimmed(value) for value in values(text)]

    return pa.array(each_row(found, texts, options), pa.list_(pa.string()))


def _read(text: str, data_type: DataType, options: XmlOptions, sound: Mapping[TypeKind, Sequence[bool]]) -> _Row | None:
    if len(text) * sum(1 for _ in all_types(data_type)) > MAX_GROWTH and TypeKind.ARRAY in data_type.kinds:
        return None
    events = EventStream(text)
    reader = _Reader(events, options, sound)
    try:
        return reader.object(data_type, events.take())
    except _PartialError as error:
        return error.row
    except (MalformedXmlError, UnfitError):
        return {}


@dataclass(frozen=True, slots=True)
class _Reader:
    events: EventStream
    options: XmlOptions
    sound: Mapping[TypeKind, Sequence[bool]]

    def object(self, data_type: DataType, start: Event | None = None) -> _Row:
        """Read the parts of an element up to its end, or that of another that was left open."""
        row = {} if start is None else self._attributes(data_type, start)
        unfit = False
        while True:
            event = self.events.take()
            if event.kind is EventKind.START:
                try:
                    self._child(row, data_type, event)
                except UnfitError:
                    unfit = True
            elif event.kind is not EventKind.TEXT:
                break
            elif not event.blank:
                self._value_tag(row, data_type, event)
        if unfit:
            raise _PartialError(row)
        return row

    def _attributes(self, data_type: DataType, start: Event) -> _Row:
        row = {}
        if self.options.attributes:
            for number, (name, value) in enumerate(start.attributes):
                place = _place(data_type, self.options.attribute_prefix + self.options.local(name))
                if place is not None:
                    row[f"f{place}"] = self._typed(value, data_type.fields[place].type, start.place + number)
        return row

    def _child(self, row: _Row, data_type: DataType, event: Event) -> None:
        name = self.options.local(event.text)
        place = _place(data_type, name)
        if place is None:
            self._skip()
            return
        key, field = f"f{place}", data_type.fields[place].type
        element = field.element if field.kind is TypeKind.ARRAY else field
        value = self._struct(element, event, name) if element.kind is TypeKind.STRUCT else self._field(element, name)
        if field.kind is TypeKind.ARRAY:
            row.setdefault(key, []).append(value)
        else:
            row[key] = value

    def _struct(self, data_type: DataType, event: Event, name: str) -> _Row:
        attributes = self._attributes(data_type, event)
        if self.events.peek().kind is EventKind.END:
            self._end(name)
            return attributes
        return {**self.object(data_type), **attributes}

    def _field(self, data_type: DataType, name: str) -> str | None:
        """Read a single value up to the end of its element."""
        text = data_type.kind is TypeKind.STRING
        while True:
            event = self.events.peek()
            if event.kind is EventKind.END:
                self._end(name)
                return "" if text else None
            if text:
                return self.options.trimmed(self._structure(name))
            if event.kind is not EventKind.TEXT:
                raise UnfitError
            if not event.blank:
                break
            self.events.take()
        value = self._typed(event.text, data_type, event.place)
        self.events.take()
        self._end(name)
        return value

    def _structure(self, name: str) -> str:
        """Return all that is inside of an element as a text."""
        parts: list[str] = []
        depth = 0
        while depth or self.events.peek().kind is not EventKind.END:
            event = self.events.take()
            if event.kind is EventKind.START:
                attributes = "".join(f' {key}="{value}"' for key, value in event.attributes)
                parts.append(f"<{event.text}{attributes}>")
                depth += 1
            elif event.kind is EventKind.END:
                parts.append(f"</{event.text}>")
                depth -= 1
            else:
                parts.append(event.text)
        self._end(name)
        return "".join(parts)

    def _end(self, name: str) -> None:
        event = self.events.take()
        while event.kind is EventKind.TEXT and event.blank:
            event = self.events.take()
        if event.kind is not EventKind.END or self.options.local(event.text) != name:
            raise UnfitError

    def _skip(self) -> None:
        depth = 1
        while depth:
            kind = self.events.take().kind
            depth += (kind is EventKind.START) - (kind is EventKind.END)

    def _value_tag(self, row: _Row, data_type: DataType, event: Event) -> None:
        place = next((at for at, field in enumerate(data_type.fields) if field.name == self.options.value_tag), None)
        if place is None:
            return
        key, field = f"f{place}", data_type.fields[place].type
        if field.kind is TypeKind.ARRAY:
            row.setdefault(key, []).append(self._typed(event.text, field.element, event.place))
        else:
            row[key] = self._typed(event.text, field, event.place)

    def _typed(self, text: str, data_type: DataType, place: int) -> str:
        """Return a value as a text that a cast to the type takes.

        Raises:
            UnfitError: It is none of the type.
        """
        value, kind = self.options.trimmed(text), data_type.kind
        if kind in self.sound:
            if not holds(self.sound[kind], place):
                raise UnfitError
            return value
        if kind is TypeKind.DECIMAL:
            return decimal_text(value.replace(",", ""), data_type)
        signed = kind in _WITHOUT_SIGN and value[:1] in ("+", "-")
        read = _single(value[1:] if signed else value, kind)
        if read is None:
            raise UnfitError
        return _negated(read, kind) if signed and value[0] == "-" else read


def _place(data_type: DataType, name: str) -> int | None:
    lowered = name.lower()
    return next((at for at, field in enumerate(data_type.fields) if field.name.lower() == lowered), None)


def _single(value: str, kind: TypeKind) -> str | None:
    if kind is TypeKind.STRING:
        return value
    if kind is TypeKind.BOOLEAN:
        return _BOOLEANS.get(value.lower())
    if kind in WHOLE_BITS:
        number = whole(value, WHOLE_BITS[kind])
        return None if number is None else str(number)
    if kind in (TypeKind.FLOAT, TypeKind.DOUBLE):
        return floating(value) or lenient(value, single=kind is TypeKind.FLOAT)
    return None


def _negated(value: str, kind: TypeKind) -> str:
    if kind in WHOLE_BITS:
        return str(wrapped(-int(value), WHOLE_BITS[kind]))
    return value if value == "NaN" else value[1:] if value.startswith("-") else f"-{value.removeprefix('+')}"
