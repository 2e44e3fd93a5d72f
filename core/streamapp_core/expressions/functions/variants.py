"""Functions of variants: JSON values whose types are their own. The kernels go row by row."""

import re

from streamapp_core.data_types import VARIANT, SchemaError
from streamapp_core.expressions.conversions import converted
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.json_parts import JSON, json_text
from streamapp_core.expressions.kernels import PARSED_VARIANT, SCHEMA_OF_VARIANT, VARIANT_PART
from streamapp_core.expressions.typed_sql import Value, variant_value
from streamapp_core.expressions.variant_values import to_variant
from streamapp_core.schema import BOOLEAN, STRING, parse_type

_VARIANT = Parameter("variant", Accepts.ANY)
_PATH = re.compile(r"""\$(?:\.[^.\[]+|\['[^']*'\]|\["[^"]*"\]|\[[0-9]{1,10}\])*""")


def _parsed(value: Value) -> Value:
    return Value(VARIANT, PARSED_VARIANT.over(json_text(value)))


def _a_variant(value: Value) -> str:
    if value.type not in (None, VARIANT):
        raise Refusal(f"expected a variant, got {value.type}; parse_json makes one of a JSON text")
    return converted(value, VARIANT).sql


def _part(value: Value, path: Value, kind: Value | None = None) -> Value:
    if isinstance(path.literal, str) and not _PATH.fullmatch(path.literal):
        raise invalid(f"`{path.literal[:40]}` is no path into a variant; write one as in '$.a[0].b', or '$[\"a b\"]'")
    found = Value(VARIANT, VARIANT_PART.over(_a_variant(value), path.sql))
    if kind is None:
        return found
    try:
        return converted(found, parse_type(str(kind.literal)))
    except SchemaError as error:
        raise invalid(f"the type of variant_get: {error}") from None


def _is_null(value: Value) -> Value:
    return Value(BOOLEAN, f"coalesce({variant_value(_a_variant(value))} = '\\x00'::BLOB, false)")


def _is_valid(value: Value) -> Value:
    return Value(BOOLEAN, f"CASE WHEN {_a_variant(value)} IS NOT NULL THEN true END")


def _schema(value: Value) -> Value:
    return Value(STRING, SCHEMA_OF_VARIANT.over(_a_variant(value)))


def _object(value: Value) -> Value:
    if value.type is None or not value.type.nested:
        raise Refusal(f"to_variant_object takes a struct, array or map, got {value.type or 'null'}; use cast")
    return to_variant(value, objects=True)


VARIANTS = (
    Function(
        name="parse_json",
        aliases=("try_parse_json",),
        parameters=(JSON,),
        result="variant",
        doc="The value of a JSON text; null if it is malformed, has a field twice, more than 200 levels, or 16 MB. "
        "Slow.",
        write=_parsed,
    ),
    Function(
        name="variant_get",
        aliases=("try_variant_get",),
        parameters=(_VARIANT, Parameter("path", Accepts.TEXT), Parameter("type", Accepts.TEXT_LITERAL)),
        optional=1,
        result="variant, or the type",
        doc="What is at a path such as `$.a[0]['b c']`, cast to a type such as `'int'`; null if nothing is, or it does "
        "not fit. Slow.",
        write=_part,
    ),
    Function(
        name="is_variant_null",
        parameters=(_VARIANT,),
        result="boolean",
        doc="Whether a variant holds the null of JSON; never null.",
        write=_is_null,
    ),
    Function(
        name="is_valid_variant",
        parameters=(_VARIANT,),
        result="boolean",
        doc="True of every variant.",
        write=_is_valid,
    ),
    Function(
        name="schema_of_variant",
        parameters=(_VARIANT,),
        result="string",
        doc="The type of what a variant holds, such as `ARRAY<OBJECT<a: BIGINT>>`; null if a million fields don't "
        "suffice to find it. Slow.",
        write=_schema,
    ),
    Function(
        name="to_variant_object",
        parameters=(Parameter("value", Accepts.ANY),),
        result="variant",
        doc="A struct, array or map as a variant, with objects of structs and maps. Slow.",
        write=_object,
    ),
)
