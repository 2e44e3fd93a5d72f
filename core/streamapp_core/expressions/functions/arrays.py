"""Functions of arrays. Positions count from 1; values are equal as by `<=>`, so a null is one of them."""

from collections.abc import Callable
from functools import partial

from streamapp_core.data_types import Column, array_of, struct_of, unordered
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.comparisons import alike
from streamapp_core.expressions.conversions import converted, implied
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.strings import consuming
from streamapp_core.expressions.growth import MAX_ELEMENTS, SHORT, bounded, size, varies
from streamapp_core.expressions.kernels import COMMON_PLACES, FIRST_PLACES, MISSING_PLACES, OVERLAP, Kernel
from streamapp_core.expressions.regex_translation import MAX_REPEAT
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL, NUMERIC, common_number, common_type
from streamapp_core.expressions.typed_sql import Value, bound, cast, one_zero, text
from streamapp_core.schema import BIGINT, BOOLEAN, INT, STRING, VOID, DataType, TypeKind

_ARRAY = Parameter("array", Accepts.ANY)
_OTHER = Parameter("other", Accepts.ANY)
_VALUE = Parameter("value", Accepts.ANY)
_COUNT = Parameter("count", Accepts.WHOLE)
_TEXT = Parameter("text", Accepts.TEXT)
_PATTERN = Parameter("pattern", Accepts.TEXT_LITERAL)


def element_type(value: Value) -> DataType:
    """Return the type of an array's elements.

    Raises:
        Refusal: It is no array.
    """
    if value.kind is not TypeKind.ARRAY or value.type is None:
        raise Refusal(f"expected an array, got {value.type or 'null'}")
    return value.type.element


def _joined(value: Value, delimiter: Value, missing: Value | None = None) -> Value:
    """Write `array_join`; nulls are left out, or replaced."""
    texts = converted(value, array_of(STRING)) if element_type(value) != STRING else value

    def write(v: str, m: str | None = None) -> str:
        shown = f"list_transform({v}, lambda __j: coalesce(__j, {m}))" if m else v
        there = f"{v} IS NOT NULL" + (f" AND {m} IS NOT NULL" if m else "")
        joined = f"coalesce(array_to_string({shown}, {delimiter.sql}), '')"
        if m or len(str(delimiter.literal)) > SHORT:
            joined = bounded([f"len({v})", f"(strlen({delimiter.sql}) + {f'strlen({m})' if m else 0})"], joined)
        return f"CASE WHEN {there} THEN {joined} END"

    return Value(STRING, bound([texts] + ([missing] if missing else []), write))


def _an_array(value: Value) -> Value:
    element_type(value)
    return value


def comparable(value: Value) -> Value:
    """Return an array whose elements can be compared.

    Raises:
        Refusal: It is none.
    """
    element = element_type(value)
    if kind := unordered(element):
        raise Refusal(f"{kind}s can't be compared")
    return value


def _with_value(array: Value, value: Value) -> tuple[Value, Value]:
    """Bring an array and a value to one type, as far as numbers go."""
    element = element_type(comparable(array))
    if value.type in (None, element) or value.type is None:
        return array, converted(value, element)
    if value.kind not in NUMERIC or element.kind not in NUMERIC or TypeKind.DECIMAL in (value.kind, element.kind):
        raise Refusal(f"the elements are {element}, the value is {value.type}; cast one of them")
    common = common_number(element, value.type)
    return converted(array, array_of(common)), converted(value, common)


def _as_sets(*arrays: Value) -> list[Value]:
    """Bring arrays to one type, and floating numbers in them to one zero and one NaN."""
    for array in arrays:
        comparable(array)
    return [_normalized(array, array.type or VOID) for array in alike(list(arrays), texts=True)]


def _normalized(value: Value, data_type: DataType) -> Value:
    if not data_type.kinds & FRACTIONAL:
        return value
    nested = nested_values.converted(value, data_type, _normalized)
    return nested or Value(data_type, bound([value], lambda v: cast(one_zero(v), data_type)))


def _distinct(listed: str) -> str:
    return f"list_select({listed}, {FIRST_PLACES.over(listed)})"


def _sorted(value: Value, *, ascending: bool, nulls_first: bool) -> str:
    """Write a stable sort, by what DuckDB sorts as Spark does."""
    element = element_type(comparable(value))
    order = "ASC" if ascending else "DESC"

    def write(v: str) -> str:
        nulls = f"list_filter({v}, lambda __n: __n IS NULL)"
        present = f"list_filter({v}, lambda __n: __n IS NOT NULL)"
        if element.nested or element.kind in FRACTIONAL:
            key = nested_values.order_key(Value(element, "__s", simple=True))
            key = f"CASE WHEN isnan({key}) THEN {key} ELSE {key} + 0 END" if element.kind in FRACTIONAL else key
            place = "__i" if ascending else "-__i"
            keyed = f"list_transform({present}, lambda __s, __i: {{'k': {key}, 'i': {place}, 'v': __s}})"
            ordered = f"list_transform(list_sort({keyed}, '{order}'), lambda __s: __s.v)"
        else:
            ordered = f"list_sort({present}, '{order}')"
        return f"list_concat({nulls}, {ordered})" if nulls_first else f"list_concat({ordered}, {nulls})"

    return bound([value], lambda v: f"CASE WHEN {v} IS NOT NULL THEN {write(v)} END")


def in_order(value: Value) -> str:
    """Write an array sorted upwards, nulls first."""
    return _sorted(value, ascending=True, nulls_first=True)


def _sort_array(value: Value, ascending: Value | None = None) -> Value:
    up = True if ascending is None else ascending.literal
    if not isinstance(up, bool):
        raise invalid("the second argument of sort_array is true or false")
    return Value(value.type, _sorted(value, ascending=up, nulls_first=up))


def _array_sort(value: Value) -> Value:
    return Value(value.type, _sorted(value, ascending=True, nulls_first=False))


def _extreme(value: Value, *, least: bool) -> Value:
    ordered = _sorted(value, ascending=least, nulls_first=False)
    element = element_type(value)
    return Value(element, cast(f"list_extract({ordered}, 1)", element))


def _size(value: Value, missing: str) -> Value:
    if value.kind not in (None, TypeKind.ARRAY, TypeKind.MAP):
        raise Refusal(f"expected an array or map, got {value.type}")
    if value.type is None:
        return Value(INT, cast(missing, INT))
    function = "cardinality" if value.kind is TypeKind.MAP else "len"
    return Value(INT, cast(f"coalesce({function}({value.sql}), {missing})", INT))


def _array_size(value: Value) -> Value:
    element_type(value)
    return _size(value, "NULL")


def _contains(array: Value, value: Value) -> Value:
    if value.type is None:
        raise invalid("array_contains looks for no null: take exists(array, x -> x is null)")

    def write(a: str, v: str) -> str:
        nulls = f"len(list_filter({a}, lambda __h: __h IS NULL)) > 0"
        return (
            f"CASE WHEN {a} IS NULL OR {v} IS NULL THEN NULL WHEN list_contains({a}, {v}) THEN true "
            f"WHEN {nulls} THEN NULL ELSE false END"
        )

    common = common_type([element_type(comparable(array)), value.type], texts=False) or VOID
    return Value(BOOLEAN, bound([converted(array, array_of(common)), converted(value, common)], write))


def _position(array: Value, value: Value) -> Value:
    def write(a: str, v: str) -> str:
        place = f"CAST(coalesce(list_position({a}, {v}), 0) AS BIGINT)"
        return f"CASE WHEN {a} IS NOT NULL AND {v} IS NOT NULL THEN {place} END"

    return Value(BIGINT, bound(_with_value(array, value), write))


def _without(array: Value, value: Value) -> Value:
    array, value = _with_value(array, value)

    def write(a: str, v: str) -> str:
        kept = f"list_filter({a}, lambda __r: __r IS DISTINCT FROM {v})"
        return f"CASE WHEN {v} IS NOT NULL THEN {kept} END"

    return Value(array.type, bound([array, value], write))


def _added(array: Value, value: Value, *, last: bool) -> Value:
    array, value = _with_value(array, value)
    head, tail = ("", f", [{value.sql}]") if last else (f"[{value.sql}], ", "")
    sql = bound([array], lambda a: f"CASE WHEN {a} IS NOT NULL THEN list_concat({head}{a}{tail}) END")
    return Value(array.type, sql)


def _inserted(array: Value, place: Value, value: Value) -> Value:
    """Write `array_insert`: nulls fill up what is between the array and a place beyond it."""
    if place.type is not None and place.kind not in INTEGRAL - {TypeKind.BIGINT}:
        raise Refusal(f"the place of array_insert is an int, got {place.type}; cast it")
    if place.literal == 0:
        raise invalid("the first place of array_insert is 1, or -1 from the end, not 0")
    array, value = _with_value(array, value)
    given = Value(array_of(element_type(array)), f"[{value.sql}]")

    def write(a: str, p: str, x: str) -> str:
        size = f"len({a})"
        ahead = f"(CASE WHEN {p} > 0 THEN {p} - 1 ELSE greatest({size} + {p} + 1, 0) END)"
        first = f"list_resize(list_slice({a}, 1, {ahead}), {ahead})"
        nulls = f"list_resize(list_slice({a}, 1, 0), greatest(-({size} + {p} + 1), 0))"
        rest = f"list_slice({a}, {ahead} + 1, {size})"
        joined = f"list_concat({first}, {x}, CASE WHEN {p} > 0 THEN {rest} ELSE list_concat({nulls}, {rest}) END)"
        near = f"abs({p}) <= greatest({size} + 1, {MAX_ELEMENTS})"
        return f"CASE WHEN {a} IS NOT NULL AND {p} <> 0 AND {near} THEN {joined} END"

    places = Value(BIGINT, cast(implied(place, INT).sql, BIGINT))
    return Value(array.type, cast(bound([array, places, given], write), array.type or VOID))


def _union(left: Value, right: Value) -> Value:
    left, right = _as_sets(left, right)

    def write(a: str, b: str) -> str:
        joined = Value(left.type, f"list_concat({a}, {b})")
        return f"CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {bound([joined], _distinct)} END"

    return Value(left.type, bound([left, right], write))


def _kept(kernel: Kernel, left: Value, right: Value) -> Value:
    left, right = _as_sets(left, right)
    return Value(left.type, bound([left, right], lambda a, b: f"list_select({a}, {kernel.over(a, b)})"))


def _overlap(left: Value, right: Value) -> Value:
    left, right = _as_sets(left, right)
    return Value(BOOLEAN, OVERLAP.over(left.sql, right.sql))


def _flattened(value: Value) -> Value:
    inner = element_type(value)
    if inner.kind is not TypeKind.ARRAY:
        raise Refusal(f"flatten takes an array of arrays, got {value.type}")

    def write(v: str) -> str:
        return f"CASE WHEN len(list_filter({v}, lambda __f: __f IS NULL)) = 0 THEN flatten({v}) END"

    return Value(inner, bound([value], write))


def _slice(value: Value, start: Value, length: Value) -> Value:
    element_type(value)

    def write(v: str, s: str, n: str) -> str:
        first = f"(CASE WHEN {s} > 0 THEN CAST({s} AS BIGINT) ELSE len({v}) + {s} + 1 END)"
        part = f"list_slice({v}, {first}, {first} + {n} - 1)"
        return (
            f"CASE WHEN {s} = 0 OR {n} < 0 THEN NULL WHEN {v} IS NOT NULL AND {s} IS NOT NULL AND {n} IS NOT NULL "
            f"THEN CASE WHEN {first} < 1 OR {n} = 0 THEN list_slice({v}, 1, 0) ELSE {part} END END"
        )

    return Value(value.type, bound([value, start, length], write))


def _element_at(value: Value, place: Value) -> Value:
    if value.kind is TypeKind.MAP:
        return nested_values.item(value, place, implied)
    element = element_type(value)
    if place.type is not None and place.kind not in INTEGRAL:
        raise Refusal(f"the position of an element is a whole number, got {place.type}")

    def write(v: str, i: str) -> str:
        return f"CASE WHEN {i} <> 0 THEN list_extract({v}, CAST({i} AS BIGINT)) END"

    return Value(element, cast(bound([value, implied(place, INT)], write), element))


def _repeated(value: Value, count: Value) -> Value:
    element = value.type or VOID
    value = converted(value, element)

    def write(v: str, n: str) -> str:
        listed = f"list_transform(range(greatest(least({n}, {MAX_ELEMENTS}), 0)), lambda __r: {v})"  # of constants
        if varies(element):
            listed = bounded([f"greatest({n}, 0)", size(Value(element, v, simple=True))], listed)
        return f"CASE WHEN {n} <= {MAX_ELEMENTS} THEN {listed} END"

    return Value(array_of(element), cast(bound([value, count], write), array_of(element)))


def _zipped(*arrays: Value) -> Value:
    names = [value.column or str(place) for place, value in enumerate(arrays)]
    fields = [Column(name, element_type(value)) for name, value in zip(names, arrays, strict=True)]
    result = array_of(struct_of(fields))

    def write(*lists: str) -> str:
        parts = [(field.name, f"list_extract({listed}, __z)") for field, listed in zip(fields, lists, strict=True)]
        size = f"greatest({', '.join(f'len({listed})' for listed in lists)})"
        rows = f"list_transform(range(1, {size} + 1), lambda __z: {nested_values.struct_sql(parts)})"
        return f"CASE WHEN {' AND '.join(f'{listed} IS NOT NULL' for listed in lists)} THEN {rows} END"

    return Value(result, cast(bound(arrays, write), result))


def _compact(value: Value) -> Value:
    element_type(value)
    return Value(value.type, f"list_filter({value.sql}, lambda __c: __c IS NOT NULL)")


def _split(value: Value, pattern: Value, limit: Value | None = None) -> Value:
    if pattern.literal == "" and limit is None:
        return Value(array_of(STRING), f"string_split({value.sql}, '')")
    regex = consuming("split", pattern)
    most = limit.literal if limit else -1
    if not isinstance(most, int) or most > MAX_REPEAT:
        raise invalid(f"the limit of split is a literal of {MAX_REPEAT} at most")
    if most == 1:
        return Value(array_of(STRING), bound([value], lambda v: f"CASE WHEN {v} IS NOT NULL THEN [{v}] END"))
    parts = f"string_split_regex({value.sql}, {text(regex.text)})"
    if most <= 0:
        return Value(array_of(STRING), parts)
    ahead = text(rf"\A(?:(?s:.*?)(?:{regex.text})){{{most - 1}}}((?s:.*))\z")

    def write(v: str, p: str) -> str:
        rest = f"regexp_extract({v}, {ahead}, {regex.groups + 1})"
        return f"CASE WHEN len({p}) < {most} OR {v} IS NULL THEN {p} ELSE list_concat({p}[1:{most - 1}], [{rest}]) END"

    return Value(array_of(STRING), bound([value, Value(array_of(STRING), parts)], write))


def _extract_all(value: Value, pattern: Value, group: Value | None = None) -> Value:
    regex = consuming("regexp_extract_all", pattern, bounds=True)
    number = group.literal if group else 1
    if not isinstance(number, int) or not 0 <= number <= regex.groups:
        raise invalid(f"regexp_extract_all: the pattern has {regex.groups} groups, there is no group {number}")
    found = f"regexp_extract_all({regex.searched(value)}, {text(regex.text)}, {number})"
    return Value(array_of(STRING), f"list_transform({found}, lambda __g: coalesce({regex.found('__g')}, ''))")


def _of(name: str, parameters: tuple[Parameter, ...], result: str, doc: str, write: Callable[..., Value],
        *aliases: str, optional: int = 0, repeated: bool = False) -> Function:  # fmt: skip
    return Function(
        name=name, aliases=aliases, parameters=parameters, result=result, doc=doc, write=write,
        optional=optional, repeated=repeated,
    )  # fmt: skip


_TYPE = "the array's type"
ARRAYS = (
    _of("size", (_ARRAY,), "int", "The number of elements, also of a map; -1 of null.", partial(_size, missing="-1"),
        "cardinality"),
    _of("array_size", (_ARRAY,), "int", "The number of elements.", _array_size),
    _of("array_contains", (_ARRAY, _VALUE), "boolean",
        "Whether the array holds the value; null if it is not found, but there is a null.", _contains),
    _of("array_position", (_ARRAY, _VALUE), "bigint", "Where the value is first; 0 if nowhere.", _position),
    _of("array_remove", (_ARRAY, _VALUE), _TYPE, "Without the elements that equal the value.", _without),
    _of("array_append", (_ARRAY, _VALUE), _TYPE, "With the value at the end.", partial(_added, last=True)),
    _of("array_prepend", (_ARRAY, _VALUE), _TYPE, "With the value at the start.", partial(_added, last=False)),
    _of("array_insert", (_ARRAY, Parameter("place", Accepts.ANY), _VALUE), _TYPE,
        "With the value at a place (below 0: counted from the end, -1 is behind it), and nulls between the array and a "
        f"place beyond it; null if the place is 0, or beyond both the array and {MAX_ELEMENTS}.", _inserted),
    _of("array_compact", (_ARRAY,), _TYPE, "Without nulls.", _compact),
    _of("array_distinct", (_ARRAY,), _TYPE, "Each of the elements once.",
        lambda value: Value(value.type, bound(_as_sets(value), _distinct))),
    _of("array_union", (_ARRAY, _OTHER), _TYPE, "The elements of both, each once.", _union),
    _of("array_intersect", (_ARRAY, _OTHER), _TYPE, "The elements that both have, each once.",
        partial(_kept, COMMON_PLACES)),
    _of("array_except", (_ARRAY, _OTHER), _TYPE, "The elements that the other has not, each once.",
        partial(_kept, MISSING_PLACES)),
    _of("arrays_overlap", (_ARRAY, _OTHER), "boolean",
        "Whether both have an element; null if none is found, but there is a null.", _overlap),
    _of("arrays_zip", (_ARRAY,), "an array of structs", "The first elements of all, the second ones, and so on, as "
        "structs with the names of the columns, or their numbers from 0.", _zipped, repeated=True),
    _of("sort_array", (_ARRAY, Parameter("ascending", Accepts.ANY)), _TYPE,
        "Sorted upwards with nulls first, or (false) downwards with nulls last.", _sort_array, optional=1),
    _of("array_sort", (_ARRAY,), _TYPE, "Sorted upwards with nulls last.", _array_sort),
    _of("array_min", (_ARRAY,), "the type of an element", "The least element that is not null.",
        partial(_extreme, least=True)),
    _of("array_max", (_ARRAY,), "the type of an element", "The greatest element that is not null; NaN is the greatest.",
        partial(_extreme, least=False)),
    _of("array_join", (_ARRAY, Parameter("delimiter", Accepts.TEXT_LITERAL), Parameter("missing", Accepts.TEXT)),
        "string", "The elements as one text, with the delimiter between them; nulls are left out, or written so.",
        _joined, optional=1),
    _of("flatten", (_ARRAY,), "the type of an element", "The elements of all arrays in an array; null if one is null.",
        _flattened),
    _of("slice", (_ARRAY, Parameter("start", Accepts.WHOLE), Parameter("length", Accepts.WHOLE)), _TYPE,
        "So many elements from a position on (below 0: counted from the end).", _slice),
    _of("element_at", (_ARRAY, _VALUE), "the type of an element",
        "The element at a position (below 0: counted from the end), or a map's value of a key; null if there is none.",
        _element_at, "try_element_at"),
    _of("get", (_ARRAY, _VALUE), "the type of an element", "The element at a position from 0; null if there is none.",
        lambda array, place: nested_values.item(_an_array(array), place, implied)),
    _of("array_repeat", (_VALUE, _COUNT), "an array",
        f"The value so many times; null if more than {MAX_ELEMENTS} times.", _repeated),
    _of("split", (_TEXT, _PATTERN, Parameter("limit", Accepts.WHOLE_LITERAL)), "array<string>",
        "The parts between matches of the regular expression; with a limit above 0 the last has all the rest.", _split,
        optional=1),
    _of("regexp_extract_all", (_TEXT, _PATTERN, Parameter("group", Accepts.WHOLE_LITERAL)), "array<string>",
        "What a group (1; 0 is the whole) of a regular expression matches, every time.", _extract_all, optional=1),
)  # fmt: skip
