"""Functions of tuple sketches: hashes of keys, with a number for each."""

from functools import partial

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import TUPLE_ESTIMATE, TUPLE_SHARE, TUPLE_TOTAL, TUPLES_OF_BOTH, Kernel
from streamapp_core.expressions.number_literals import number_or, whole
from streamapp_core.expressions.typed_sql import Value, cast, text
from streamapp_core.schema import BIGINT, BINARY, DOUBLE, INT

TUPLE_NUMBERS = {"double": DOUBLE, "integer": INT}
"""The types of numbers of each kind of tuple sketches."""
TUPLE_MODES = ("sum", "min", "max", "alwaysone")
SKETCH = Parameter("sketch", Accepts.BINARY)
OTHER = Parameter("other", Accepts.BINARY)
LOGARITHM = Parameter("logarithm", Accepts.WHOLE_LITERAL)
_MODE = Parameter("mode", Accepts.TEXT_LITERAL)
LEAST_LOGARITHM, MOST_LOGARITHM, USUAL_LOGARITHM = 4, 16, 12


def tuple_mode(name: str, value: Value | None) -> str:
    """Return how numbers are put together, by a literal: summed up if there is none.

    Raises:
        Refusal: It is another text, or no literal.
    """
    mode = "sum" if value is None else value.literal
    if not isinstance(mode, str) or mode.lower() not in TUPLE_MODES:
        raise invalid(f"the mode of {name} is a literal: {', '.join(TUPLE_MODES)}")
    return mode.lower()


def union_logarithm(name: str, *given: Value) -> int:
    """Return the logarithm of the number of hashes that a union keeps, by a literal: 12 if there is none.

    Raises:
        Refusal: It is out of bounds, or no literal.
    """
    if given and not whole(given[0], LEAST_LOGARITHM, MOST_LOGARITHM):
        raise invalid(f"{name} keeps 2 to the power of a number from {LEAST_LOGARITHM} to {MOST_LOGARITHM} of hashes")
    return number_or(given, 0, USUAL_LOGARITHM)


def of_sketches(kernel: Kernel, kind: str, *sketches: Value) -> Value:
    """Return what a kernel makes of sketches of a kind."""
    return Value(kernel.result, kernel.over(text(kind), *(sketch.sql for sketch in sketches)))


def _total(kind: str, sketch: Value, mode: Value | None = None) -> Value:
    chosen = text(tuple_mode(f"tuple_sketch_summary_{kind}", mode))
    result = DOUBLE if kind == "double" else BIGINT
    return Value(result, cast(TUPLE_TOTAL.over(text(kind), sketch.sql, chosen), result))


def _of_pair(operation: str, kind: str, theta: str, left: Value, right: Value, *options: Value) -> Value:
    name = f"tuple_{operation}_{theta and 'theta_'}{kind}"
    sizes, modes = (options[:1], options[1:]) if operation == "union" else ((), options)
    mode, logarithm = tuple_mode(name, modes[0] if modes else None), union_logarithm(name, *sizes)
    parts = ", ".join(map(text, (operation, kind, theta, mode, str(logarithm))))
    return Value(BINARY, TUPLES_OF_BOTH.over(f"[{parts}]", left.sql, right.sql))


_NUMBERS = "Numbers of a key are summed up, or put together by a mode 'min', 'max' or 'alwaysone' (1)"


def _functions_of_pairs(kind: str, theta: str) -> tuple[Function, ...]:
    sketch, suffix = f"a sketch of `tuple_sketch_agg_{kind}`", f"{theta and 'theta_'}{kind}"
    other = "a theta sketch" if theta else "another"
    return (
        Function(
            name=f"tuple_difference_{suffix}",
            parameters=(SKETCH, OTHER),
            result="binary",
            doc=f"The keys that {sketch} has, and {other} has not, as a sketch; null if one is none. Slow.",
            write=partial(_of_pair, "difference", kind, theta),
        ),
        Function(
            name=f"tuple_intersection_{suffix}",
            parameters=(SKETCH, OTHER, _MODE),
            optional=1,
            result="binary",
            doc=f"The keys that {sketch} and {other} have in common, as a sketch; null if one is none. {_NUMBERS}. "
            "Slow.",
            write=partial(_of_pair, "intersection", kind, theta),
        ),
        Function(
            name=f"tuple_union_{suffix}",
            parameters=(SKETCH, OTHER, LOGARITHM, _MODE),
            optional=2,
            result="binary",
            doc=f"The keys of {sketch} and {other}, as a sketch that keeps 2 to the power of 12 (or of a literal from "
            f"4 to 16) of them; null if one is none. {_NUMBERS}. Slow.",
            write=partial(_of_pair, "union", kind, theta),
        ),
    )


def _functions(kind: str) -> tuple[Function, ...]:
    made_by = f"a sketch of `tuple_sketch_agg_{kind}`"
    return (
        Function(
            name=f"tuple_sketch_estimate_{kind}",
            parameters=(SKETCH,),
            result="double",
            doc=f"About how many different keys {made_by} has; null of other bytes. Slow.",
            write=partial(of_sketches, TUPLE_ESTIMATE, kind),
        ),
        Function(
            name=f"tuple_sketch_summary_{kind}",
            parameters=(SKETCH, _MODE),
            optional=1,
            result="double" if kind == "double" else "bigint",
            doc=f"The numbers of the keys that {made_by} has kept, summed up, or by a mode 'min', 'max' or 'alwaysone' "
            "(their count); null of other bytes. Slow.",
            write=partial(_total, kind),
        ),
        Function(
            name=f"tuple_sketch_theta_{kind}",
            parameters=(SKETCH,),
            result="double",
            doc=f"The share of the keys that {made_by} has kept, about: 1 if it has all; null of other bytes. Slow.",
            write=partial(of_sketches, TUPLE_SHARE, kind),
        ),
        *_functions_of_pairs(kind, theta=""),
        *_functions_of_pairs(kind, theta="theta"),
    )


TUPLE_SKETCHES = tuple(function for kind in TUPLE_NUMBERS for function in _functions(kind))
