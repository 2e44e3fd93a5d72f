"""Functions that write texts in another form: capitals, masks, quotes, numbers with separators."""

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter, fixed
from streamapp_core.expressions.functions.strings import lowered, sized, upper
from streamapp_core.expressions.typed_sql import Value, bound, text
from streamapp_core.schema import BOOLEAN, STRING

_TEXT = Parameter("text", Accepts.TEXT)
_UPPER = r"[\p{Lu}\x{2160}-\x{216f}\x{24b6}-\x{24cf}]"
_LOWER = (
    r"[\p{Ll}\x{aa}\x{ba}\x{2b0}-\x{2b8}\x{2c0}\x{2c1}\x{2e0}-\x{2e4}\x{345}\x{37a}\x{2170}-\x{217f}\x{24d0}-\x{24e9}]"
)
_DIGIT = r"\p{Nd}"
_MASKS = (("upperChar", _UPPER, "X"), ("lowerChar", _LOWER, "x"), ("digitChar", _DIGIT, "n"), ("otherChar", "", None))
_TITLES = {
    "ß": "Ss", "ŉ": "\u02bcN", "ﬀ": "Ff", "ﬁ": "Fi", "ﬂ": "Fl", "ﬃ": "Ffi", "ﬄ": "Ffl", "ﬅ": "St", "ﬆ": "St",
    "ǆ": "ǅ", "ǉ": "ǈ", "ǌ": "ǋ", "ǳ": "ǲ", "Ǆ": "ǅ", "Ǉ": "ǈ", "Ǌ": "ǋ", "Ǳ": "ǲ",
}  # fmt: skip


def _with_capitals(value: Value) -> Value:
    """Write `initcap`: words are separated by spaces."""
    titles = " ".join(f"WHEN '{letter}' THEN '{title}'" for letter, title in _TITLES.items())
    word, first = Value(STRING, "__w", simple=True), Value(STRING, "left(__w, 1)", simple=True)
    capital = f"CASE {first.sql} {titles} ELSE {upper(first).sql} END"
    rest = f"substring({lowered(word).sql}, CASE {first.sql} WHEN 'İ' THEN 3 ELSE 2 END)"
    words = f"list_transform(string_split({value.sql}, ' '), lambda __w: {capital} || {rest})"
    return Value(STRING, f"array_to_string({words}, ' ')")


def _masked(value: Value, *masks: Value) -> Value:
    """Write `mask`: a null in place of a character keeps those as they are.

    A character beyond U+FFFF counts as two others, as in Java.
    """
    whens = []
    for index, (name, class_, usual) in enumerate(_MASKS):
        mask = masks[index].literal if index < len(masks) else usual
        if index < len(masks) and masks[index].type is not None and (not isinstance(mask, str) or len(mask) != 1):
            raise invalid(f"mask: {name} is a literal of one character, or null")
        new = "__c" if mask is None else text(str(mask))
        whens.append(f"WHEN regexp_matches(__c, '{class_}') THEN {new}" if class_ else f"ELSE {new}")
    wide = f"WHEN unicode(__c) > {0xFFFF} THEN {'__c' if mask is None else text(str(mask) * 2)}"

    def write(v: str) -> str:
        letters = f"list_transform(string_split({v}, ''), lambda __c: CASE {wide} {' '.join(whens)} END)"
        return f"CASE WHEN {v} = '' THEN '' ELSE array_to_string({letters}, '') END"

    return Value(STRING, bound([value], write))


def _spaces(count: Value) -> Value:
    return sized("space", count, STRING, lambda size: f"repeat(' ', {size})")


def _luhn(value: Value) -> Value:
    """Write `luhn_check`: every second digit from the right counts twice, less nine where that has two digits."""

    def write(v: str) -> str:
        digits = f"list_reverse(string_split({v}, ''))"
        single = "CAST(__d AS INTEGER)"
        double = f"CASE WHEN __i % 2 = 1 THEN {single} WHEN {single} > 4 THEN {single} * 2 - 9 ELSE {single} * 2 END"
        total = f"list_sum(list_transform({digits}, lambda __d, __i: {double}))"
        number = f"regexp_full_match({v}, '[0-9]+')"
        return f"CASE WHEN {v} IS NULL THEN NULL WHEN {number} THEN {total} % 10 = 0 ELSE false END"

    return Value(BOOLEAN, bound([value], write))


TEXT_FORMS = (
    Function(
        name="initcap",
        parameters=(_TEXT,),
        result="string",
        doc="With a capital at the start of each word, and small letters behind it.",
        write=_with_capitals,
    ),
    Function(
        name="mask",
        parameters=(
            _TEXT,
            Parameter("upperChar", Accepts.ANY),
            Parameter("lowerChar", Accepts.ANY),
            Parameter("digitChar", Accepts.ANY),
            Parameter("otherChar", Accepts.ANY),
        ),
        optional=4,
        result="string",
        doc="With capitals as `X`, small letters as `x`, digits as `n`, and others as they are, or with such "
        "characters of your own; null keeps what is there.",
        write=_masked,
    ),
    Function(
        name="space",
        parameters=(Parameter("count", Accepts.WHOLE),),
        result="string",
        doc="So many spaces.",
        write=_spaces,
    ),
    Function(
        name="quote",
        parameters=(_TEXT,),
        result="string",
        doc="In single quotes, with a backslash before those that it has.",
        write=fixed(STRING, r"'''' || replace({0}, '''', '\''') || ''''"),
    ),
    Function(
        name="luhn_check",
        parameters=(_TEXT,),
        result="boolean",
        doc="Whether the last digit of a number, such as that of a credit card, is its check digit.",
        write=_luhn,
    ),
)
