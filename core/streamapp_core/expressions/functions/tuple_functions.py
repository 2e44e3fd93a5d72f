"""Functions of tuple sketches: hashes of keys, with a number for each."""

from functools import partial

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import TUPLE_ESTIMATE, TUPLE_SHARE, TUPLE_TOTAL, Kernel
from streamapp_core.expressions.typed_sql import Value, cast, text
from streamapp_core.schema import BIGINT, DOUBLE, INT

TUPLE_NUMBERS = {"double": DOUBLE, "integer": INT}
"""The types of numbers of each kind of tuple sketches."""
TUPLE_MODES = ("sum", "min", "max", "alwaysone")
SKETCH = Parameter("sketch", Accepts.BINARY)


def tuple_mode(name: str, value: Value | None) -> str:
    """Return how numbers are put together, by a literal: summed up if there is none.

    Raises:
        Refusal: It is another text, or no literal.
    """
    mode = "sum" if value is None else value.literal
    if not isinstance(mode, str) or mode.lower() not in TUPLE_MODES:
        raise invalid(f"the mode of {name} is a literal: {', '.join(TUPLE_MODES)}")
    return mode.lower()


def of_sketches(kernel: Kernel, kind: str, *sketches: Value) -> Value:
    """Return what a kernel makes of sketches of a kind."""
    return Value(kernel.result, kernel.over(text(kind), *(sketch.sql for sketch in sketches)))


def _total(kind: str, sketch: Value, mode: Value | None = None) -> Value:
    chosen = text(tuple_mode(f"tuple_sketch_summary_{kind}", mode))
    result = DOUBLE if kind == "double" else BIGINT
    return Value(result, cast(TUPLE_TOTAL.over(text(kind), sketch.sql, chosen), result))


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
            parameters=(SKETCH, Parameter("mode", Accepts.TEXT_LITERAL)),
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
    )


TUPLE_SKETCHES = tuple(function for kind in TUPLE_NUMBERS for function in _functions(kind))
