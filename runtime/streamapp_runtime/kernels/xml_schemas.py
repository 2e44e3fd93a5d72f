"""The kernel of `schema_of_xml`: the type of an XML text, as Spark infers it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa

from streamapp_runtime.kernels.inferred_types import DOUBLE, NULL, STRING, InferredType, usual, written
from streamapp_runtime.kernels.java_numbers import whole
from streamapp_runtime.kernels.java_units import utf16_order
from streamapp_runtime.kernels.row_functions import each_row
from streamapp_runtime.kernels.text_schemas import DATE, TIMESTAMP, UnknownTypeError, holds, is_floating, type_of_word
from streamapp_runtime.kernels.xml_events import Event, EventKind, EventStream
from streamapp_runtime.kernels.xml_options import XmlOptions
from streamapp_runtime.kernels.xml_trees import MalformedXmlError

_LONG = 64
_Fields = dict[str, tuple[str, InferredType]]
"""Fields by their names in lower case."""


def schema_of_xml(texts: pa.Array, options: pa.Array, dates: pa.Array, timestamps: pa.Array) -> pa.Array:
    """Return the types of XML texts; null for one that is malformed, or holds what is not known.

    `dates` and `timestamps` say of the values in a text whether they are some.
    """
    return pa.array(each_row(_schema, texts, options, dates, timestamps), pa.string())


def _schema(text: str, given: str, dates: list[bool], timestamps: list[bool]) -> str | None:
    events = EventStream(text)
    try:
        found = _Inference(events, XmlOptions.parse(given), dates, timestamps).object(events.take())
    except (MalformedXmlError, UnknownTypeError):
        return None
    return written(usual(found) or InferredType("STRUCT"))


@dataclass(frozen=True, slots=True)
class _Inference:
    events: EventStream
    options: XmlOptions
    dates: Sequence[bool]
    timestamps: Sequence[bool]

    def object(self, start: Event | None = None) -> InferredType:
        """Infer the type of what is inside of an element, up to its end."""
        fields: _Fields = {}
        for name, found in () if start is None else self._attributes(start):
            self._add(fields, name, found)
        while (event := self.events.take()).kind in (EventKind.START, EventKind.TEXT):
            if event.kind is EventKind.START:
                attributes = self._attributes(event)
                self._add(fields, self.options.local(event.text), self._with(attributes, self._element()))
            elif not event.blank:
                self._add(fields, self.options.value_tag, self._value(event.text, event.place))
        return _struct(list(fields.values()))

    def _attributes(self, start: Event) -> list[tuple[str, InferredType]]:
        if not self.options.attributes:
            return []
        named = {
            self.options.attribute_prefix + self.options.local(name): self._value(value, start.place + number)
            for number, (name, value) in enumerate(start.attributes)
        }
        return list(named.items())

    def _element(self) -> InferredType:
        kind = self.events.peek().kind
        if kind is EventKind.END:
            self.events.take()
            return NULL
        found = self.object()
        if kind is EventKind.START:
            return found
        if not found.fields:
            return NULL
        (name, inner), *others = found.fields
        plain = not others and inner.name not in ("STRUCT", "ARRAY")
        return inner if plain and name.lower() == self.options.value_tag.lower() else found

    def _with(self, attributes: list[tuple[str, InferredType]], found: InferredType) -> InferredType:
        if not attributes:
            return found
        own = found.fields if found.name == "STRUCT" else () if found == NULL else [(self.options.value_tag, found)]
        return _struct([*own, *attributes])

    def _add(self, fields: _Fields, name: str, added: InferredType) -> None:
        if name.lower() not in fields:
            fields[name.lower()] = (name, added)
            return
        first, known = fields[name.lower()]
        merged = self._common(known, added)
        fields[name.lower()] = (first, merged if known.element else InferredType("ARRAY", element=merged))

    def _common(self, one: InferredType, other: InferredType) -> InferredType:
        """Return the type that holds values of two types."""
        names = {one.name, other.name}
        if one == other or NULL in (one, other):
            return other if one == NULL else one
        if names == {"STRUCT"}:
            return self._merged([*one.fields, *other.fields])
        if "ARRAY" in names:
            return InferredType("ARRAY", element=self._common(one.element or one, other.element or other))
        if "STRUCT" in names:
            struct, value = (one, other) if one.name == "STRUCT" else (other, one)
            return self._with_value(struct, value)
        if names == {"BIGINT", "DOUBLE"}:
            return DOUBLE
        return TIMESTAMP if {one, other} == {DATE, TIMESTAMP} else STRING

    def _merged(self, fields: Sequence[tuple[str, InferredType]]) -> InferredType:
        groups: dict[str, list[tuple[str, InferredType]]] = {}
        for field in fields:
            groups.setdefault(field[0].lower(), []).append(field)
        return _struct([(held[0][0], reduce(self._common, [found for _, found in held])) for held in groups.values()])

    def _with_value(self, struct: InferredType, value: InferredType) -> InferredType:
        tag = self.options.value_tag
        if tag not in dict(struct.fields):
            return STRING
        return replace(
            struct,
            fields=[(name, self._common(found, value) if name == tag else found) for name, found in struct.fields],
        )

    def _value(self, text: str, place: int) -> InferredType:
        value = self.options.trimmed(text)
        if not value:
            return NULL
        number = value[1:] if value[0] in "+-" else value
        if number[:1].isdecimal() and whole(number, _LONG) is not None:
            return InferredType("BIGINT")
        if (number[:1].isdecimal() or number[:1] == ".") and number[-1] not in "dDfF" and is_floating(number):
            return DOUBLE
        return type_of_word(value, date=holds(self.dates, place), timestamp=holds(self.timestamps, place))


def _struct(fields: list[tuple[str, InferredType]]) -> InferredType:
    return InferredType("STRUCT", fields=sorted(fields, key=lambda field: utf16_order(field[0])))
