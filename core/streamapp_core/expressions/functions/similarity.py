"""Functions of how texts are written, or sound, alike."""

from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.kernels import EDIT_DISTANCE
from streamapp_core.expressions.typed_sql import Value, bound, cast
from streamapp_core.schema import INT, STRING

_TEXT = Parameter("text", Accepts.TEXT)
_MAX_PAIRS = 100_000_000
"""Pairs of characters that a distance may compare: it takes time by their number."""
_CODES = {
    "1": "BFPV", "2": "CGJKQSXZ", "3": "DT", "4": "L", "5": "MN", "6": "R", "7": "HW",
}  # fmt: skip


def _levenshtein(left: Value, right: Value, most: Value | None = None) -> Value:
    """Write `levenshtein`: DuckDB counts bytes, which are characters in plain texts."""

    def write(a: str, b: str) -> str:
        plain = f"strlen({a}) = length({a}) AND strlen({b}) = length({b})"
        short = f"length({a}) * length({b}) <= {_MAX_PAIRS}"
        return (
            f"CASE WHEN {short} THEN CASE WHEN {plain} THEN {cast(f'levenshtein({a}, {b})', INT)} "
            f"ELSE {EDIT_DISTANCE.over(a, b)} END END"
        )

    distance = Value(INT, bound([left, right], write))
    if most is None:
        return distance

    def within(d: str) -> str:
        return f"CASE WHEN {d} > {most.literal} THEN -1 ELSE {d} END"

    return Value(INT, bound([distance], within))


def _soundex(value: Value) -> Value:
    """Write `soundex`: the codes of equal letters side by side, also around H and W, count once."""
    letters = "".join(_CODES.values())
    codes = "".join(code * len(members) for code, members in _CODES.items())

    def write(v: str) -> str:
        capitals = f"translate({v}, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')"
        sounds = f"translate(regexp_replace({capitals}, '[^A-Z]|[AEIOUY]', '0', 'g'), '{letters}', '{codes}')"
        run = f"(left({sounds}, 1) || replace(substring({sounds}, 2), '7', ''))"
        for code in "123456":
            run = f"regexp_replace({run}, '{code}+', '{code}', 'g')"
        digits = f"rpad(left(replace(substring({run}, 2), '0', ''), 3), 3, '0')"
        first = f"left({capitals}, 1)"
        return f"CASE WHEN regexp_matches({v}, '^[A-Za-z]') THEN {first} || {digits} ELSE {v} END"

    return Value(STRING, bound([value], write))


SIMILARITY = (
    Function(
        name="levenshtein",
        parameters=(
            _TEXT,
            Parameter("other", Accepts.TEXT),
            Parameter("most", Accepts.WHOLE_LITERAL),
        ),
        optional=1,
        result="int",
        doc="How many characters must be changed, added or left out to make one text of the other; -1 if more than "
        "`most`; null where it would take too long (100 million pairs of characters). Slow if they are not all ASCII.",
        write=_levenshtein,
    ),
    Function(
        name="soundex",
        parameters=(_TEXT,),
        result="string",
        doc="The Soundex code of an English word; the text itself if it begins with no letter.",
        write=_soundex,
    ),
)
