"""Functions that make arrays, maps and structs of values."""

from dataclasses import replace

from streamapp_core.data_types import SchemaError, map_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.comparisons import alike
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.maps import map_key
from streamapp_core.expressions.typed_sql import Value, cast
from streamapp_core.schema import VOID, DataType, TypeKind

_ANY = Accepts.ANY


def _array(*elements: Value) -> Value:
    return nested_values.array(alike(elements, texts=True) if elements else [])


def _named_struct(*arguments: Value) -> Value:
    names, values = arguments[::2], arguments[1::2]
    if len(names) != len(values):
        raise invalid("named_struct takes names and values by turns, as in named_struct('a', 1, 'b', 2)")
    fields: list[tuple[str, Value]] = []
    for name, value in zip(names, values, strict=True):
        if not isinstance(name.literal, str):
            raise invalid("the names of named_struct are text literals, as in named_struct('a', 1, 'b', 2)")
        fields.append((name.literal, value))
    return nested_values.struct(fields)


def _map(*arguments: Value) -> Value:
    if len(arguments) % 2:
        raise invalid("map takes keys and values by turns, as in map('a', 1, 'b', 2)")
    literals = [value.literal for value in arguments if isinstance(value.literal, str)]
    pairs = tuple(zip(literals[::2], literals[1::2], strict=True)) if len(literals) == len(arguments) else None
    return replace(_from_arrays(_array(*arguments[::2]), _array(*arguments[1::2])), pairs=pairs)


def _from_arrays(keys: Value, values: Value) -> Value:
    key, value = _element(keys), _element(values)
    try:
        data_type = map_of(key, value)
    except SchemaError as error:
        raise Refusal(str(error)) from None
    listed = nested_values.each(keys.sql, key, lambda e: map_key(e.sql, key))
    # A key that is null or there twice, and lists of different lengths, make no map.
    return Value(data_type, cast(f"TRY(MAP({listed}, {values.sql}))", data_type))


def _element(value: Value) -> DataType:
    if value.type is not None and value.kind is not TypeKind.ARRAY:
        raise Refusal(f"map_from_arrays takes two arrays, got {value.type}")
    return value.type.element if value.type else VOID


CONSTRUCTORS = (
    Function(
        name="array",
        parameters=(Parameter("value", _ANY),),
        optional=1,
        repeated=True,
        result="an array of the common type",
        doc="The values as an array.",
        write=_array,
    ),
    Function(
        name="named_struct",
        parameters=(Parameter("name", Accepts.TEXT_LITERAL), Parameter("value", _ANY)),
        repeated=True,
        result="a struct",
        doc="The values as a struct, with names. `struct(a, b + 1 as c)` takes the names from the values.",
        write=_named_struct,
    ),
    Function(
        name="map",
        parameters=(Parameter("key", _ANY), Parameter("value", _ANY)),
        optional=2,
        repeated=True,
        result="a map of the common types",
        doc="A map of keys and values by turns; null if a key is null or there twice.",
        write=_map,
    ),
    Function(
        name="map_from_arrays",
        parameters=(Parameter("keys", _ANY), Parameter("values", _ANY)),
        result="a map",
        doc="A map of an array of keys and one of values; null if a key is null or there twice, or the lengths differ.",
        write=_from_arrays,
    ),
)
