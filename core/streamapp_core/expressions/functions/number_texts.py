"""Functions between numbers and texts by a format. Their kernels go row by row."""

import re

from streamapp_core.expressions.conversions import converted, implied
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.format_specifiers import MAX_WIDTH, Specifier, parse_format
from streamapp_core.expressions.functions.byte_texts import decoded
from streamapp_core.expressions.functions.date_parts import DATE_PARTS
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.rounding import decimal_of
from streamapp_core.expressions.functions.text_codes import base64
from streamapp_core.expressions.kernels import CHAR_TO_NUMBER, FORMATTED, GROUPED_NUMBER, NUMBER_TO_CHAR, OTHER_BASE
from streamapp_core.expressions.number_formats import parse_number_format
from streamapp_core.expressions.text_formats import digits_of_floating, plain_decimal
from streamapp_core.expressions.type_rules import FRACTIONAL, INTEGRAL
from streamapp_core.expressions.typed_sql import Value, cast, text, try_cast
from streamapp_core.schema import BIGINT, BOOLEAN, DOUBLE, INT, STRING, DataType, TypeKind

_FORMAT = Parameter("format", Accepts.TEXT_LITERAL)
_DATE_FORMAT = next(function for function in DATE_PARTS if function.name == "date_format")
_PATTERN = re.compile(r"(?P<whole>(?:[#,]*#)?(?:,?0+)*)(?P<point>\.(?P<places>0+#*|#+))?")
_TAKES = {"d": INTEGRAL, "x": INTEGRAL, "f": FRACTIONAL}


def _to_char(value: Value, form: Value) -> Value:
    if value.kind in (TypeKind.DATE, TypeKind.TIMESTAMP):
        return _DATE_FORMAT.call([value, form])
    if value.kind is TypeKind.BINARY:
        name = str(form.literal).lower().strip(" ")
        if name == "utf-8":
            return decoded(value, form)
        if name == "base64":
            return base64(value)
        if name != "hex":
            raise invalid(f"to_char of a binary takes the formats 'base64', 'hex' and 'utf-8', not '{name}'")
        return Value(STRING, f"hex({value.sql})")
    parse_number_format(str(form.literal))
    return Value(STRING, NUMBER_TO_CHAR.over(cast(decimal_of(value).sql, "VARCHAR"), form.sql))


def _to_number(value: Value, form: Value) -> Value:
    read = parse_number_format(str(form.literal))
    if not read.groups:
        raise invalid("the format of to_number has a digit before the point")
    target = DataType(TypeKind.DECIMAL, read.whole_digits + read.places, read.places)
    return Value(target, try_cast(CHAR_TO_NUMBER.over(value.sql, form.sql), target))


def _format_number(value: Value, form: Value) -> Value:
    floating = value.kind in FRACTIONAL
    digits = digits_of_floating(converted(value, DOUBLE)) if floating else plain_decimal(value.sql, value.type or INT)
    number = converted(value, DOUBLE).sql if floating else cast("NULL", DOUBLE)
    if isinstance(form.literal, str):
        return Value(STRING, GROUPED_NUMBER.over(digits, number, text(_decimal_pattern(form.literal))))
    places = form.literal
    if not isinstance(places, int) or places > MAX_WIDTH:
        raise invalid(f"format_number takes up to {MAX_WIDTH} places as a literal, or a pattern such as '#,##0.00'")
    if places < 0:
        return Value(STRING, cast("NULL", STRING), simple=True)
    return Value(STRING, GROUPED_NUMBER.over(digits, number, text(f"3 1 {places} {places}")))


def _decimal_pattern(pattern: str) -> str:
    """Read a pattern of `#`, `0`, commas and a point: size of groups, fewest whole digits, fewest and most places."""
    if len(pattern) > MAX_WIDTH:
        raise invalid(f"the pattern of format_number has more than {MAX_WIDTH} characters")
    match = _PATTERN.fullmatch(pattern)
    if match is None or not pattern.strip(","):
        raise invalid(f"'{pattern[:40]}' is no pattern of # and 0, commas between them and one point, as '#,##0.00'")
    groups, places = match["whole"].split(","), match["places"] or ""
    bare, zeros = len("".join(groups).lstrip("#")), len(places.rstrip("#"))
    if "0" not in pattern and match["point"]:
        bare, zeros = (1, 0) if match["whole"] else (0, 1)
    return f"{len(groups[-1]) if len(groups) > 1 else 0} {bare} {zeros} {len(places)}"


def _format_string(form: Value, *values: Value) -> Value:
    pieces = parse_format(str(form.literal))
    places = [piece for piece in pieces if isinstance(piece, Specifier)]
    missing = [piece.argument + 1 for piece in places if piece.argument >= len(values)]
    if missing:
        raise invalid(f"the format of format_string names value {missing[0]}, but there are {len(values)}")
    if not places:
        return Value(STRING, text("".join(map(str, pieces))), simple=True)
    taken = [_argument(piece, values[piece.argument]) for piece in places]
    written = "".join(piece.replace("%", "%%") if isinstance(piece, str) else _renumbered(piece) for piece in pieces)
    return Value(STRING, FORMATTED.over(text(written), *(value.sql for value in taken)))


def _renumbered(piece: Specifier) -> str:
    """Write a specifier as the next one of the format: each has a value of its own, of the type that it takes."""
    width = str(piece.width) if piece.width else ""
    precision = "" if piece.precision is None else f".{piece.precision}"
    return f"%{piece.flags}{width}{precision}{piece.conversion}"


def _argument(piece: Specifier, value: Value) -> Value:
    kind = piece.conversion.lower()
    if value.type is None:
        return converted(value, STRING)
    if kind == "b":
        return value if value.kind is TypeKind.BOOLEAN else Value(BOOLEAN, f"({value.sql} IS NOT NULL)")
    if kind != "s":
        if value.kind not in _TAKES[kind]:
            kinds = "a float or double" if kind == "f" else "a whole number"
            raise Refusal(f"%{piece.conversion} of format_string takes {kinds}, got {value.type}; cast it")
        return converted(value, DOUBLE) if kind == "f" else value
    if value.kind is TypeKind.DATE:
        value = Value(INT, f"CAST({value.sql} - DATE '1970-01-01' AS INTEGER)")
    elif value.kind is TypeKind.TIMESTAMP:
        value = Value(BIGINT, f"epoch_us({value.sql})")
    elif value.kind is TypeKind.BINARY:
        raise Refusal("%s of format_string takes no binary; cast it to string")
    return implied(value, STRING)


def _conv(value: Value, source: Value, target: Value) -> Value:
    return Value(STRING, OTHER_BASE.over(value.sql, source.sql, target.sql))


def _number_function(name: str, aliases: tuple[str, ...], doc: str, result: str) -> Function:
    to_number = name == "to_number"
    return Function(
        name=name,
        aliases=aliases,
        parameters=(Parameter("text", Accepts.TEXT) if to_number else Parameter("value", Accepts.ANY), _FORMAT),
        result=result,
        doc=doc,
        write=_to_number if to_number else _to_char,
    )


NUMBER_TEXTS = (
    _number_function(
        "to_char",
        ("to_varchar",),
        "A number by a [format of digits](#formats-of-numbers), `#` where it does not fit; a date or timestamp by a "
        "pattern; a binary by 'base64', 'hex' or 'utf-8'. Slow for numbers.",
        "string",
    ),
    _number_function(
        "to_number",
        ("try_to_number",),
        "The number that a text has in a [format of digits](#formats-of-numbers); null if it does not fit. Slow.",
        "decimal",
    ),
    Function(
        name="format_number",
        parameters=(Parameter("number", Accepts.NUMBER), Parameter("places", Accepts.ANY)),
        result="string",
        doc="The number with commas and so many places behind the point (null below 0), or by a pattern such as "
        "`'#,##0.00'`; the half goes to the even digit. Slow.",
        write=_format_number,
    ),
    Function(
        name="format_string",
        aliases=("printf",),
        parameters=(_FORMAT, Parameter("value", Accepts.ANY)),
        optional=1,
        repeated=True,
        result="string",
        doc="The format with the values in place of `%s`, `%d`, `%x`, `%f` (float or double) and `%b`, with width, "
        "precision and flags, as in `%2$-10s` or `%,.2f`. Slow.",
        write=_format_string,
    ),
    Function(
        name="conv",
        parameters=(Parameter("text", Accepts.TEXT), Parameter("from", Accepts.WHOLE), Parameter("to", Accepts.WHOLE)),
        result="string",
        doc="A whole number in another base, from 2 to 36 (below 0: with a sign); null if there is none. Slow.",
        write=_conv,
    ),
)
