"""Functions of sketches, which aggregates make."""

from functools import partial

from streamapp_core.data_types import array_of
from streamapp_core.expressions.conversions import implied
from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.item_sketches import found_items
from streamapp_core.expressions.functions.tuple_functions import (
    LOGARITHM,
    OTHER,
    SKETCH,
    TUPLE_SKETCHES,
    of_sketches,
    union_logarithm,
)
from streamapp_core.expressions.kernels import (
    HLL_ESTIMATE,
    HLL_OF_BOTH,
    KLL_COUNT,
    KLL_OF_BOTH,
    KLL_QUANTILES,
    KLL_RANKS,
    KLL_TEXT,
    THETA_ESTIMATE,
    THETA_OF_BOTH,
    Kernel,
)
from streamapp_core.expressions.typed_sql import Value, cast, text
from streamapp_core.schema import BIGINT, BINARY, DOUBLE, FLOAT, STRING, DataType, TypeKind

_QUANTILES = {"bigint": BIGINT, "float": FLOAT, "double": DOUBLE}
"""The types of values of each kind of sketches of quantiles."""


def _united(left: Value, right: Value, of_any_sizes: Value | None = None) -> Value:
    allowed = False if of_any_sizes is None else of_any_sizes.literal
    if not isinstance(allowed, bool):
        raise invalid("the third argument of hll_union is true if the sketches may be of different sizes, or false")
    return Value(BINARY, HLL_OF_BOTH.over(left.sql, right.sql, str(allowed).lower()))


def _of_theta_sketches(operation: str, left: Value, right: Value, *size: Value) -> Value:
    logarithm = str(union_logarithm(f"theta_{operation}", *size))
    return Value(BINARY, THETA_OF_BOTH.over(text(operation), left.sql, right.sql, logarithm))


def _quantile(kind: str, sketch: Value, rank: Value) -> Value:
    return _asked(KLL_QUANTILES, kind, sketch, rank, (DOUBLE, DOUBLE, _QUANTILES[kind]))


def _rank(kind: str, sketch: Value, value: Value) -> Value:
    return _asked(KLL_RANKS, kind, sketch, value, (_QUANTILES[kind], STRING, DOUBLE))


def _asked(kernel: Kernel, kind: str, sketch: Value, asked: Value, types: tuple[DataType, DataType, DataType]) -> Value:
    """Write what a sketch finds for a value, or for each of an array: types are of it, as it is passed, and found."""
    taken, passed, found = types
    if asked.kind is TypeKind.ARRAY:
        values = cast(implied(asked, array_of(taken)).sql, array_of(passed))
        return Value(array_of(found), cast(kernel.over(text(kind), sketch.sql, values), array_of(found)))
    values = cast(f"[{implied(asked, taken).sql}]", array_of(passed))
    return Value(found, cast(f"{kernel.over(text(kind), sketch.sql, values)}[1]", found))


def _functionsof_sketches(kind: str) -> tuple[Function, ...]:
    made_by = f"a sketch of `kll_sketch_agg_{kind}`"
    data_type = str(_QUANTILES[kind])
    return (
        Function(
            name=f"kll_sketch_get_n_{kind}",
            parameters=(SKETCH,),
            result="bigint",
            doc=f"How many values {made_by} has got; null of other bytes. Slow.",
            write=partial(of_sketches, KLL_COUNT, kind),
        ),
        Function(
            name=f"kll_sketch_get_quantile_{kind}",
            parameters=(SKETCH, Parameter("rank", Accepts.ANY)),
            result=f"{data_type}, or an array",
            doc=f"About the value up to which such a share (from 0 to 1) of the values of {made_by} is; of an array of "
            "ranks an array. Null if there is none. Slow.",
            write=partial(_quantile, kind),
        ),
        Function(
            name=f"kll_sketch_get_rank_{kind}",
            parameters=(SKETCH, Parameter("value", Accepts.ANY)),
            result="double, or an array",
            doc=f"About which share of the values of {made_by} is up to a value; of an array of values an array. Null "
            "if there are none. Slow.",
            write=partial(_rank, kind),
        ),
        Function(
            name=f"kll_sketch_merge_{kind}",
            parameters=(SKETCH, OTHER),
            result="binary",
            doc=f"What the values of both would make: {made_by}; null if one is none. Slow.",
            write=partial(of_sketches, KLL_OF_BOTH, kind),
        ),
        Function(
            name=f"kll_sketch_to_string_{kind}",
            parameters=(SKETCH,),
            result="string",
            doc=f"A description of {made_by}, in lines; null of other bytes. Slow.",
            write=partial(of_sketches, KLL_TEXT, kind),
        ),
    )


SKETCHES = (
    Function(
        name="approx_top_k_estimate",
        parameters=(Parameter("sketch", Accepts.ANY), Parameter("count", Accepts.WHOLE)),
        optional=1,
        result="array<struct<item,count>>",
        doc="The most frequent items (5, or so many) of a sketch of `approx_top_k_accumulate`, and how often each "
        "came, about; null of other bytes, and if more are asked for than are tracked. Slow.",
        write=found_items,
    ),
    Function(
        name="hll_sketch_estimate",
        parameters=(SKETCH,),
        result="bigint",
        doc="About how many different values a sketch of `hll_sketch_agg` has; null of other bytes. Slow.",
        write=lambda value: Value(BIGINT, HLL_ESTIMATE.over(value.sql)),
    ),
    Function(
        name="hll_union",
        parameters=(SKETCH, OTHER, Parameter("of_any_sizes", Accepts.CONDITION)),
        optional=1,
        result="binary",
        doc="The union of two sketches of `hll_sketch_agg`; null if one is none, or if they are of different sizes, "
        "unless these are allowed (`true`). Slow.",
        write=_united,
    ),
    Function(
        name="theta_difference",
        parameters=(SKETCH, OTHER),
        result="binary",
        doc="The theta sketch of the values that one has, and the other has not; null if one is none. Slow.",
        write=partial(_of_theta_sketches, "difference"),
    ),
    Function(
        name="theta_intersection",
        parameters=(SKETCH, OTHER),
        result="binary",
        doc="The theta sketch of the values that both have; null if one is none. Slow.",
        write=partial(_of_theta_sketches, "intersection"),
    ),
    Function(
        name="theta_sketch_estimate",
        parameters=(SKETCH,),
        result="bigint",
        doc="About how many different values a theta sketch has (see the aggregates); null of other bytes. Slow.",
        write=lambda value: Value(BIGINT, THETA_ESTIMATE.over(value.sql)),
    ),
    Function(
        name="theta_union",
        parameters=(SKETCH, OTHER, LOGARITHM),
        optional=1,
        result="binary",
        doc="The theta sketch of the values of both, which keeps 2 to the power of 12 (or of a literal from 4 to 16) "
        "of hashes; null if one is none. Slow.",
        write=partial(_of_theta_sketches, "union"),
    ),
    *TUPLE_SKETCHES,
    *(function for kind in _QUANTILES for function in _functionsof_sketches(kind)),
)
