"""`to_json`: structs, arrays and maps as JSON texts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.data_types import struct_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.date_patterns import moment_text
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.text_options import (
    OPTIONS,
    flag_option,
    text_options,
    write_patterns,
)
from streamapp_core.expressions.growth import bounded, size, varies
from streamapp_core.expressions.kernels import VARIANT_JSON
from streamapp_core.expressions.session_zone import session_zone
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import STRING, VOID, DataType, TypeKind

_WITH_KEYS = (*INTEGRAL, TypeKind.BOOLEAN, TypeKind.DECIMAL, TypeKind.VOID)
_OPTIONS = "dateFormat, timestampFormat, timestampNTZFormat, ignoreNullFields, sortKeys"


@dataclass(frozen=True, slots=True)
class _Writer:
    """A writer of JSON texts by the options of a call."""

    patterns: Mapping[TypeKind, str]
    keeps_nulls: bool = False
    sorts_keys: bool = False

    def written(self, value: Value) -> str:
        """Write the JSON text of a value that is cheap to repeat; null of a null."""
        data_type = value.type or VOID
        match data_type.kind:
            case TypeKind.STRUCT:
                sql = self._object(value, data_type)
            case TypeKind.ARRAY:
                elements = nested_values.each(value.sql, data_type.element, self._element)
                sql = f"'[' || array_to_string({elements}, ',') || ']'"
            case TypeKind.MAP:
                sql = self._map(value, data_type)
            case TypeKind.STRING:
                sql = f"CASE WHEN {value.sql} IS NOT NULL THEN CAST(to_json({value.sql}) AS VARCHAR) END"
            case TypeKind.BINARY:
                sql = _quoted(f"base64({value.sql})")
            case TypeKind.DATE | TypeKind.TIMESTAMP | TypeKind.TIMESTAMP_NTZ:
                sql = self._moment(value, data_type.kind)
            case kind if kind in FRACTIONAL:
                shown = converted(value, STRING).sql
                sql = f"CASE WHEN isfinite({value.sql}) THEN {shown} ELSE {_quoted(shown)} END"
            case TypeKind.DAY_TIME_INTERVAL | TypeKind.YEAR_MONTH_INTERVAL:
                sql = _quoted(converted(value, STRING).sql)
            case _:
                sql = _plain(value)
        return sql

    def _element(self, element: Value) -> str:
        return f"coalesce({self.written(element)}, 'null')"

    def _object(self, value: Value, data_type: DataType) -> str:
        def write(parts: list[Value]) -> str:
            named = list(zip((field.name for field in data_type.fields), parts, strict=True))
            if self.sorts_keys:
                named.sort(key=lambda pair: pair[0].encode("utf-16-be"))
            fields = ", ".join(
                f"{text(json.dumps(name, ensure_ascii=False) + ':')} || {self._field(part)}" for name, part in named
            )
            return f"'{{' || concat_ws(',', {fields}) || '}}'"

        return nested_values.over_struct(value, write)

    def _field(self, value: Value) -> str:
        return self._element(value) if self.keeps_nulls else f"({self.written(value)})"

    def _map(self, value: Value, data_type: DataType) -> str:
        if self.sorts_keys:
            raise Refusal("to_json with sortKeys takes no maps: their keys may be in another order than Spark's")

        def entry(element: Value) -> str:
            key, held = nested_values.parts(element.sql, struct_of(data_type.fields))
            return f"{self.written(_named(key))} || ':' || {self._element(held)}"

        entries = nested_values.each(nested_values.entries(value).sql, struct_of(data_type.fields), entry)
        return f"'{{' || array_to_string({entries}, ',') || '}}'"

    def _moment(self, value: Value, kind: TypeKind) -> str:
        return f"CAST(to_json({moment_text(value, self.patterns[kind])}) AS VARCHAR)"


def _plain(value: Value) -> str:
    if value.kind is TypeKind.VARIANT:
        return VARIANT_JSON.over(value.sql, text(session_zone().id))
    return cast("NULL", STRING) if value.kind is TypeKind.VOID else converted(value, STRING).sql


def _quoted(sql: str) -> str:
    return f"'\"' || {sql} || '\"'"


def _named(key: Value) -> Value:
    """Return the name that a key of a map gets."""
    if key.kind is TypeKind.STRING:
        return key
    if key.kind is TypeKind.DATE:
        return Value(STRING, cast(f"date_diff('day', DATE '1970-01-01', {key.sql})", STRING))
    if key.kind not in _WITH_KEYS:
        raise Refusal(
            f"to_json takes maps whose keys are texts, numbers, booleans or dates, not {key.type}; "
            "make others of them by transform_keys"
        )
    return converted(key, STRING)


def _to_json(value: Value, options: Value | None = None) -> Value:
    if value.type is None:
        return Value(STRING, cast("NULL", STRING))
    if not value.type.nested and value.kind is not TypeKind.VARIANT:
        raise Refusal(f"to_json takes a struct, array, map or variant, got {value.type}")
    writer = _writer(options)

    def write(v: str) -> str:
        held = Value(value.type, v, simple=True)
        return bounded([size(held)], writer.written(held)) if varies(value.type) else writer.written(held)

    return Value(STRING, bound([value], write))


def _writer(options: Value | None) -> _Writer:
    given = text_options(options, "to_json", _OPTIONS)
    leaves_out = flag_option(given, "ignorenullfields", "to_json", usual=True)
    return _Writer(write_patterns(given), not leaves_out, flag_option(given, "sortkeys", "to_json", usual=False))


JSON_WRITERS = (
    Function(
        name="to_json",
        parameters=(Parameter("value", Accepts.ANY), OPTIONS),
        optional=1,
        result="string",
        doc="The JSON text of a struct, array, map or variant; fields that are null are left out. Options: a map of "
        f"text literals with {_OPTIONS}. Null of more than 10 million characters and elements.",
        write=_to_json,
    ),
)
