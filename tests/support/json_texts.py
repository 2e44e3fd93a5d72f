"""JSON texts as people and programs write them, and worse: halves of characters, numbers that are none, cut off."""

import random

from streamapp_systems.variants.json_tokens import Dialect, MalformedJsonError, tokens

_SPACES = ["", "", "", "", "", " ", "\n", "\t", "\r", "\x0b", "\u00a0"]
_SIGNS = [
    "a", "b", "é", "🙂", "\\n", "\\u00e9", "\\ud83d\\ude42", "\\ud83d", "\\udc00", "\\/", "\\\\", '\\"', "\\'", "\\x",
    "\x01", "\t", "'", "/", "\x7f", "\\u12", "\u2028",
]  # fmt: skip
_NUMBERS = [
    "0", "1", "-1", "12", "-0", "-0.0", "1.5", "1e5", "1E-5", "1.50", "123456789012345678901234567890", "0.001",
    "0.0001", "1e7", "12345678.9", "1e999", "-1e400", "1e-400", "2.5E+3", "9223372036854775808", "NaN", "Infinity",
    "-Infinity", "+INF", "-INF", "INF", "01", "00", "-01", "1.", ".5", "+1", "-", "1e", "1.5.5", "0x1", "1_0", "1f",
    "1.7976931348623157e308", "9999999.999", "1a", "tru", "truex", "True", "nan", "--1", "1e+", "0e0", "2147483648",
    "127", "128", "-129", "32768", "1.0", "1e0", "9223372036854775807", "1e1000000", "99999999.995", "0.005",
]  # fmt: skip
_NAMES = ['"a"', '"a"', '"b"', '"c"', "'a'", '"a b"', '""', '"é"', '"A"', '"d e"']
_STRINGS = [
    '"2024-02-29"', '"2024-02-29 01:02:03"', '"2024-02-29T01:02:03.5Z"', '"2024-02-29T01:02:03+01:00"', '"NaN"',
    '"Infinity"', '"-INF"', '"1"', '"1.5"', '"YWI="', '"true"', '""', '"26/08/2015"',
]  # fmt: skip
_BREAKS = ["", '"', ",", "}", "]", "{", "[", ":", "x", "0", "\\", " "]
_BEHIND = [" ", " x", "}", "1", '"', ",", "\n\n"]


def json_text(draw: random.Random) -> str:
    """Return a JSON text, or one that is broken somewhere."""
    text = _value(draw, draw.choice([1, 2, 3, 4]), least=draw.choice([0, 0.3]))
    kind = draw.random()
    if kind < 0.12:
        place = draw.randrange(len(text))
        return text[:place] + draw.choice(_BREAKS) + text[place + draw.choice([0, 1]) :]
    if kind < 0.2:
        return draw.choice(_SPACES) + text + draw.choice(_BEHIND)
    return text


def sound_json_text(draw: random.Random) -> str:
    """Return a JSON text that is sound, or cut off."""
    while True:
        text = json_text(draw)
        try:
            tokens(text, Dialect(non_numeric_numbers=True))
        except MalformedJsonError:
            continue
        return text[: draw.randrange(len(text))] if draw.random() < 0.1 else text


def json_path(draw: random.Random) -> str:
    """Return a path into such a text."""
    steps = [".a", ".a", ".b", "['a']", "[0]", "[1]", "[*]", "[*]", ".*", ".a b", ". a", "[ 1]", "['c']"]
    return "$" + "".join(draw.choice(steps) for _ in range(draw.choice([0, 1, 1, 2, 2, 3, 4])))


def _value(draw: random.Random, depth: int, least: float = 0) -> str:
    kind = max(draw.random(), least)
    if depth == 0 or kind < 0.3:
        return draw.choice([_string, _number, _number, _constant])(draw)
    size = draw.choice([0, 1, 1, 2, 3])
    if kind < 0.55:
        return f"[{_joined(draw, [_value(draw, depth - 1) for _ in range(size)])}]"
    fields = [f"{_name(draw)}{_space(draw)}:{_space(draw)}{_value(draw, depth - 1)}" for _ in range(size)]
    return f"{{{_joined(draw, fields)}}}"


def _joined(draw: random.Random, parts: list[str]) -> str:
    return _space(draw) + f"{_space(draw)},{_space(draw)}".join(parts) + _space(draw)


def _space(draw: random.Random) -> str:
    return draw.choice(_SPACES) if draw.random() < 0.1 else ""


def _name(draw: random.Random) -> str:
    return draw.choice(_NAMES) if draw.random() < 0.97 else _string(draw)


def _string(draw: random.Random) -> str:
    if draw.random() < 0.3:
        return draw.choice(_STRINGS)
    quote = draw.choice('"""""\'')
    signs = [draw.choice(_SIGNS) if draw.random() < 0.2 else draw.choice("abc") for _ in range(draw.choice([0, 1, 3]))]
    return f"{quote}{''.join(signs)}{quote}"


def _number(draw: random.Random) -> str:
    return draw.choice(_NUMBERS[:15] if draw.random() < 0.6 else _NUMBERS)


def _constant(draw: random.Random) -> str:
    return draw.choice(["true", "false", "null", "null"])
