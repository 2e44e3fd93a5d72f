"""`from_json` and `schema_of_json`: JSON texts read by a type, and the type of one. The kernels go row by row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.data_types import SchemaError, all_types, struct_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.date_parts import text_moment
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.json_parts import JSON, json_text
from streamapp_core.expressions.functions.maps import from_entries
from streamapp_core.expressions.functions.text_options import OPTIONS, flag_option, text_options
from streamapp_core.expressions.kernel_texts import parsed_texts
from streamapp_core.expressions.kernels import FROM_JSON, SCHEMA_OF_JSON
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import DATE, STRING, DataType, TypeKind, parse_schema, parse_type

_MOMENTS = (TypeKind.DATE, TypeKind.TIMESTAMP)
_INSTEAD = {
    TypeKind.BINARY: "read a string, then unbase64(...)",
    TypeKind.TIMESTAMP_NTZ: "read a string, then cast it",
    TypeKind.VOID: "leave it out",
    TypeKind.VARIANT: "read a string, then parse_json(...)",
}
_CORRUPT = "_corrupt_record"
_OPTIONS = "timestampFormat, dateFormat, mode"
_MODE = "PERMISSIVE"
_ZEROS = "allowNumericLeadingZeros"
_MAX_CONTAINERS = 200
"""The most arrays and objects of a text whose type is asked for."""
_WHOLE_DAYS = r"[+-]?[0-9]{1,10}"
_JULIAN_UNTIL = -141_427
"""The first day that both calendars count alike: 1582-10-15."""
_JULIAN_START = 719_470
"""The days from March 1 of the Julian year 0 to 1970."""


def _from_json(value: Value, schema: Value, options: Value | None = None) -> Value:
    data_type = schema_type(schema, "from_json")
    given = text_options(options, "from_json", _OPTIONS)
    read = FROM_JSON.over(json_text(value), text(str(data_type)))
    reader = TextReader(moment_patterns(given, "from_json"), counts_days=True)
    return Value(data_type, reader.typed(parsed_texts(read, data_type), data_type).sql)


def schema_type(schema: Value, function: str) -> DataType:
    """Read a type that a call names, or a list of columns, which is a struct.

    Raises:
        Refusal: It is none, or one that is not read.
    """
    written = schema.literal
    if not isinstance(written, str):
        raise invalid(f"the schema of {function} is a text literal, as in {function}(a, 'id int, name string')")
    try:
        nested = re.match(r"\s*(?:struct|array|map)\s*<", written, re.IGNORECASE)
        data_type = parse_type(written) if nested else struct_of(parse_schema(written).columns)
    except SchemaError as error:
        raise invalid(f"the schema of {function}: {error}") from None
    for part in all_types(data_type):
        if part.kind in _INSTEAD:
            raise Refusal(f"{function} reads no {part.kind}: {_INSTEAD[part.kind]}")
        if part.kind is TypeKind.MAP and part.key.kind is not TypeKind.STRING:
            raise Refusal(f"{function} reads maps whose keys are strings, not {part.key}")
        inside = part.fields if part.kind in (TypeKind.ARRAY, TypeKind.MAP) else ()
        if any(field.type.kind in _MOMENTS for field in inside):
            raise Refusal(f"{function} reads no {part}: read strings, and cast them by transform(...)")
    if data_type.kind is TypeKind.STRUCT and data_type.get(_CORRUPT):
        raise Refusal(f"{function} fills no {_CORRUPT}: a text that is malformed gives nulls")
    return data_type


def moment_patterns(given: Mapping[str, str], function: str) -> Mapping[TypeKind, Value]:
    """Return the patterns of dates and timestamps among the options of a call.

    Raises:
        Refusal: The mode among them is one that stops an app.
    """
    if given.get("mode", _MODE).upper() != _MODE:
        raise invalid(f"the mode of {function} is {_MODE}: a malformed text gives nulls, and ends no app")
    names = {TypeKind.TIMESTAMP: "timestampformat", TypeKind.DATE: "dateformat"}
    return {
        kind: Value(STRING, text(given[name]), given[name], simple=True)
        for kind, name in names.items()
        if name in given
    }


@dataclass(frozen=True, slots=True)
class TextReader:
    """A writer of values out of texts, with the patterns of a call; a date may be a number of days."""

    patterns: Mapping[TypeKind, Value]
    counts_days: bool

    def typed(self, value: Value, target: DataType) -> Value:
        """Write a value of the type."""
        if target.kind is TypeKind.MAP:
            return Value(target, self._map(value, target))
        if target.nested:
            return nested_values.converted(value, target, self.typed) or value
        if target.kind not in _MOMENTS:
            return converted(value, target)
        return Value(target, bound([value], lambda v: self._moment(Value(STRING, v, simple=True), target)))

    def _map(self, value: Value, target: DataType) -> str:
        def write(v: str) -> str:
            entries = nested_values.converted_entries(Value(value.type, v, simple=True), target, self.typed)
            return f"CASE WHEN {v} IS NOT NULL THEN {from_entries(entries, target)} END"

        return bound([value], write)

    def _moment(self, value: Value, target: DataType) -> str:
        """Write a date or timestamp: by its pattern, else as a cast does, without `GMT` if need be, or of a number."""
        if target.kind in self.patterns:
            read = text_moment(target, value, self.patterns[target.kind]).sql
        else:
            without_zone = Value(STRING, f"replace({value.sql}, 'GMT', '')")
            read = f"coalesce({converted(value, target).sql}, {converted(without_zone, target).sql})"
            if target == DATE and self.counts_days:
                return f"coalesce({read}, {_day(value.sql)})"
        if target == DATE:
            return read
        number = f"TRY(make_timestamptz(CAST({value.sql}[2:] AS BIGINT)))"
        return f"CASE WHEN starts_with({value.sql}, '@') THEN {number} ELSE {read} END"


def _day(value: str) -> str:
    """Write the date of a number of days since 1970, as Spark 1.5 wrote them."""
    whole = f"CASE WHEN regexp_full_match({value}, '{_WHOLE_DAYS}') THEN TRY_CAST({value} AS INTEGER) END"

    def write(d: str) -> str:
        # Days before 1582-10-15 are counted in the Julian calendar, where every fourth year is longer.
        century = f"CAST(floor((4 * ({d}::BIGINT + {_JULIAN_START}) + 3) / 146100.0) AS BIGINT)"
        moved = f"{d} + 2 - {century} + CAST(floor({century} / 4.0) AS BIGINT)"
        day = f"CASE WHEN {d} >= {_JULIAN_UNTIL} THEN {d} ELSE {moved} END"
        return f"TRY(DATE '1970-01-01' + CAST({day} AS INTEGER))"

    return cast(bound([Value(None, whole)], write), DATE)


def _schema_of(value: Value, options: Value | None = None) -> Value:
    written = str(value.literal)
    if written.count("[") + written.count("{") > _MAX_CONTAINERS:
        raise invalid(f"schema_of_json takes a text with up to {_MAX_CONTAINERS} arrays and objects")
    zeros = flag_option(text_options(options, "schema_of_json", _ZEROS), _ZEROS, "schema_of_json", usual=False)
    return Value(STRING, SCHEMA_OF_JSON.over(value.sql, str(zeros).lower()))


JSON_READERS = (
    Function(
        name="schema_of_json",
        parameters=(Parameter("json", Accepts.TEXT_LITERAL), OPTIONS),
        optional=1,
        result="string",
        doc="The type of a JSON text that is a literal, such as `STRUCT<a: BIGINT>`; null if it is malformed.",
        write=_schema_of,
    ),
    Function(
        name="from_json",
        parameters=(JSON, Parameter("schema", Accepts.TEXT_LITERAL), OPTIONS),
        optional=1,
        result="the type of the schema",
        doc="The value of a JSON text by a schema such as `'id int, tags array<string>'` or `'map<string,int>'`. What "
        "does not fit its type is null, as are all fields of a text that is malformed, and a map with a key twice. "
        f"Options: a map of text literals with {_OPTIONS}. Null beyond 10 million values. Slow.",
        write=_from_json,
    ),
)
