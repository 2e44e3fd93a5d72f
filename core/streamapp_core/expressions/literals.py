"""Literals and the names of types, as they are written in an expression."""

import re
from decimal import Decimal

from sqlglot import exp

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.interval_literals import interval_type
from streamapp_core.expressions.type_rules import decimal, number_literal_type
from streamapp_core.expressions.typed_sql import NULL, Value, cast, text
from streamapp_core.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    SchemaError,
    TypeKind,
    parse_type,
)

_BITS = {TypeKind.TINYINT: 8, TypeKind.SMALLINT: 16, TypeKind.BIGINT: 64}


def literal(node: exp.Expr) -> Value:
    """Type a text, boolean, null or number literal.

    Raises:
        Refusal: It can't be represented.
    """
    if isinstance(node, exp.Null):
        return NULL
    if isinstance(node, exp.Boolean):
        return Value(BOOLEAN, "true" if node.this else "false", bool(node.this), simple=True)
    if isinstance(node, exp.RawString) or node.args.get("is_string"):
        if "\0" in node.this:
            raise invalid("a text literal can't hold the character 0")
        return Value(STRING, text(node.this), node.this, simple=True)
    return number(node.this)


def number(written: str) -> Value:
    """Type a number as written: whole numbers by size, with a point decimal, with an exponent double.

    Raises:
        Refusal: It is no number, or has too many digits.
    """
    if not re.fullmatch(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", written):
        raise invalid(f"`{written[:20]}` is not a number")
    if "e" in written.lower():
        return Value(DOUBLE, cast(text(written), DOUBLE), float(written), simple=True)
    if "." not in written:
        if len(written) > MAX_PRECISION + 1:
            raise invalid(f"the number {written[:20]}... has more than {MAX_PRECISION} digits")
        whole = int(written)
        data_type = number_literal_type(whole)
        return Value(data_type, cast(text(str(whole)), data_type), whole, simple=True)
    number = Decimal(written)
    digits, exponent = number.as_tuple().digits, number.as_tuple().exponent
    scale = -int(exponent)
    data_type = decimal(max(len(digits), scale), scale)
    return Value(data_type, cast(text(written), data_type), number, simple=True)


def suffixed(node: exp.Expr, sign: str = "") -> Value | None:
    """Type a whole number with a suffix for its type, such as `12L`; None of other nodes.

    The parser makes a cast of it. What was written is longer than the number then.

    Raises:
        Refusal: The type can't hold it.
    """
    written = node.this
    if not isinstance(node, exp.TryCast) or not isinstance(written, exp.Literal) or not written.this.isdecimal():
        return None
    if written.meta.get("end", 0) - written.meta.get("start", 0) < len(written.this):
        return None
    target = cast_target(node.args["to"])
    if target.kind not in _BITS:
        return None
    whole, most = int(f"{sign}{written.this}"), 1 << _BITS[target.kind] - 1
    if not -most <= whole < most:
        raise invalid(f"the number {sign}{written.this} is no {target}")
    known = None if target.kind is TypeKind.TINYINT else whole  # beside a decimal Spark takes it for any tinyint
    return Value(target, cast(text(str(whole)), target), known, simple=True)


def cast_target(node: exp.DataType) -> DataType:
    """Read the type that a cast names.

    Raises:
        Refusal: There is no such type here.
    """
    if isinstance(node.this, exp.Interval):
        return interval_type(node.this)
    if any(
        not isinstance(part.this, exp.DType) or part.this.value not in _KNOWN for part in node.find_all(exp.DataType)
    ):
        raise invalid(f"there is no type {node.sql()[:40].lower()}; docs/expressions.md lists the types")
    try:
        return parse_type(node.sql(dialect="spark"))
    except SchemaError as error:
        raise invalid(f"in a cast: {error}") from None


def check_moment(written: str, target: DataType) -> None:
    """Refuse a literal such as `date '...'` that is not written in full: Spark gives some of them other meanings.

    Raises:
        Refusal: It is no date or timestamp literal.
    """
    day = r"\d{4}-\d{2}-\d{2}"
    moment = rf"{day}(?:[ T]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d{{1,6}})?(?:Z|[+-]\d{{2}}:\d{{2}})?)?"
    local = rf"{day}(?:[ T]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d{{1,6}})?)?"
    form = {DATE: day, TIMESTAMP: moment, TIMESTAMP_NTZ: local}.get(target)
    if form is None or not re.fullmatch(form, written, re.ASCII):
        raise invalid(
            f"write {target} literals as date '2024-02-29' or timestamp '2024-02-29 23:59:59' (timestamp_ntz without "
            "time zone)"
        )


_KNOWN = frozenset({
    "TEXT", "VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE",
    "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ", "BINARY", "ARRAY", "MAP", "STRUCT", "VARIANT",
})  # fmt: skip
