"""Functions of maps. A key that is null or there twice makes no map."""

from streamapp_core.data_types import array_of, map_of, struct_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.comparisons import alike
from streamapp_core.expressions.conversions import implied
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.strings import consuming
from streamapp_core.expressions.type_rules import FRACTIONAL
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import BOOLEAN, STRING, VOID, DataType, TypeKind

_COMMA, _COLON = (Value(STRING, text(mark), mark, simple=True) for mark in ",:")
_MAP = Parameter("map", Accepts.ANY)


def map_type(value: Value) -> DataType:
    """Return the type of a map.

    Raises:
        Refusal: It is none.
    """
    if value.kind is not TypeKind.MAP or value.type is None:
        raise Refusal(f"expected a map, got {value.type or 'null'}")
    return value.type


def map_key(key: str, data_type: DataType) -> str:
    """Write the key of a map: -0.0 and 0.0 are one."""
    return f"{key} + 0" if data_type.kind in FRACTIONAL else key


def from_entries(entries: str, data_type: DataType) -> str:
    """Write the map of a list of entries; null if a key is null or there twice."""
    return cast(f"TRY(map_from_entries({entries}))", data_type)


def _from_entries(value: Value) -> Value:
    entry = value.type.element if value.type and value.kind is TypeKind.ARRAY else VOID
    if entry.kind is not TypeKind.STRUCT or len(entry.fields) != 2:  # noqa: PLR2004 - a key and a value
        raise Refusal(f"map_from_entries takes an array of structs of two fields, got {value.type}")
    data_type = map_of(entry.fields[0].type, entry.fields[1].type)

    def rebuilt(inner: Value) -> str:
        key, held = nested_values.parts(inner.sql, entry)
        return nested_values.struct_sql([("key", map_key(key.sql, data_type.key)), ("value", held.sql)])

    def write(v: str) -> str:
        listed = nested_values.each(v, entry, rebuilt)
        missing = f"len(list_filter({v}, lambda __m: __m IS NULL)) > 0"
        return f"CASE WHEN {v} IS NULL OR {missing} THEN NULL ELSE {from_entries(listed, data_type)} END"

    return Value(data_type, bound([value], write))


def _concatenated(*maps: Value) -> Value:
    for value in maps:
        map_type(value)
    maps = tuple(alike(list(maps), texts=True))
    data_type = map_type(maps[0])

    def write(*sides: str) -> str:
        entries = ", ".join(f"map_entries({side})" for side in sides)
        joined = f"list_concat({entries})" if len(sides) > 1 else entries
        there = " AND ".join(f"{side} IS NOT NULL" for side in sides)
        return f"CASE WHEN {there} THEN {from_entries(joined, data_type)} END"

    return Value(data_type, bound(maps, write))


def _keys(value: Value) -> Value:
    return Value(array_of(map_type(value).key), f"map_keys({value.sql})")


def _values(value: Value) -> Value:
    return Value(array_of(map_type(value).value), f"map_values({value.sql})")


def _entries(value: Value) -> Value:
    return Value(array_of(struct_of(map_type(value).fields)), nested_values.entries(value).sql)


def _contains_key(value: Value, key: Value) -> Value:
    looked_for = implied(key, map_type(value).key)

    def write(m: str, k: str) -> str:
        return f"CASE WHEN {m} IS NOT NULL AND {k} IS NOT NULL THEN list_contains(map_keys({m}), {k}) END"

    return Value(BOOLEAN, bound([value, looked_for], write))


def _of_text(value: Value, pairs: Value = _COMMA, parts: Value = _COLON) -> Value:
    """Write `str_to_map`: a pair is split where the second pattern is found first."""
    if value.kind not in (None, TypeKind.STRING):
        raise Refusal(f"str_to_map takes a string, got {value.type}; cast it")
    between, within = (consuming("str_to_map", pattern) for pattern in (pairs, parts))
    key = text(rf"\A((?s:.*?))(?:{within.text})")
    rest = text(rf"\A(?s:.*?)(?:{within.text})((?s:.*))\z")
    found = f"regexp_matches(__p, {text(within.text)})"
    pair = nested_values.struct_sql(
        [
            ("key", f"CASE WHEN {found} THEN regexp_extract(__p, {key}, 1) ELSE __p END"),
            ("value", f"CASE WHEN {found} THEN regexp_extract(__p, {rest}, {within.groups + 1}) END"),
        ]
    )
    pairs_sql = f"string_split_regex({implied(value, STRING).sql}, {text(between.text)})"
    entries = f"list_transform({pairs_sql}, lambda __p: {pair})"
    return Value(map_of(STRING, STRING), from_entries(entries, map_of(STRING, STRING)))


MAPS = (
    Function(
        name="str_to_map",
        parameters=(
            Parameter("text", Accepts.ANY),
            Parameter("pairs", Accepts.TEXT_LITERAL),
            Parameter("parts", Accepts.TEXT_LITERAL),
        ),
        optional=2,
        result="map<string,string>",
        doc="The map of a text such as `a:1,b:2`. Regular expressions part pairs (`,`), and keys from values (`:`); "
        "null if a key is there twice.",
        write=_of_text,
    ),
    Function(name="map_keys", parameters=(_MAP,), result="an array", doc="The keys of the map.", write=_keys),
    Function(name="map_values", parameters=(_MAP,), result="an array", doc="The values of the map.", write=_values),
    Function(
        name="map_entries",
        parameters=(_MAP,),
        result="an array of structs",
        doc="The entries of the map as structs of `key` and `value`.",
        write=_entries,
    ),
    Function(
        name="map_from_entries",
        parameters=(Parameter("entries", Accepts.ANY),),
        result="a map",
        doc="The map of an array of structs of two fields; null if an entry or key is null, or a key is there twice.",
        write=_from_entries,
    ),
    Function(
        name="map_concat",
        parameters=(_MAP,),
        repeated=True,
        result="a map of the common types",
        doc="The entries of all maps; null if a key is there twice.",
        write=_concatenated,
    ),
    Function(
        name="map_contains_key",
        parameters=(_MAP, Parameter("key", Accepts.ANY)),
        result="boolean",
        doc="Whether the map has the key.",
        write=_contains_key,
    ),
)
