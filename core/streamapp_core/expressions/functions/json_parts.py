"""Functions that take parts out of JSON texts. Their kernels go row by row."""

from streamapp_core.expressions.conversions import implied
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import GET_JSON_OBJECT, JSON_ARRAY_LENGTH, JSON_OBJECT_KEYS
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import STRING

JSON = Parameter("json", Accepts.ANY)


def json_text(value: Value) -> str:
    """Return the SQL of a JSON text; as in Spark, no other value is taken for one.

    Raises:
        Refusal: The value is no text.
    """
    if value.type not in (None, STRING):
        raise Refusal(f"expected a JSON text, got {value.type}; to_json writes one of a struct, array or map")
    return implied(value, STRING).sql


def _at_path(value: Value, path: Value) -> Value:
    return Value(GET_JSON_OBJECT.result, GET_JSON_OBJECT.over(json_text(value), path.sql))


def _length(value: Value) -> Value:
    return Value(JSON_ARRAY_LENGTH.result, JSON_ARRAY_LENGTH.over(json_text(value)))


def _keys(value: Value) -> Value:
    return Value(JSON_OBJECT_KEYS.result, JSON_OBJECT_KEYS.over(json_text(value)))


JSON_PARTS = (
    Function(
        name="get_json_object",
        parameters=(JSON, Parameter("path", Accepts.TEXT)),
        result="string",
        doc="What is at a path such as `$.a[0].b` or `$.a[*].b` of a JSON text; null if there is nothing, or the text "
        "is malformed. A path has up to 100 steps. Slow.",
        write=_at_path,
    ),
    Function(
        name="json_array_length",
        parameters=(JSON,),
        result="int",
        doc="The number of elements of a JSON array; null if the text is none. Slow.",
        write=_length,
    ),
    Function(
        name="json_object_keys",
        parameters=(JSON,),
        result="array<string>",
        doc="The names of the fields of a JSON object; null if the text is none. Slow.",
        write=_keys,
    ),
)
