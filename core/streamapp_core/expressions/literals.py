"""Literals and the names of types, as they are written in an expression."""

import re
from decimal import Decimal

from sqlglot import exp

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.type_rules import decimal, number_literal_type
from streamapp_core.expressions.typed_sql import NULL, Value, cast, text
from streamapp_core.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    DataType,
    SchemaError,
    TypeKind,
)


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


def cast_target(node: exp.DataType) -> DataType:
    """Read the type that a cast names.

    Raises:
        Refusal: There is no such type here.
    """
    kind = _TYPES.get(str(node.this.value)) if isinstance(node.this, exp.DType) else None
    written = [str(part.this) if isinstance(part, exp.DataTypeParam) else "" for part in node.expressions]
    if kind is None or not all(parameter.isdecimal() for parameter in written):
        raise invalid(f"there is no type {node.sql()[:40].lower()}; the types are {', '.join(map(str, TypeKind))}")
    parameters = [int(parameter[:4]) for parameter in written]
    if kind is not TypeKind.DECIMAL and not parameters:
        return DataType(kind)
    try:
        return DataType(kind, *(parameters or (10, 0)))
    except (SchemaError, TypeError):
        raise invalid(f"write types as in cast(x as {kind}) or cast(x as decimal(10,2))") from None


def check_moment(written: str, target: DataType) -> None:
    """Refuse a literal such as `date '...'` that is not written in full: Spark gives some of them other meanings.

    Raises:
        Refusal: It is no date or timestamp literal.
    """
    day = r"\d{4}-\d{2}-\d{2}"
    moment = rf"{day}(?:[ T]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d{{1,6}})?(?:Z|[+-]\d{{2}}:\d{{2}})?)?"
    if target not in (DATE, TIMESTAMP) or not re.fullmatch(day if target == DATE else moment, written, re.ASCII):
        raise invalid(f"write {target} literals as date '2024-02-29' or timestamp '2024-02-29 23:59:59'")


_TYPES = {
    "TEXT": TypeKind.STRING,
    "VARCHAR": TypeKind.STRING,
    "BOOLEAN": TypeKind.BOOLEAN,
    "TINYINT": TypeKind.TINYINT,
    "SMALLINT": TypeKind.SMALLINT,
    "INT": TypeKind.INT,
    "BIGINT": TypeKind.BIGINT,
    "FLOAT": TypeKind.FLOAT,
    "DOUBLE": TypeKind.DOUBLE,
    "DECIMAL": TypeKind.DECIMAL,
    "DATE": TypeKind.DATE,
    "TIMESTAMP": TypeKind.TIMESTAMP,
    "TIMESTAMPTZ": TypeKind.TIMESTAMP,
    "TIMESTAMPLTZ": TypeKind.TIMESTAMP,
    "BINARY": TypeKind.BINARY,
}
