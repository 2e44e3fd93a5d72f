"""`to_xml`: structs as XML texts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.expressions import nested_values
from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.date_patterns import moment_text
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.text_options import OPTIONS, text_options, write_patterns
from streamapp_core.expressions.growth import bounded, size, varies
from streamapp_core.expressions.kernels import XML_ESCAPED
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import STRING, VOID, DataType, TypeKind

_NAMES = {"rowtag": "ROW", "arrayelementname": "item"}
_OPTIONS = "rowTag, arrayElementName, dateFormat, timestampFormat, timestampNTZFormat"
_INDENT = "    "
_NAME = re.compile(r"[a-z][a-z0-9_.\-]*", re.IGNORECASE | re.ASCII)
_MAX_SCALE = 6
"""The most digits behind the point of a decimal that is written without an exponent."""
_PLAIN = (*INTEGRAL, *FRACTIONAL, TypeKind.BOOLEAN, TypeKind.DECIMAL)
_RARE = r"'[>\x{7f}-\x{9f}\x{fffe}\x{ffff}]'"
_FORBIDDEN = r"'[\x00-\x08\x0b\x0c\x0e-\x1f]'"


@dataclass(frozen=True, slots=True)
class _Writer:
    """A writer of XML texts by the options of a call."""

    patterns: Mapping[TypeKind, str]
    array_element: str

    def element(self, name: str, value: Value, depth: int) -> str:
        """Write an element with its value, which is cheap to repeat, on a line of its own; null of a null."""
        data_type = value.type or VOID
        if data_type.kind is TypeKind.STRUCT:
            return self._around(name, value, self._fields(value, data_type, depth), depth)
        if data_type.kind is TypeKind.ARRAY:
            return self._around(name, value, self._elements(self.array_element, value, depth + 1), depth)
        return f"{text(_line(depth) + f'<{name}>')} || {self._content(value)} || '</{name}>'"

    def _around(self, name: str, value: Value, inner: str, depth: int) -> str:
        def write(held: str) -> str:
            whole = f"{text(_line(depth) + f'<{name}>')} || {held} || {text(_line(depth) + f'</{name}>')}"
            return f"CASE WHEN {held} = '' THEN {text(_line(depth) + f'<{name}/>')} ELSE {whole} END"

        return f"CASE WHEN {value.sql} IS NOT NULL THEN {bound([Value(STRING, inner)], write)} END"

    def _fields(self, value: Value, data_type: DataType, depth: int) -> str:
        def write(parts: list[Value]) -> str:
            fields = zip(data_type.fields, parts, strict=True)
            return f"concat('', {', '.join(self._field(_name(field.name), part, depth + 1) for field, part in fields)})"

        return nested_values.over_struct(value, write)

    def _field(self, name: str, value: Value, depth: int) -> str:
        if value.kind is TypeKind.ARRAY:
            return self._elements(name, value, depth)
        return f"({self.element(name, value, depth)})"

    def _elements(self, name: str, value: Value, depth: int) -> str:
        """Write an element for each of an array, one after the other: one of an array holds its elements in turn."""
        element = (value.type or VOID).element
        written = nested_values.each(value.sql, element, lambda inner: self.element(name, inner, depth))
        return f"coalesce(array_to_string({written}, ''), '')"

    def _content(self, value: Value) -> str:
        data_type = value.type or VOID
        if data_type.kind is TypeKind.STRING:
            return _escaped(value.sql)
        if data_type.kind is TypeKind.VOID:
            return cast("NULL", STRING)
        if data_type.kind in self.patterns:
            return _escaped(moment_text(value, self.patterns[data_type.kind]))
        if data_type.kind not in _PLAIN or (data_type.kind is TypeKind.DECIMAL and data_type.scale > _MAX_SCALE):
            raise Refusal(f"to_xml writes no {data_type}; cast it to string")
        return converted(value, STRING).sql


def _line(depth: int) -> str:
    return "\n" + _INDENT * depth


def _escaped(sql: str) -> str:
    def write(v: str) -> str:
        written = v
        for sign, escape in (("&", "&amp;"), ("<", "&lt;"), ("\r", "&#xd;")):
            written = f"replace({written}, {text(sign)}, {text(escape)})"
        return f"CASE WHEN regexp_matches({v}, {_RARE}) THEN {XML_ESCAPED.over(v)} ELSE {written} END"

    return bound([Value(STRING, sql)], write)


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Refusal(
            f"to_xml takes names of letters, digits, `_`, `-` and `.` that begin with a letter, "
            f"not `{name[:40]}`; give another one by named_struct('name', value)"
        )
    return name


def _to_xml(value: Value, options: Value | None = None) -> Value:
    if value.type is None or value.type.kind is not TypeKind.STRUCT:
        raise Refusal(f"to_xml takes a struct, got {value.type}")
    given = text_options(options, "to_xml", _OPTIONS)
    names = {option: _name(given.get(option, usual)) for option, usual in _NAMES.items()}
    writer = _Writer(write_patterns(given), names["arrayelementname"])

    def checked(written: str) -> str:
        return f"CASE WHEN NOT regexp_matches({written}, {_FORBIDDEN}) THEN {written}[2:] END"

    def write(v: str) -> str:
        held = Value(value.type, v, simple=True)
        sql = bound([Value(STRING, writer.element(names["rowtag"], held, 0))], checked)
        return bounded([size(held)], sql) if varies(held.type) else sql

    return Value(STRING, bound([value], write))


XML_WRITERS = (
    Function(
        name="to_xml",
        parameters=(Parameter("value", Accepts.ANY), OPTIONS),
        optional=1,
        result="string",
        doc="The XML text of a struct, with lines for its elements; fields that are null are left out. Options: "
        f"a map of text literals with {_OPTIONS}. Null of texts with characters that XML does not have, and of more "
        "than 10 million characters and elements.",
        write=_to_xml,
    ),
)
