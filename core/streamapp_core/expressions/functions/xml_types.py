"""`from_xml` and `schema_of_xml`: XML texts read by a type, and the type of one. The kernels go row by row."""

import json
from collections.abc import Mapping

from streamapp_core.data_types import all_types, array_of
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.json_types import moment_patterns, schema_type
from streamapp_core.expressions.functions.text_moments import TextMoments
from streamapp_core.expressions.functions.text_options import OPTIONS, flag_option, text_options
from streamapp_core.expressions.kernel_texts import parsed_texts
from streamapp_core.expressions.kernels import FROM_XML, SCHEMA_OF_XML, XML_VALUES
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import BOOLEAN, DATE, STRING, TIMESTAMP, DataType, TypeKind

_NAMES = {"rowtag": "ROW", "attributeprefix": "_", "valuetag": "_VALUE"}
_OPTIONS = (
    "attributePrefix, valueTag, excludeAttribute, ignoreSurroundingSpaces, ignoreNamespace, timestampFormat, "
    "dateFormat, mode, rowTag"
)
_REST = "xs_any"
_FLAT = (TypeKind.ARRAY, TypeKind.MAP)


def _from_xml(value: Value, schema: Value, options: Value | None = None) -> Value:
    data_type = _checked(schema_type(schema, "from_xml"))
    given = text_options(options, "from_xml", _OPTIONS)
    moments, names = TextMoments(moment_patterns(given, "from_xml")), text(_names(given, "from_xml"))

    def there(v: str, target: DataType) -> str:
        if target.kind not in data_type.kinds:
            return cast("[]", array_of(BOOLEAN))
        return moments.there(XML_VALUES.over(v, names), target)

    def write(v: str) -> str:
        read = FROM_XML.over(v, text(str(data_type)), names, there(v, DATE), there(v, TIMESTAMP))
        return moments.typed(parsed_texts(read, data_type), data_type).sql

    return Value(data_type, bound([value], write))


def _checked(data_type: DataType) -> DataType:
    if data_type.kind is not TypeKind.STRUCT:
        raise Refusal("from_xml reads a list of columns, as in from_xml(a, 'id int, name string')")
    for part in all_types(data_type):
        if part.kind is TypeKind.MAP:
            raise Refusal("from_xml reads no maps, whose entries Spark keeps in no order: read a struct or a string")
        if part.kind is TypeKind.ARRAY and part.element.kind in _FLAT:
            raise Refusal(f"from_xml reads no {part}: an array holds structs or single values")
        if part.kind is TypeKind.STRUCT and any(field.name == _REST for field in part.fields):
            raise Refusal(f"from_xml fills no {_REST}: name the elements")
    return data_type


def _schema_of(value: Value, options: Value | None = None) -> Value:
    given = text_options(options, "schema_of_xml", _OPTIONS)
    moments = TextMoments(moment_patterns(given, "schema_of_xml"))
    names = text(_names(given, "schema_of_xml"))
    values = XML_VALUES.over(value.sql, names)
    return Value(
        STRING, SCHEMA_OF_XML.over(value.sql, names, moments.there(values, DATE), moments.there(values, TIMESTAMP))
    )


def _names(given: Mapping[str, str], function: str) -> str:
    """Return the options that the kernels take."""
    names = {name: given.get(name, usual) for name, usual in _NAMES.items()}
    if not names["valuetag"] or not names["rowtag"] or names["valuetag"] == names["attributeprefix"]:
        raise invalid(f"valueTag and rowTag of {function} are names, and valueTag is another one than attributePrefix")
    return json.dumps(
        {
            "attribute_prefix": names["attributeprefix"],
            "value_tag": names["valuetag"],
            "attributes": not flag_option(given, "excludeattribute", function, usual=False),
            "trims": flag_option(given, "ignoresurroundingspaces", function, usual=True),
            "local_names": flag_option(given, "ignorenamespace", function, usual=False),
        }
    )


XML_READERS = (
    Function(
        name="schema_of_xml",
        parameters=(Parameter("xml", Accepts.TEXT_LITERAL), OPTIONS),
        optional=1,
        result="string",
        doc="The type of an XML text that is a literal, such as `STRUCT<a: BIGINT>`; null if it is malformed. Options "
        "as of `from_xml`.",
        write=_schema_of,
    ),
    Function(
        name="from_xml",
        parameters=(Parameter("xml", Accepts.TEXT), Parameter("schema", Accepts.TEXT_LITERAL), OPTIONS),
        optional=1,
        result="the struct of the schema",
        doc="The value of an XML text by a schema such as `'id int, tags array<string>, _attribute string'`. All "
        "fields are null if it is malformed; what does not fit its type is null, and so is what follows in its "
        f"element. Options: a map of text literals with {_OPTIONS}. Null beyond 10 million values. Slow.",
        write=_from_xml,
    ),
)
