"""Functions between texts and their bytes in a character set."""

from streamapp_core.expressions.conversions import implied
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import DECODED, ENCODED, REPAIRED_UTF8
from streamapp_core.expressions.typed_sql import Value, bound, text
from streamapp_core.schema import BINARY, BOOLEAN, STRING

_ANY = Parameter("text", Accepts.ANY)
_CHARSET = Parameter("charset", Accepts.TEXT_LITERAL)
_CHARSETS = ("US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16BE", "UTF-16LE", "UTF-16", "UTF-32")


def encoded(value: Value, charset: Value) -> Value:
    """Write the bytes of a text in a character set."""
    name = _name("encode", charset)
    sql = f"encode({value.sql})" if name == "UTF-8" else ENCODED.over(value.sql, text(name))
    return Value(BINARY, sql)


def decoded(value: Value, charset: Value) -> Value:
    """Read bytes in a character set; null if they are none of it."""
    name = _name("decode", charset)
    data = implied(value, BINARY).sql
    return Value(STRING, f"TRY(decode({data}))" if name == "UTF-8" else DECODED.over(data, text(name)))


def _name(function: str, charset: Value) -> str:
    name = str(charset.literal).upper()
    if name not in _CHARSETS:
        raise invalid(f"{function} takes the character sets {', '.join(_CHARSETS)}, not '{charset.literal}'")
    return name


def _valid(value: Value) -> Value:
    """Write `is_valid_utf8`: every text is."""
    if value.type != BINARY:
        return Value(BOOLEAN, f"CASE WHEN {implied(value, STRING).sql} IS NOT NULL THEN true END")

    def write(v: str) -> str:
        return f"CASE WHEN {v} IS NOT NULL THEN TRY(decode({v})) IS NOT NULL END"

    return Value(BOOLEAN, bound([value], write))


def _collation(value: Value) -> Value:
    if value.type not in (None, STRING):
        raise Refusal(f"collation takes a string, got {value.type}")
    return Value(STRING, text("SYSTEM.BUILTIN.UTF8_BINARY"))


def _validated(value: Value) -> Value:
    return implied(value, STRING) if value.type != BINARY else Value(STRING, f"TRY(decode({value.sql}))")


def _repaired(value: Value) -> Value:
    if value.type != BINARY:
        return implied(value, STRING)

    def write(v: str) -> str:
        return f"coalesce(TRY(decode({v})), {REPAIRED_UTF8.over(v)})"

    return Value(STRING, bound([value], write))


BYTE_TEXTS = (
    Function(
        name="encode",
        parameters=(Parameter("text", Accepts.TEXT), _CHARSET),
        result="binary",
        doc="The bytes of a text in a character set: 'UTF-8', 'US-ASCII', 'ISO-8859-1', 'UTF-16', 'UTF-16BE', "
        "'UTF-16LE' or 'UTF-32'; null if it has characters that the set lacks.",
        write=encoded,
    ),
    Function(
        name="collation",
        parameters=(_ANY,),
        result="string",
        doc="The name of the order of a text: always `SYSTEM.BUILTIN.UTF8_BINARY`, that of its bytes.",
        write=_collation,
    ),
    Function(
        name="is_valid_utf8",
        parameters=(_ANY,),
        result="boolean",
        doc="Whether a text, or a binary, is UTF-8; every text is.",
        write=_valid,
    ),
    Function(
        name="validate_utf8",
        aliases=("try_validate_utf8",),
        parameters=(_ANY,),
        result="string",
        doc="The text, also of a binary; null if that is no UTF-8.",
        write=_validated,
    ),
    Function(
        name="make_valid_utf8",
        parameters=(_ANY,),
        result="string",
        doc="The text, also of a binary, with `\ufffd` in place of each part that is no UTF-8.",
        write=_repaired,
    ),
)
