"""Operators and functions of the bits of whole numbers, in two's complement."""

from streamapp_core.expressions.conversions import WHOLE_BITS, converted, implied, wrapped
from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.type_rules import INTEGRAL, common_number
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import BIGINT, BINARY, INT, STRING, TINYINT, TypeKind

_VALUE = Parameter("value", Accepts.ANY)
_COUNT = Parameter("count", Accepts.WHOLE)
_BITMAP = 32_768


def combined(operator: str, left: Value, right: Value) -> Value:
    """Combine the bits of two whole numbers by `&`, `|` or `^`.

    Raises:
        Refusal: One is no whole number.
    """
    left, right = _whole(operator, left), _whole(operator, right)
    common = common_number(left.type or INT, right.type or INT)
    sides = converted(left, common).sql, converted(right, common).sql
    return Value(common, f"xor({sides[0]}, {sides[1]})" if operator == "^" else f"({sides[0]} {operator} {sides[1]})")


def inverted(value: Value) -> Value:
    """Turn every bit of a whole number around.

    Raises:
        Refusal: It is none.
    """
    value = _whole("~", value)
    return Value(value.type, f"(~{value.sql})")


def shifted(operator: str, value: Value, count: Value) -> Value:
    """Shift the bits of an int or bigint by `<<`, `>>` (keeps the sign) or `>>>` (fills up with zeros).

    Only the lowest five bits of the count matter for an int, and six for a bigint, as in Java.

    Raises:
        Refusal: One is no whole number.
    """
    value = _whole(operator, value)
    target = BIGINT if value.type == BIGINT else INT
    bits = WHOLE_BITS[target.kind]
    count = implied(count, INT)

    def write(v: str, n: str) -> str:
        places = f"CAST({n} & {bits - 1} AS HUGEINT)"
        if operator == "<<":
            return wrapped(f"{v} * (1::HUGEINT << {places})", target)
        if operator == ">>":
            return cast(f"{v} >> {places}", target)
        return wrapped(f"(CASE WHEN {v} < 0 THEN {v} + {2**bits}::HUGEINT ELSE {v} END) >> {places}", target)

    return Value(target, bound([Value(BIGINT, cast(value.sql, "HUGEINT")), count], write))


def _whole(operator: str, value: Value) -> Value:
    if value.type is None:
        return converted(value, INT)
    if value.kind not in INTEGRAL:
        raise Refusal(f"`{operator}` takes whole numbers, got {value.type}; cast it")
    return value


def _count_bits(value: Value) -> Value:
    if value.kind is TypeKind.BOOLEAN:
        return Value(INT, cast(value.sql, INT))
    return Value(INT, cast(f"bit_count({converted(_whole('bit_count', value), BIGINT).sql})", INT))


def _bit(value: Value, position: Value) -> Value:
    """Write `getbit`; a position that the number does not have gives null, where Spark ends the query."""
    value = _whole("getbit", value)
    bits = WHOLE_BITS[(value.type or INT).kind]

    def write(v: str, p: str) -> str:
        return f"CASE WHEN {p} >= 0 AND {p} < {bits} THEN CAST(({v} >> {p}) & 1 AS TINYINT) END"

    return Value(
        TINYINT, bound([Value(BIGINT, cast(value.sql, BIGINT)), Value(BIGINT, cast(position.sql, BIGINT))], write)
    )


def _binary_digits(value: Value) -> Value:
    return Value(STRING, f"bin({implied(value, BIGINT).sql})")


def _count_bytes(value: Value) -> Value:
    """Write `bitmap_count`; DuckDB makes no bits of no bytes."""
    if value.type != BINARY:
        raise Refusal(f"bitmap_count takes a binary, got {value.type or 'null'}")
    return Value(BIGINT, f"bit_count(CAST({value.sql} || unhex('00') AS BIT))")


def _bucket(value: Value) -> Value:
    def write(v: str) -> str:
        return f"CASE WHEN {v} > 0 THEN 1 + ({v} - 1) // {_BITMAP} ELSE {v} // {_BITMAP} END"

    return Value(BIGINT, bound([value], write))


def _place(value: Value) -> Value:
    def write(v: str) -> str:
        return f"CASE WHEN {v} > 0 THEN ({v} - 1) % {_BITMAP} ELSE -({v} % {_BITMAP}) END"

    return Value(BIGINT, bound([value], write))


def _shift(name: str, operator: str, doc: str) -> Function:
    return Function(
        name=name,
        parameters=(_VALUE, _COUNT),
        result="int or bigint",
        doc=doc,
        write=lambda value, count: shifted(operator, value, count),
    )


BITS = (
    _shift("shiftleft", "<<", "As `value << count`."),
    _shift("shiftright", ">>", "As `value >> count`: keeps the sign."),
    _shift("shiftrightunsigned", ">>>", "The bits shifted to the right, filled up with zeros."),
    Function(
        name="bit_count", parameters=(_VALUE,), result="int", doc="The number of bits that are 1.", write=_count_bits
    ),
    Function(
        name="getbit",
        aliases=("bit_get",),
        parameters=(_VALUE, Parameter("position", Accepts.WHOLE)),
        result="tinyint",
        doc="The bit at a position, from the right, from 0; null if there is none.",
        write=_bit,
    ),
    Function(
        name="bitmap_count",
        parameters=(_VALUE,),
        result="bigint",
        doc="The number of bits of a binary that are 1.",
        write=_count_bytes,
    ),
    Function(
        name="bitmap_bucket_number",
        parameters=(Parameter("value", Accepts.BIGINT),),
        result="bigint",
        doc=f"The number of the bitmap, of {_BITMAP} bits, that holds a value.",
        write=_bucket,
    ),
    Function(
        name="bitmap_bit_position",
        parameters=(Parameter("value", Accepts.BIGINT),),
        result="bigint",
        doc="The place of a value in its bitmap, from 0.",
        write=_place,
    ),
    Function(
        name="bin",
        parameters=(_VALUE,),
        result="string",
        doc="A whole number in binary digits.",
        write=_binary_digits,
    ),
)
