"""Functions that choose between values, and look for nulls."""

from streamapp_core.expressions import comparisons
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.typed_sql import NULL, Value, bound, text
from streamapp_core.schema import STRING, VOID

_ANY = Accepts.ANY


def _if(when: Value, then: Value, otherwise: Value) -> Value:
    return comparisons.case([(when, then)], otherwise)


def null_if(value: Value, other: Value) -> Value:
    """Write `nullif(value, other)`: null if both are equal, else the value."""

    def write(v: str, o: str) -> str:
        equal = comparisons.comparison("=", Value(value.type, v), Value(other.type, o))
        return f"CASE WHEN {equal.sql} THEN NULL ELSE {v} END"

    return Value(value.type, bound([value, other], write)) if value.type else NULL


def _nvl2(value: Value, then: Value, otherwise: Value) -> Value:
    return comparisons.case([(comparisons.negation(comparisons.is_null(value)), then)], otherwise)


CHOICES = (
    Function(
        name="coalesce",
        parameters=(Parameter("value", _ANY),),
        repeated=True,
        result="the common type",
        doc="The first value that is not null.",
        write=lambda *values: comparisons.coalesce(values),
    ),
    Function(
        name="nvl",
        aliases=("ifnull",),
        parameters=(Parameter("value", _ANY), Parameter("default", _ANY)),
        result="the common type",
        doc="The value, or the default if it is null.",
        write=lambda *values: comparisons.coalesce(values),
    ),
    Function(
        name="nvl2",
        parameters=(Parameter("value", _ANY), Parameter("then", _ANY), Parameter("otherwise", _ANY)),
        result="the common type of the last two",
        doc="`then` if the value is not null, else `otherwise`.",
        write=_nvl2,
    ),
    Function(
        name="nullif",
        parameters=(Parameter("value", _ANY), Parameter("other", _ANY)),
        result="the type of the value",
        doc="Null if both are equal, else the value.",
        write=null_if,
    ),
    Function(
        name="if",
        parameters=(
            Parameter("condition", Accepts.CONDITION),
            Parameter("then", _ANY),
            Parameter("otherwise", _ANY),
        ),
        result="the common type of the last two",
        doc="`then` if the condition holds, else `otherwise`.",
        write=_if,
    ),
    Function(
        name="isnull",
        parameters=(Parameter("value", _ANY),),
        result="boolean",
        doc="Whether the value is null.",
        write=comparisons.is_null,
    ),
    Function(
        name="isnotnull",
        parameters=(Parameter("value", _ANY),),
        result="boolean",
        doc="Whether the value is not null.",
        write=lambda value: comparisons.negation(comparisons.is_null(value)),
    ),
    Function(
        name="greatest",
        parameters=(Parameter("value", _ANY), Parameter("value", _ANY)),
        repeated=True,
        result="the common type",
        doc="The greatest of the values that are not null; NaN is the greatest number.",
        write=lambda *values: comparisons.extreme("greatest", values),
    ),
    Function(
        name="least",
        parameters=(Parameter("value", _ANY), Parameter("value", _ANY)),
        repeated=True,
        result="the common type",
        doc="The least of the values that are not null.",
        write=lambda *values: comparisons.extreme("least", values),
    ),
    Function(
        name="typeof",
        parameters=(Parameter("value", _ANY),),
        result="string",
        doc="The name of the value's type.",
        write=lambda value: Value(STRING, text(str(value.type or VOID).replace("`", "")), simple=True),
    ),
)
