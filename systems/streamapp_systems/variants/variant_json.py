"""Variants out of JSON texts, by the rules of `parse_json`, and as JSON texts."""

import base64
import json
import re
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

from streamapp_core.data_types import MAX_PRECISION
from streamapp_systems.variants import json_generator
from streamapp_systems.variants.floating_texts import floating_text
from streamapp_systems.variants.json_tokens import (
    MAX_NAME_LENGTH,
    MAX_NUMBER_LENGTH,
    Dialect,
    MalformedJsonError,
    TokenKind,
    Tokens,
    tokens,
)
from streamapp_systems.variants.variant_encoding import (
    MAX_VARIANT_DEPTH,
    Node,
    Parts,
    UnencodableError,
    Variant,
    VariantKind,
    encoded,
    encoded_by,
    encoded_decimal,
    encoded_long,
    encoded_scalar,
    encoded_text,
)

NO_VARIANTS = "an object has a field twice, a text half a character, or there are more than 200 levels or 16 MB"
"""JSON that no variant holds."""
_JSON = Dialect(single_quotes=False)
_PLAIN = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_LONG_BITS = 63
_DAY = 86_400_000_000
_SECOND = 1_000_000
_EXACT = Context(prec=80)
_MOMENTS = (VariantKind.DATE, VariantKind.TIMESTAMP, VariantKind.TIMESTAMP_NTZ)
_QUOTED = (*_MOMENTS, VariantKind.BINARY)
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


def _in_utc(_: int) -> int:
    return 0


def variant_of_json(text: str) -> Variant | None:
    """Return the first value of a JSON text.

    None of a text that is malformed, or has a field twice, half a character, more than 200 levels, or 16 MB.
    """
    try:
        return encoded_by(_split, _decode(text))
    except (ValueError, RecursionError):
        return variant_of_tokens(text)  # which alone decides what is none


def variant_of_tokens(text: str) -> Variant | None:
    """Return the first value of a JSON text as Jackson reads it, slowly; None of a text that has none."""
    try:
        found = tokens(text, _JSON)
        return encoded(_node(found, 0, 0)) if found else None
    except (MalformedJsonError, UnencodableError):
        return None


def _split(value: Any) -> Parts:  # noqa: ANN401 - what Python makes of JSON
    if isinstance(value, str):
        return encoded_text(value)
    if isinstance(value, tuple):
        if any(len(name) > MAX_NAME_LENGTH // 2 for name, _ in value):
            raise ValueError("its length is to be counted as Java does")
        return value
    if isinstance(value, bytes | list):
        return value
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if not -(1 << _LONG_BITS) <= value < 1 << _LONG_BITS:
        raise ValueError("it is no bigint")
    return encoded_long(value)


def _fraction(text: str) -> bytes:
    if len(text) > MAX_NUMBER_LENGTH:
        raise ValueError("it may be too long")
    if not _PLAIN.fullmatch(text):
        return encoded_scalar(Node(VariantKind.DOUBLE, float(text)))
    whole, _, behind = text.partition(".")
    return encoded_decimal(int(whole + behind), len(behind)) or encoded_scalar(Node(VariantKind.DOUBLE, float(text)))


def _refused(text: str) -> bytes:
    raise ValueError(f"{text} is no JSON")


_decode: Callable[[str], Any] = json.JSONDecoder(
    object_pairs_hook=tuple, parse_float=_fraction, parse_constant=_refused
).decode
_NULL = encoded_scalar(Node(VariantKind.NULL))
_TRUE, _FALSE = (encoded_scalar(Node(VariantKind.BOOLEAN, held)) for held in (True, False))


def _node(found: Tokens, place: int, depth: int) -> Node:
    kind, text = found.kinds[place], found.texts[place]
    if depth > MAX_VARIANT_DEPTH:
        raise UnencodableError
    match kind:
        case TokenKind.OBJECT:
            fields = [(_sound(found.texts[name]), _node(found, name + 1, depth + 1)) for name in found.parts(place)]
            return Node(VariantKind.OBJECT, fields)
        case TokenKind.ARRAY:
            return Node(VariantKind.ARRAY, [_node(found, part, depth + 1) for part in found.parts(place)])
        case TokenKind.STRING:
            return Node(VariantKind.STRING, _sound(text))
        case TokenKind.INTEGER | TokenKind.FLOAT:
            return _number(kind, text)
        case TokenKind.NULL:
            return Node(VariantKind.NULL)
        case _:
            return Node(VariantKind.BOOLEAN, kind is TokenKind.TRUE)


def _sound(text: str) -> str:
    if json_generator.has_halves(text):
        raise MalformedJsonError
    return text


def _number(kind: TokenKind, text: str) -> Node:
    if kind is TokenKind.INTEGER and -(1 << _LONG_BITS) <= (whole := int(text)) < 1 << _LONG_BITS:
        return Node(VariantKind.LONG, whole)
    if _PLAIN.fullmatch(text):
        number = Decimal(text)
        digits = number.as_tuple()
        if max(len(digits.digits), -int(digits.exponent)) <= MAX_PRECISION:
            return Node(VariantKind.DECIMAL, number)
    return Node(VariantKind.DOUBLE, float(text))


def json_of(node: Node, offset: Callable[[int], int] = _in_utc) -> str:
    """Write a value as JSON; `offset` returns the seconds that clocks are ahead of UTC at microseconds since 1970."""
    kind, held = node
    match kind:
        case VariantKind.OBJECT:
            fields = (f"{json_generator.string(name, as_bytes=False)}:{json_of(inner, offset)}" for name, inner in held)
            return f"{{{','.join(fields)}}}"
        case VariantKind.ARRAY:
            return f"[{','.join(json_of(inner, offset) for inner in held)}]"
        case VariantKind.STRING:
            return json_generator.string(held, as_bytes=False)
        case VariantKind.NULL:
            return "null"
        case _:
            shown = base64.b64encode(held).decode() if kind is VariantKind.BINARY else text_of(node, offset)
            zone = _written_offset(offset(held)) if kind is VariantKind.TIMESTAMP else ""
            return f'"{shown}{zone}"' if kind in _QUOTED or shown in _NO_NUMBERS else shown


def _written_offset(seconds: int) -> str:
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{'-' if seconds < 0 and hours + minutes else '+'}{hours:02}:{minutes:02}"


def text_of(node: Node, offset: Callable[[int], int] = _in_utc) -> str:
    """Write a plain value as a text; `offset` as in `json_of`.

    Raises:
        UnicodeDecodeError: It is binary, and no text.
    """
    kind, held = node
    match kind:
        case VariantKind.BOOLEAN:
            return "true" if held else "false"
        case VariantKind.DOUBLE | VariantKind.FLOAT:
            return _floating(node)
        case VariantKind.DECIMAL:
            return f"{_stripped(held):f}"
        case VariantKind.BINARY:
            return bytes(held).decode()
        case VariantKind.DATE | VariantKind.TIMESTAMP | VariantKind.TIMESTAMP_NTZ:
            ahead = offset(held) * _SECOND if kind is VariantKind.TIMESTAMP else 0
            return _moment(Node(kind, held + ahead))
        case _:
            return str(held)


def _stripped(number: Decimal) -> Decimal:
    """Return a decimal without zeros at its end."""
    return number.normalize(_EXACT) if number else Decimal(0)


def _floating(node: Node) -> str:
    return floating_text(float(node.held), single=node.kind is VariantKind.FLOAT)


def _moment(node: Node) -> str:
    """Write a date or time: a year below 0 or above 9999 with its sign."""
    days, rest = (node.held, 0) if node.kind is VariantKind.DATE else divmod(node.held, _DAY)
    year, month, day = _civil(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""  # noqa: PLR2004 - four digits
    date = f"{sign}{abs(year):04}-{month:02}-{day:02}"
    if node.kind is VariantKind.DATE:
        return date
    seconds, micros = divmod(rest, _SECOND)
    fraction = f".{micros:06}".rstrip("0") if micros else ""
    return f"{date} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def _civil(days: int) -> tuple[int, int, int]:
    """Return the year, month and day of days since 1970, in the Gregorian calendar at all times."""
    # Years begin in March here, eras of 400 years have 146,097 days.
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    of_year = day - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    of_month = of_year - (153 * month + 2) // 5 + 1
    return year + era * 400 + (month >= 10), month + (3 if month < 10 else -9), of_month  # noqa: PLR2004 - January
