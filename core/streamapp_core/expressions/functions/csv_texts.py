"""`from_csv` and `to_csv`: lines of CSV by a type, structs as lines, and the type of a line. Kernels go row by row."""

import re

from streamapp_core.expressions import nested_values
from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.date_patterns import moment_text
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.json_types import TextReader, moment_patterns, schema_type
from streamapp_core.expressions.functions.text_moments import TextMoments
from streamapp_core.expressions.functions.text_options import OPTIONS, text_options, write_patterns
from streamapp_core.expressions.kernel_texts import parsed_texts
from streamapp_core.expressions.kernels import CSV_VALUES, FROM_CSV, SCHEMA_OF_CSV, TO_CSV
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import DATE, STRING, TIMESTAMP, VOID, TypeKind

_SEPARATOR = re.compile(r'[^\x00-\x08\x0a-\x20"\\]')
_READ = "timestampFormat, dateFormat, mode, sep"
_WRITTEN = "timestampFormat, timestampNTZFormat, dateFormat, sep"
_UNWRITTEN = (TypeKind.BINARY, TypeKind.VARIANT, TypeKind.ARRAY, TypeKind.MAP, TypeKind.STRUCT)


def _from_csv(value: Value, schema: Value, options: Value | None = None) -> Value:
    if value.type not in (None, STRING):
        raise Refusal(f"expected a CSV text, got {value.type}")
    data_type = schema_type(schema, "from_csv")
    flat = data_type.kind is TypeKind.STRUCT and not any(field.type.nested for field in data_type.fields)
    if not flat:
        raise Refusal("from_csv reads a list of columns that hold no others, as in from_csv(a, 'id int, name string')")
    separator, given = _separator(options, "from_csv", _READ)
    read = FROM_CSV.over(converted(value, STRING).sql, text(str(data_type)), text(separator))
    reader = TextReader(moment_patterns(given, "from_csv"), counts_days=False)
    return Value(data_type, reader.typed(parsed_texts(read, data_type), data_type).sql)


def _schema_of(value: Value, options: Value | None = None) -> Value:
    separator, given = _separator(options, "schema_of_csv", _READ)
    moments = TextMoments(moment_patterns(given, "schema_of_csv"))

    def write(values: str) -> str:
        return SCHEMA_OF_CSV.over(values, moments.there(values, DATE), moments.there(values, TIMESTAMP))

    return Value(STRING, bound([Value(None, CSV_VALUES.over(value.sql, text(separator)))], write))


def _to_csv(value: Value, options: Value | None = None) -> Value:
    data_type = value.type or VOID
    if data_type.kind is not TypeKind.STRUCT or any(field.type.kind in _UNWRITTEN for field in data_type.fields):
        raise Refusal(f"to_csv takes a struct of single values but binaries and variants, got {data_type}")
    separator, given = _separator(options, "to_csv", _WRITTEN)

    patterns = write_patterns(given)

    def written(part: Value) -> str:
        if part.kind is not None and part.kind in patterns:
            return moment_text(part, patterns[part.kind])
        return cast("NULL", STRING) if part.kind is TypeKind.VOID else converted(part, STRING).sql

    def write(parts: list[Value]) -> str:
        return TO_CSV.over(f"[{', '.join(map(written, parts))}]", text(separator))

    return Value(STRING, nested_values.over_struct(value, write))


def _separator(options: Value | None, function: str, known: str) -> tuple[str, dict[str, str]]:
    """Return the separator and the other options of a call.

    Raises:
        Refusal: There is no such option, or no such separator.
    """
    given = dict(text_options(options, function, known, others=("delimiter",)))
    separator = given.pop("delimiter", given.pop("sep", ","))
    if not _SEPARATOR.fullmatch(separator):
        raise invalid(f"the separator of {function} is one character, no quote, backslash or space")
    return separator, given


CSV_TEXTS = (
    Function(
        name="schema_of_csv",
        parameters=(Parameter("csv", Accepts.TEXT_LITERAL), OPTIONS),
        optional=1,
        result="string",
        doc="The type of a line of CSV that is a literal, such as `STRUCT<_c0: INT, _c1: STRING>`; null if it is "
        "empty. Options as of `from_csv`.",
        write=_schema_of,
    ),
    Function(
        name="from_csv",
        parameters=(Parameter("csv", Accepts.ANY), Parameter("schema", Accepts.TEXT_LITERAL), OPTIONS),
        optional=1,
        result="the struct of the schema",
        doc="The value of a line of CSV by a schema such as `'id int, name string'`. What does not fit its type, is "
        f"empty or not there is null. Options: a map of text literals with {_READ}. Slow.",
        write=_from_csv,
    ),
    Function(
        name="to_csv",
        parameters=(Parameter("value", Accepts.ANY), OPTIONS),
        optional=1,
        result="string",
        doc="A struct as a line of CSV; what needs it stands in quotes. Options: a map of text literals with "
        f"{_WRITTEN}. Slow.",
        write=_to_csv,
    ),
)
