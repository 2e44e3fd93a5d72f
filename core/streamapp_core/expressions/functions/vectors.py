"""Functions of vectors: arrays of floats, all of one length."""

from collections.abc import Callable

from streamapp_core.data_types import array_of
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import (
    COSINE_SIMILARITY,
    INNER_PRODUCT,
    L2_DISTANCE,
    NORM,
    NORMALIZED,
    VECTOR,
    Kernel,
)
from streamapp_core.expressions.typed_sql import Value, cast
from streamapp_core.schema import FLOAT

_VECTOR = Parameter("vector", Accepts.ANY)
_OTHER = Parameter("other", Accepts.ANY)
_DEGREE = Parameter("degree", Accepts.ANY)
_TWO = Value(FLOAT, cast("2", FLOAT), simple=True)
_DEGREES = "The degree is 1.0f, 2.0f (if none is given) or float('inf')"


def _over(kernel: Kernel) -> Callable[..., Value]:
    def write(vector: Value, other: Value) -> Value:
        for value in (vector, other):
            _check(value)
        return Value(kernel.result, kernel.over(vector.sql, other.sql))

    return write


def _of_degree(kernel: Kernel) -> Callable[..., Value]:
    def write(vector: Value, degree: Value = _TWO) -> Value:
        _check(vector)
        if degree.type != FLOAT:
            raise Refusal(f"the degree of a norm is a float such as 2.0f, got {degree.type or 'null'}; cast it")
        return Value(kernel.result, kernel.over(vector.sql, degree.sql))

    return write


def _check(value: Value) -> None:
    if value.type != VECTOR:
        raise Refusal(f"a vector is an array<float>, got {value.type or 'null'}; cast it")


def _pair(name: str, kernel: Kernel, doc: str) -> Function:
    return Function(name=name, parameters=(_VECTOR, _OTHER), result="float", doc=doc, write=_over(kernel))


VECTORS = (
    _pair(
        "vector_cosine_similarity",
        COSINE_SIMILARITY,
        "The cosine of the angle between two vectors; null if their lengths differ, or one has no length.",
    ),
    _pair("vector_inner_product", INNER_PRODUCT, "The inner product; null if the lengths differ."),
    _pair("vector_l2_distance", L2_DISTANCE, "The Euclidean distance; null if the lengths differ."),
    Function(
        name="vector_norm",
        parameters=(_VECTOR, _DEGREE),
        optional=1,
        result="float",
        doc=f"The norm. {_DEGREES}; of others it is null.",
        write=_of_degree(NORM),
    ),
    Function(
        name="vector_normalize",
        parameters=(_VECTOR, _DEGREE),
        optional=1,
        result=str(array_of(FLOAT)),
        doc=f"The vector over its norm; null if that is 0. {_DEGREES}.",
        write=_of_degree(NORMALIZED),
    ),
)
