"""Functions that take lambdas, such as `transform(array, x -> x + 1)`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from streamapp_core.data_types import array_of, map_of, struct_of
from streamapp_core.expressions import nested_values
from streamapp_core.expressions.comparisons import condition
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.arrays import element_type
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.maps import from_entries, map_type
from streamapp_core.expressions.growth import MAX_GROWTH, bounded, size, varies
from streamapp_core.expressions.kernels import SORTED_PLACES
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import BIGINT, BOOLEAN, INT, VOID


class Lambda(Protocol):
    """A lambda of an expression, which is checked once the types of its variables are known."""

    size: int
    """The number of its variables."""
    scope: str
    """A prefix for the names of DuckDB's variables, which no other lambda around or inside has."""
    costs: Sequence[str]
    """The SQL of the sizes of what the body takes from outside, and makes, for each element: known after `over`."""

    def over(self, *variables: Value) -> Value:
        """Return the body over its variables.

        Raises:
            Refusal: There are others, or the body can't be right.
        """
        ...


@dataclass(frozen=True, slots=True)
class LambdaFunction:
    """A function with lambdas: its line in the table, and how it is written over values and lambdas."""

    line: Function
    lambdas: tuple[int, ...]
    """The places of the lambdas among the arguments."""

    @property
    def name(self) -> str:
        """The name in SQL."""
        return self.line.name


def _guarded(array: Value, body: Lambda, write: Callable[[str], str]) -> str:
    """Write over an array; null if its size times that of what the lambda goes through is too large."""
    if not body.costs:
        return write(array.sql)
    costs = f"({' + '.join(body.costs)})"
    return bound([array], lambda a: bounded([f"coalesce(len({a}), 0)", costs], write(a)))


def _over_elements(array: Value, body: Lambda) -> tuple[str, Value]:
    """Return the parameters of DuckDB's lambda over an array, and the body: of an element, perhaps with its place."""
    item, place = f"{body.scope}e", f"{body.scope}i"
    element = Value(element_type(array), item, simple=True)
    if body.size == 1:
        return item, body.over(element)
    return f"{item}, {place}", body.over(element, Value(INT, f"CAST({place} - 1 AS INTEGER)", simple=True))


def _typed(value: Value) -> Value:
    return value if value.type else Value(VOID, cast("NULL", VOID))


def _transform(array: Value, body: Lambda) -> Value:
    parameters, made = _over_elements(array, body)
    made = _typed(made)
    target = array_of(made.type or VOID)
    sql = _guarded(array, body, lambda a: f"list_transform({a}, lambda {parameters}: {made.sql})")
    return Value(target, cast(sql, target))


def _filter(array: Value, body: Lambda) -> Value:
    parameters, kept = _over_elements(array, body)
    sql = _guarded(array, body, lambda a: f"list_filter({a}, lambda {parameters}: {condition(kept).sql})")
    return Value(array.type, sql)


def _some(array: Value, body: Lambda, found: str) -> Value:
    """Write whether the body is `found` for an element; else null, if it is null for one."""
    if body.size != 1:
        raise invalid("this lambda takes one variable")
    parameters, made = _over_elements(array, body)
    made = condition(made)
    other = "false" if found == "true" else "true"

    def write(m: str) -> str:
        nulls = f"len(list_filter({m}, lambda __n: __n IS NULL)) > 0"
        return (
            f"CASE WHEN {m} IS NULL THEN NULL WHEN list_contains({m}, {found}) THEN {found} "
            f"WHEN {nulls} THEN NULL ELSE {other} END"
        )

    listed = _guarded(array, body, lambda a: f"list_transform({a}, lambda {parameters}: {made.sql})")
    return Value(BOOLEAN, bound([Value(array_of(BOOLEAN), listed)], write))


def _array_sort(array: Value, body: Lambda) -> Value:
    """Write `array_sort` with a lambda that compares: each element with all of them, then a kernel orders these."""
    left, right = f"{body.scope}l", f"{body.scope}r"
    element = element_type(array)
    compared = body.over(*(Value(element, name, simple=True) for name in (left, right)))
    if compared.type != INT:
        raise Refusal(f"the lambda of array_sort gives an int below, at or above 0, not {compared.type or 'null'}")
    costs = f"({' + '.join(body.costs)})" if body.costs else "1"

    def write(a: str) -> str:
        row = f"list_transform({a}, lambda {right}: {compared.sql})"
        order = SORTED_PLACES.over(f"list_transform({a}, lambda {left}: {row})")
        return bounded([f"coalesce(len({a}), 0)", f"coalesce(len({a}), 0)", costs], f"list_select({a}, {order})")

    return Value(array.type, bound([array], write))


def _aggregate(array: Value, start: Value, merge: Lambda, finish: Lambda | None = None) -> Value:
    """Write `aggregate` as a reduction of structs: DuckDB's takes one type for what is gathered and the elements."""
    element = element_type(array)
    if start.type is None:
        raise Refusal("the start of aggregate is null without a type; cast it")
    gathered, item = f"{merge.scope}a", f"{merge.scope}e"
    merged = merge.over(
        Value(start.type, cast(f"{gathered}.a", start.type), simple=True),
        Value(element, cast(f"{item}.e", element), simple=True),
    )
    if merged.type != start.type:
        raise Refusal(f"aggregate starts with {start.type}, but its lambda gives {merged.type}; cast one of them")

    def pair(first: str, second: str, written: str = "0") -> str:
        fields = [("a", cast(first, start.type or VOID)), ("e", cast(second, element)), ("w", cast(written, BIGINT))]
        return nested_values.struct_sql(fields)

    step, written, last_step = merged.sql, "0", "{0}.a"
    if varies(start.type):  # what is gathered may double with every element
        step = f"CASE WHEN {gathered}.w <= {MAX_GROWTH} THEN {merged.sql} END"
        written = f"{gathered}.w + {size(Value(start.type, cast(f'{gathered}.a', start.type), simple=True))}"
        last_step = f"CASE WHEN {{0}}.w <= {MAX_GROWTH} THEN {{0}}.a END"

    def reduced(listed: str) -> str:
        pairs = f"list_transform({listed}, lambda {item}: {pair('NULL', item)})"
        steps = f"lambda {gathered}, {item}: {pair(step, 'NULL', written)}"
        return f"list_reduce({pairs}, {steps}, {pair(start.sql, 'NULL')})"

    end = f"{merge.scope}r"

    def result(value: Value) -> str:
        sql = f"list_transform([{_guarded(value, merge, reduced)}], lambda {end}: {last_step.format(end)})[1]"
        return cast(sql, start.type or VOID)

    if finish is None:
        return Value(start.type, result(array))
    last = f"{finish.scope}f"
    made = _typed(finish.over(Value(start.type, f"{last}.a", simple=True)))

    def finished(a: str) -> str:
        gathered = result(Value(array.type, a, simple=True))
        sql = f"list_transform([{{'a': {gathered}}}], lambda {last}: {made.sql})[1]"
        return f"CASE WHEN {a} IS NOT NULL THEN {sql} END"

    return Value(made.type, bound([array], finished))


def _zip_with(left: Value, right: Value, body: Lambda) -> Value:
    place = f"{body.scope}z"
    types = [element_type(value) for value in (left, right)]

    def write(a: str, b: str) -> str:
        sides = [
            Value(kind, cast(f"list_extract({side}, {place})", kind), simple=True)
            for kind, side in zip(types, (a, b), strict=True)
        ]
        rows = f"range(1, greatest(len({a}), len({b})) + 1)"
        made.append(_typed(body.over(*sides)))
        listed = f"list_transform({rows}, lambda {place}: {made[0].sql})"
        if body.costs:
            listed = bounded([f"greatest(len({a}), len({b}))", f"({' + '.join(body.costs)})"], listed)
        return f"CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {listed} END"

    made: list[Value] = []
    sql = bound([left, right], write)
    target = array_of(made[0].type or VOID)
    return Value(target, cast(sql, target))


def _over_entries(value: Value, body: Lambda) -> tuple[str, Value, Value, Value]:
    """Return the name of an entry of a map, its key and value, and the body over them."""
    entry = f"{body.scope}e"
    key, held = nested_values.parts(entry, struct_of(map_type(value).fields))
    return entry, key, held, _typed(body.over(key, held))


def _map_filter(value: Value, body: Lambda) -> Value:
    entry, _, _, kept = _over_entries(value, body)
    listed = nested_values.entries(value)
    entries = _guarded(listed, body, lambda a: f"list_filter({a}, lambda {entry}: {condition(kept).sql})")
    return Value(value.type, from_entries(entries, map_type(value)))


def _transform_values(value: Value, body: Lambda) -> Value:
    entry, key, _, made = _over_entries(value, body)
    target = map_of(map_type(value).key, made.type or VOID)
    pair = nested_values.struct_sql([("key", key.sql), ("value", made.sql)])
    pairs = _guarded(nested_values.entries(value), body, lambda a: f"list_transform({a}, lambda {entry}: {pair})")
    return Value(target, from_entries(pairs, target))


def _transform_keys(value: Value, body: Lambda) -> Value:
    entry, _, held, made = _over_entries(value, body)
    target = map_of(made.type or VOID, map_type(value).value)
    pair = nested_values.struct_sql([("key", made.sql), ("value", held.sql)])
    pairs = _guarded(nested_values.entries(value), body, lambda a: f"list_transform({a}, lambda {entry}: {pair})")
    return Value(target, from_entries(pairs, target))


def _map_zip_with(left: Value, right: Value, body: Lambda) -> Value:
    first, second = map_type(left), map_type(right)
    if first.key != second.key:
        raise Refusal(f"the keys of the maps are {first.key} and {second.key}; cast one of them")
    name = f"{body.scope}k"
    made: list[Value] = []

    def write(a: str, b: str) -> str:
        sides = [
            Value(kind.value, cast(f"map_extract_value({side}, {name})", kind.value), simple=True)
            for kind, side in ((first, a), (second, b))
        ]
        made.append(_typed(body.over(Value(first.key, name, simple=True), *sides)))
        new = f"list_filter(map_keys({b}), lambda {name}: NOT list_contains(map_keys({a}), {name}))"
        pair = nested_values.struct_sql([("key", name), ("value", made[0].sql)])
        keys = Value(array_of(first.key), f"list_concat(map_keys({a}), {new})")
        entries = _guarded(keys, body, lambda listed: f"list_transform({listed}, lambda {name}: {pair})")
        target = map_of(first.key, made[0].type or VOID)
        made_map = bounded([f"cardinality({a})", f"cardinality({b})"], from_entries(entries, target))
        return f"CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {made_map} END"

    sql = bound([left, right], write)
    return Value(map_of(first.key, made[0].type or VOID), sql)


def _line(names: str, lambdas: Sequence[int], result: str, doc: str, write: Callable[..., Value]) -> LambdaFunction:
    """Return a function of names (the usual one, others, a colon) and arguments; the second lambda may be left out."""
    called, _, arguments = names.partition(": ")
    name, *aliases = called.split(", ")
    return LambdaFunction(
        Function(
            name=name,
            aliases=tuple(aliases),
            parameters=tuple(Parameter(part, Accepts.ANY) for part in arguments.split("; ")),
            optional=len(lambdas) - 1,
            result=result,
            doc=doc,
            write=write,
        ),
        tuple(lambdas),
    )


LAMBDA_FUNCTIONS = (
    _line(
        "transform: array; x -> ...",
        [1],
        "an array",
        "What the lambda makes of each element; `(x, i) -> ...` has the element's place, from 0, too.",
        _transform,
    ),
    _line(
        "filter: array; x -> ...",
        [1],
        "the array's type",
        "The elements for which the lambda is true; `(x, i) -> ...` has the element's place, from 0, too.",
        _filter,
    ),
    _line(
        "exists: array; x -> ...",
        [1],
        "boolean",
        "Whether the lambda is true for an element; else null, if it is null for one.",
        lambda array, body: _some(array, body, "true"),
    ),
    _line(
        "forall: array; x -> ...",
        [1],
        "boolean",
        "Whether the lambda is true for all elements; else null, if it is null for one and false for none.",
        lambda array, body: _some(array, body, "false"),
    ),
    _line(
        "array_sort: array; (left, right) -> ...",
        [1],
        "the array's type",
        "The elements in the order that the lambda says by an int: below 0 the left one comes first, above 0 the right "
        "one. Null if the lambda is, or contradicts itself. Slow.",
        _array_sort,
    ),
    _line(
        "aggregate, reduce: array; start; (sum, x) -> ...; sum -> ...",
        [2, 3],
        "the type of the start, or of the last lambda",
        "The start, to which the first lambda adds one element after the other, and what the last one makes of it.",
        _aggregate,
    ),
    _line(
        "zip_with: array; other; (x, y) -> ...",
        [2],
        "an array",
        "What the lambda makes of each pair of elements; nulls fill up the shorter array.",
        _zip_with,
    ),
    _line(
        "map_filter: map; (k, v) -> ...",
        [1],
        "the map's type",
        "The entries for which the lambda is true.",
        _map_filter,
    ),
    _line(
        "transform_values: map; (k, v) -> ...",
        [1],
        "a map",
        "The map with what the lambda makes of each value.",
        _transform_values,
    ),
    _line(
        "transform_keys: map; (k, v) -> ...",
        [1],
        "a map",
        "The map with what the lambda makes of each key; null if one is null or there twice.",
        _transform_keys,
    ),
    _line(
        "map_zip_with: map; other; (k, v, w) -> ...",
        [2],
        "a map",
        "What the lambda makes of each key and its values in both maps, or null.",
        _map_zip_with,
    ),
)
LAMBDAS_BY_NAME = {
    name: function for function in LAMBDA_FUNCTIONS for name in (function.line.name, *function.line.aliases)
}
