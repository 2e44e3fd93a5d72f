"""Functions of angles, hyperbolic functions and logarithms, of doubles.

The last bits may differ from Spark's: it takes Java's own implementations, DuckDB the C library's.
"""

from collections.abc import Callable

from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter, fixed
from streamapp_core.expressions.typed_sql import Value, bound
from streamapp_core.schema import DOUBLE

_NAN = "'nan'::DOUBLE"
_DEGREES = "57.29577951308232"
_RADIANS = "0.017453292519943295"
_NUMBER = Parameter("number", Accepts.DOUBLE)


def _of_number(name: str, doc: str, write: Callable[[str], str], *aliases: str) -> Function:
    return Function(
        name=name,
        aliases=aliases,
        parameters=(_NUMBER,),
        result="double",
        doc=doc,
        write=lambda value: Value(DOUBLE, bound([value], write)),
    )


def _finite(function: str) -> Callable[[str], str]:
    """Return the writer of a function of an angle: infinite ones have none."""
    return lambda v: f"CASE WHEN isinf({v}) THEN {_NAN} ELSE {function}({v}) END"


def _inside(function: str) -> Callable[[str], str]:
    return lambda v: f"CASE WHEN abs({v}) > 1 THEN {_NAN} ELSE {function}({v}) END"


def _reciprocal(function: str) -> Callable[[str], str]:
    """Return the writer of 1 / f(x): infinite where f is 0, with its sign."""

    def write(v: str) -> str:
        infinite = f"CASE WHEN CAST({v} AS VARCHAR) = '-0.0' THEN '-inf'::DOUBLE ELSE 'inf'::DOUBLE END"
        return f"CASE WHEN isinf({v}) THEN {_NAN} WHEN {v} = 0 THEN {infinite} ELSE 1 / {function}({v}) END"

    return write


def _cube_root(v: str) -> str:
    """Correct the root of a cube, which Java gives exactly."""
    whole = f"round(cbrt({v}))"
    return f"CASE WHEN isfinite({v}) AND {whole} * {whole} * {whole} = {v} AND {v} <> 0 THEN {whole} ELSE cbrt({v}) END"


def _atanh(v: str) -> str:
    return (
        f"CASE WHEN abs({v}) > 1 THEN {_NAN} WHEN {v} = 1 THEN 'inf'::DOUBLE WHEN {v} = -1 THEN '-inf'::DOUBLE "
        f"ELSE atanh({v}) END"
    )


def _logarithm(base: Value, value: Value | None = None) -> Value:
    """Write `log(x)` and `log(base, x)`; null from 0 down."""
    if value is None:
        return Value(DOUBLE, bound([base], lambda v: f"CASE WHEN {v} <= 0 THEN NULL ELSE ln({v}) END"))

    def write(b: str, v: str) -> str:
        to_base_one = (
            f"CASE WHEN {v} = 1 OR isnan({v}) THEN {_NAN} WHEN {v} < 1 THEN '-inf'::DOUBLE ELSE 'inf'::DOUBLE END"
        )
        missing = f"{b} IS NULL OR {v} IS NULL OR {v} <= 0 OR {b} <= 0"
        return f"CASE WHEN {missing} THEN NULL WHEN {b} = 1 THEN {to_base_one} ELSE ln({v}) / ln({b}) END"

    return Value(DOUBLE, bound([base, value], write))


def _hypotenuse(a: str, b: str) -> str:
    """Scale by the larger side: squares of large numbers are infinite."""
    larger, smaller = f"greatest(abs({a}), abs({b}))", f"least(abs({a}), abs({b}))"
    root = f"{larger} * sqrt(1 + pow({smaller} / {larger}, 2))"
    return (
        f"CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL WHEN isinf({a}) OR isinf({b}) THEN 'inf'::DOUBLE "
        f"WHEN isnan({a}) OR isnan({b}) THEN {_NAN} WHEN {larger} = 0 THEN 0 ELSE {root} END"
    )


def _constant(name: str, doc: str, sql: str) -> Function:
    return Function(name=name, parameters=(), result="double", doc=doc, write=fixed(DOUBLE, sql))


TRIGONOMETRY = (
    _of_number("sin", "The sine of an angle in radians.", _finite("sin")),
    _of_number("cos", "The cosine of an angle in radians.", _finite("cos")),
    _of_number("tan", "The tangent of an angle in radians.", _finite("tan")),
    _of_number("cot", "The cotangent of an angle in radians.", _reciprocal("tan")),
    _of_number("csc", "The cosecant of an angle in radians.", _reciprocal("sin")),
    _of_number("sec", "The secant of an angle in radians.", lambda v: f"1 / ({_finite('cos')(v)})"),
    _of_number("asin", "The angle with this sine; NaN outside of -1 to 1.", _inside("asin")),
    _of_number("acos", "The angle with this cosine; NaN outside of -1 to 1.", _inside("acos")),
    _of_number("atan", "The angle with this tangent.", lambda v: f"atan({v})"),
    Function(
        name="atan2",
        parameters=(Parameter("y", Accepts.DOUBLE), Parameter("x", Accepts.DOUBLE)),
        result="double",
        doc="The angle of the point (x, y).",
        write=fixed(DOUBLE, "atan2({0} + 0.0::DOUBLE, {1} + 0.0::DOUBLE)"),
    ),
    _of_number("sinh", "The hyperbolic sine.", lambda v: f"sinh({v})"),
    _of_number("cosh", "The hyperbolic cosine.", lambda v: f"cosh({v})"),
    _of_number("tanh", "The hyperbolic tangent.", lambda v: f"tanh({v})"),
    _of_number("asinh", "The inverse hyperbolic sine.", lambda v: f"asinh({v})"),
    _of_number(
        "acosh",
        "The inverse hyperbolic cosine; NaN below 1.",
        lambda v: f"CASE WHEN {v} < 1 THEN {_NAN} ELSE acosh({v}) END",
    ),
    _of_number("atanh", "The inverse hyperbolic tangent; NaN outside of -1 to 1.", _atanh),
    _of_number("degrees", "An angle in radians as degrees.", lambda v: f"{v} * {_DEGREES}::DOUBLE"),
    _of_number("radians", "An angle in degrees as radians.", lambda v: f"{v} * {_RADIANS}::DOUBLE"),
    _of_number("cbrt", "The cube root.", _cube_root),
    _of_number(
        "log2",
        "The logarithm to base 2; null from 0 down.",
        lambda v: f"CASE WHEN {v} <= 0 THEN NULL ELSE log2({v}) END",
    ),
    Function(
        name="log",
        parameters=(_NUMBER, Parameter("number", Accepts.DOUBLE)),
        optional=1,
        result="double",
        doc="The natural logarithm, or of two numbers that of the second to the base of the first; null from 0 down.",
        write=_logarithm,
    ),
    Function(
        name="hypot",
        parameters=(_NUMBER, _NUMBER),
        result="double",
        doc="The square root of the sum of both squares.",
        write=lambda a, b: Value(DOUBLE, bound([a, b], _hypotenuse)),
    ),
    _constant("pi", "The number pi.", "3.141592653589793::DOUBLE"),
    _constant("e", "Euler's number.", "2.718281828459045::DOUBLE"),
)
