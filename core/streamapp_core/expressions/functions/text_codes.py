"""Functions between texts, bytes and numbers: character codes, hexadecimal digits, Base64."""

from streamapp_core.expressions.conversions import implied
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter, fixed
from streamapp_core.expressions.type_rules import NUMERIC
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import BIGINT, BINARY, INT, STRING, TypeKind

_TEXT = Parameter("text", Accepts.TEXT)
_BYTES = Parameter("value", Accepts.BINARY)
_BLANKS = r" \t\n\x0b\f\r\x1c-\x1f\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}"
_ANY = Parameter("value", Accepts.ANY)
_LINE = 57
"""The most bytes that a line of Base64 holds."""


def _character(number: Value) -> Value:
    def write(n: str) -> str:
        return f"CASE WHEN {n} < 0 THEN '' ELSE chr(CAST({n} & 255 AS INTEGER)) END"

    return Value(STRING, bound([implied(number, BIGINT)], write))


def _hexadecimal(value: Value) -> Value:
    if value.kind in NUMERIC:
        return Value(STRING, f"hex({implied(value, BIGINT).sql})")
    content = value if value.kind is TypeKind.BINARY else implied(value, STRING)
    return Value(STRING, f"hex({implied(content, BINARY).sql})")


def _bytes_of_hexadecimal(v: str) -> str:
    digits = f"CASE WHEN length({v}) % 2 = 1 THEN '0' || {v} ELSE {v} END"
    return f"CASE WHEN regexp_matches({v}, '^[0-9A-Fa-f]*$') AND NOT contains({v}, chr(10)) THEN unhex({digits}) END"


def base64(value: Value) -> Value:
    """Write bytes in Base64, in lines of 76 characters."""

    def write(v: str) -> str:
        lines = f"regexp_replace(base64({v}), '(.{{76}})', '\\1' || chr(13) || chr(10), 'g')"
        return f"CASE WHEN octet_length({v}) <= {_LINE} THEN base64({v}) ELSE rtrim({lines}, chr(13) || chr(10)) END"

    return Value(STRING, bound([value], write))


def _bytes_of_base64(v: str) -> str:
    """Read Base64 as MIME does: what is no digit of it is left out, and so may be the `=` at the end."""
    written = f"regexp_replace({v}, '[^A-Za-z0-9+/=]', '', 'g')"
    digits = f"rtrim({written}, '=')"
    bare = f"regexp_full_match({written}, '[A-Za-z0-9+/]*')"
    whole = f"length({written}) % 4 = 0 AND regexp_full_match({written}, '[A-Za-z0-9+/]*={{1,2}}')"
    padded = f"{digits} || repeat('=', CAST((4 - length({digits}) % 4) % 4 AS BIGINT))"
    return f"CASE WHEN {bare} OR ({whole}) THEN from_base64({padded}) END"


def _bytes_of_whole_base64(v: str) -> str:
    """Read Base64 in which blanks may stand before the `=` at the end, of which there are as many as are missing."""
    digits = f"regexp_replace(rtrim({v}, '='), '[^A-Za-z0-9+/]', '', 'g')"
    signs = f"(length({v}) - length(rtrim({v}, '=')))"
    allowed = rf"regexp_full_match({v}, '[A-Za-z0-9+/{_BLANKS}]*={{0,2}}')"
    missing = f"(4 - length({digits}) % 4) % 4"
    padded = f"{digits} || repeat('=', CAST({missing} AS BIGINT))"
    return f"CASE WHEN {allowed} AND {missing} < 3 AND {signs} IN (0, {missing}) THEN from_base64({padded}) END"


def _to_binary(value: Value, form: Value | None = None) -> Value:
    readers = {"hex": _bytes_of_hexadecimal, "base64": _bytes_of_whole_base64}
    name = str(form.literal).lower() if form else "hex"
    if name in ("utf-8", "utf8"):
        return Value(BINARY, f"encode({value.sql})")
    if name not in readers:
        raise invalid(f"to_binary takes the formats 'hex', 'utf-8' and 'base64', not '{name}'")
    return Value(BINARY, bound([value], readers[name]))


def _try_to_binary(value: Value, form: Value | None = None) -> Value:
    try:
        return _to_binary(value, form)
    except Refusal:
        return Value(BINARY, cast("NULL", BINARY))


def _size(value: Value, unit: int) -> Value:
    data = value if value.type == BINARY else implied(value, STRING)
    function = "octet_length" if value.type == BINARY else "strlen"
    return Value(INT, cast(f"{function}({data.sql}) * {unit}", INT))


TEXT_CODES = (
    Function(
        name="ascii",
        parameters=(_TEXT,),
        result="int",
        doc="The code point of the first character; 0 of an empty text.",
        write=fixed(INT, "CAST(CASE WHEN {0} = '' THEN 0 ELSE unicode({0}) END AS INTEGER)"),
    ),
    Function(
        name="chr",
        aliases=("char",),
        parameters=(Parameter("number", Accepts.ANY),),
        result="string",
        doc="The character with this code, of which the lowest eight bits count; an empty text below 0.",
        write=_character,
    ),
    Function(
        name="hex",
        parameters=(_ANY,),
        result="string",
        doc="A number, without its fraction, or the bytes of a text or binary, in hexadecimal digits.",
        write=_hexadecimal,
    ),
    Function(
        name="unhex",
        parameters=(_TEXT,),
        result="binary",
        doc="The bytes with these hexadecimal digits; null if they are none.",
        write=lambda value: Value(BINARY, bound([value], _bytes_of_hexadecimal)),
    ),
    Function(
        name="base64",
        parameters=(_BYTES,),
        result="string",
        doc="The bytes in Base64, in lines of 76 characters with `\\r\\n` between them.",
        write=base64,
    ),
    Function(
        name="unbase64",
        parameters=(_TEXT,),
        result="binary",
        doc="The bytes of a text in Base64; null if it is none.",
        write=lambda value: Value(BINARY, bound([value], _bytes_of_base64)),
    ),
    Function(
        name="to_binary",
        parameters=(_TEXT, Parameter("format", Accepts.TEXT_LITERAL)),
        optional=1,
        result="binary",
        doc="The bytes of a text in 'hex' (if no format is given), 'utf-8' or 'base64'; null if it is none.",
        write=_to_binary,
    ),
    Function(
        name="try_to_binary",
        parameters=(_TEXT, Parameter("format", Accepts.TEXT_LITERAL)),
        optional=1,
        result="binary",
        doc="As `to_binary`; null if there is no such format.",
        write=_try_to_binary,
    ),
    Function(
        name="octet_length",
        parameters=(_ANY,),
        result="int",
        doc="The number of bytes of a text or binary.",
        write=lambda value: _size(value, 1),
    ),
    Function(
        name="bit_length",
        parameters=(_ANY,),
        result="int",
        doc="The number of bits of a text or binary.",
        write=lambda value: _size(value, 8),
    ),
)
