"""Functions of texts. Positions and lengths count characters (Unicode code points), from 1."""

from collections.abc import Callable
from functools import partial

from streamapp_core.expressions.comparisons import alike
from streamapp_core.expressions.conversions import converted, implied
from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter, fixed
from streamapp_core.expressions.growth import MAX_GROWTH, SHORT, bounded
from streamapp_core.expressions.regex import Regex
from streamapp_core.expressions.regex_translation import translated
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import BINARY, BOOLEAN, INT, STRING, DataType, TypeKind

MAX_TEXT_LENGTH = 10_000
"""The longest text that `lpad`, `rpad` and the most repetitions that `repeat` make: a batch must fit in memory."""

_LONG_CAPITALS = {letter: letter.upper() for letter in "ßŉﬀﬁﬂﬃﬄﬅﬆ"}
_CASED_CLASSES = r"\p{Lu}\p{Ll}\p{Lt}"
_IGNORED_CLASSES = r"\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}''.:\x{b7}\x{2018}\x{2019}\x{2024}"
_CASED = f"[{_CASED_CLASSES}]"
_IGNORED = f"[{_IGNORED_CLASSES}]"
_OTHER = f"[^{_CASED_CLASSES}{_IGNORED_CLASSES}]"

_TEXT = Parameter("text", Accepts.TEXT)
_TEXT_OR_BYTES = Parameter("text", Accepts.TEXT_OR_BINARY)
_PART = Parameter("part", Accepts.TEXT)


def upper(value: Value) -> Value:
    """Write `upper`; DuckDB knows no capitals of several letters."""

    def write(v: str) -> str:
        replaced = v
        for letter, capitals in _LONG_CAPITALS.items():
            replaced = f"replace({replaced}, '{letter}', '{capitals}')"
        return f"CASE WHEN strlen({v}) = length({v}) THEN upper({v}) ELSE upper({replaced}) END"

    return Value(STRING, bound([value], write))


def lowered(value: Value) -> Value:
    """Write `lower`; DuckDB knows neither the sigma at the end of a word nor the Turkish I."""

    def write(v: str) -> str:
        sigma = rf"regexp_replace({v}, '({_CASED}{_IGNORED}*)Σ({_IGNORED}*)($|{_OTHER})', '\1ς\2\3', 'g')"
        return f"CASE WHEN strlen({v}) = length({v}) THEN lower({v}) ELSE lower(replace({sigma}, 'İ', 'i\u0307')) END"

    return Value(STRING, bound([value], write))


def _length(value: Value) -> Value:
    function = "octet_length" if value.type == BINARY else "length"
    return Value(INT, cast(f"{function}({implied(value, value.type or STRING).sql})", INT))


def _length_of(value: Value) -> Value:
    return _length(value if value.type == BINARY else implied(value, STRING))


def _size(value: Value, v: str) -> str:
    return f"octet_length({v})" if value.type == BINARY else f"length({v})"


def _cut(value: Value, v: str, before: str, size: str | None = None) -> str:
    """Write the characters or bytes behind the first ones, all or so many; both numbers are 0 or more."""
    if value.type == BINARY:
        end = f"octet_length({v})" if size is None else f"{before} + {size}"
        return f"array_slice({v}, {before} + 1, {end})"
    return f"substring({v}, {before} + 1{'' if size is None else f', {size}'})"


def substring(value: Value, position: Value, length: Value | None = None) -> Value:
    """Write `substring`: position 0 is 1, below 0 it counts from the end, even from before the start."""

    def write(v: str, p: str, n: str | None = None) -> str:
        start = f"CAST(CASE WHEN {p} > 0 THEN {p} - 1 WHEN {p} < 0 THEN {_size(value, v)} + {p} ELSE 0 END AS BIGINT)"
        if n is None and position.literal is None:  # Java's count of all that follows wraps around
            n = str(2**31 - 1)
        if n is None:
            return f"CASE WHEN {p} IS NOT NULL THEN {_cut(value, v, f'greatest({start}, 0)')} END"
        size = f"greatest({start} + {n} - greatest({start}, 0), 0)"
        part = _cut(value, v, f"greatest({start}, 0)", size)
        return f"CASE WHEN {p} IS NOT NULL AND {n} IS NOT NULL THEN {part} END"

    values = [value, position] + ([length] if length else [])
    return Value(value.type, bound(values, write))


def _first(value: Value, count: Value) -> Value:
    # greatest() leaves out nulls: a null count must give null.
    def write(v: str, n: str) -> str:
        return f"CASE WHEN {n} IS NOT NULL THEN {_cut(value, v, '0', f'greatest({n}, 0)')} END"

    return Value(value.type, bound([value, count], write))


def _last(value: Value, count: Value) -> Value:
    return Value(
        STRING, bound([value, count], lambda v, n: f"CASE WHEN {n} IS NOT NULL THEN right({v}, greatest({n}, 0)) END")
    )


def _padded(function: str, value: Value, length: Value, pad: Value | None = None) -> Value:
    if value.type == BINARY and (pad is None or pad.type == BINARY):
        filler = pad or Value(BINARY, "unhex('00')", simple=True)
        return sized(function, length, BINARY, lambda size: _padded_bytes(function, value, size, filler))
    return sized(function, length, STRING, lambda size: _padded_text(function, value, size, pad))


def _padded_text(function: str, value: Value, size: str, pad: Value | None) -> str:
    value = implied(value, STRING)
    if pad is None:
        return f"{function}({value.sql}, {size}, ' ')"

    def write(v: str, p: str) -> str:
        return (
            f"CASE WHEN {p} = '' THEN left({v}, {size}) "
            f"ELSE {function}({v}, {size}, CASE WHEN {p} = '' THEN ' ' ELSE {p} END) END"
        )

    return bound([value, implied(pad, STRING)], write)


def _padded_bytes(function: str, value: Value, size: str, pad: Value) -> str:
    def write(v: str, p: str) -> str:
        missing = f"greatest({size} - octet_length({v}), 0)"
        filling = f"array_slice(repeat({p}, {size} // octet_length({p}) + 1), 1, {missing})"
        kept = f"array_slice({v}, 1, {size})"
        joined = f"{filling} || {kept}" if function == "lpad" else f"{kept} || {filling}"
        return f"CASE WHEN octet_length({p}) = 0 THEN {kept} ELSE {joined} END"

    return bound([value, pad], write)


def _repeat(value: Value, count: Value) -> Value:
    def write(times: str) -> str:
        return bound([value], lambda v: bounded([f"strlen({v})", times], f"repeat({v}, {times})"))

    return sized("repeat", count, STRING, write)


def sized(function: str, length: Value, data_type: DataType, write: Callable[[str], str]) -> Value:
    """Write what a function makes of a length, which is 0 if it is below; null of one that is computed and too long.

    Raises:
        Refusal: A literal is too long.
    """
    if length.literal is None:

        def within(n: str) -> str:
            within_bounds = f"greatest(least({n}, {MAX_TEXT_LENGTH}), 0)"  # DuckDB makes constants beyond them, too
            return f"CASE WHEN {n} <= {MAX_TEXT_LENGTH} THEN {write(within_bounds)} END"

        return Value(data_type, bound([length], within))
    if not isinstance(length.literal, int) or length.literal > MAX_TEXT_LENGTH:
        raise invalid(f"{function} makes texts of at most {MAX_TEXT_LENGTH} characters, not {length.literal}")
    return Value(data_type, write(str(max(length.literal, 0))))


def _concat(*values: Value) -> Value:
    if any(value.kind is TypeKind.ARRAY for value in values):
        return _joined_arrays(alike(list(values), texts=True))
    if all(value.type == BINARY for value in values):
        return Value(BINARY, f"({' || '.join(value.sql for value in values)})")
    return Value(STRING, f"({' || '.join(implied(value, STRING).sql for value in values)})")


def _joined_arrays(arrays: list[Value]) -> Value:
    def write(*sides: str) -> str:
        there = " AND ".join(f"{side} IS NOT NULL" for side in sides)
        return f"CASE WHEN {there} THEN list_concat({', '.join(sides)}) END"

    return Value(arrays[0].type, bound(arrays, write)) if len(arrays) > 1 else arrays[0]


def _reversed(value: Value) -> Value:
    if value.kind is TypeKind.ARRAY:
        return Value(value.type, f"list_reverse({value.sql})")
    if value.kind is TypeKind.BINARY:
        return Value(BINARY, f"unhex(array_to_string(list_reverse(regexp_extract_all(hex({value.sql}), '..')), ''))")
    letters = f"string_split({implied(value, STRING).sql}, '')"
    return Value(STRING, f"array_to_string(list_reverse({letters}), '')")


def concatenation(left: Value, right: Value) -> Value:
    """Write `left || right`."""
    return _concat(left, right)


def matches(value: Value, pattern: Value) -> Value:
    """Write `value rlike pattern`: whether the regular expression is found anywhere in the text."""
    if not isinstance(pattern.literal, str):
        raise invalid("the pattern of `rlike` must be a text literal")
    regex = translated(pattern.literal)
    return Value(BOOLEAN, regex.applied(implied(value, STRING), lambda v, p: f"regexp_matches({v}, {p})"))


def _regexp_extract(value: Value, pattern: Value, group: Value | None = None) -> Value:
    regex = translated(str(pattern.literal))
    number = group.literal if group else 1
    if not isinstance(number, int) or not 0 <= number <= regex.groups:
        raise invalid(f"regexp_extract: the pattern has {regex.groups} groups, there is no group {number}")
    if regex.ends and number == 0:
        raise invalid("regexp_extract of group 0 takes no `$`; put the rest in a group and extract that")
    return Value(STRING, regex.found(regex.applied(value, lambda v, p: f"regexp_extract({v}, {p}, {number})")))


def consuming(function: str, pattern: Value, *, bounds: bool = False) -> Regex:
    r"""Translate a pattern that matches no empty text: which of those are found differs between engines.

    With `bounds` it may hold `\b`.

    Raises:
        Refusal: It does, or it is no regular expression that both engines read alike.
    """
    regex = translated(str(pattern.literal))
    if regex.may_be_empty or regex.ends:
        raise invalid(f"the pattern of {function} can't match an empty text, nor hold `$`")
    if regex.bounds and not bounds:
        raise invalid(f"the pattern of {function} can't hold `\\b`")
    return regex


def _replace(value: Value, search: Value, replacement: Value | None = None) -> Value:
    new = replacement or Value(STRING, text(""), "", simple=True)
    if isinstance(new.literal, str) and len(new.literal) <= SHORT:
        return Value(STRING, f"replace({value.sql}, {search.sql}, {new.sql})")

    def write(v: str, s: str, n: str) -> str:
        most = f"strlen({v}) // greatest(strlen({s}), 1)"
        times = f"(strlen({v}) - strlen(replace({v}, {s}, ''))) // greatest(strlen({s}), 1)"
        there = " OR ".join(f"{count} * strlen({n}) <= {MAX_GROWTH}" for count in (most, times))
        return f"CASE WHEN {there} THEN replace({v}, {s}, {n}) END"

    return Value(STRING, bound([value, search, new], write))


def _of_text(name: str, template: str, doc: str, *aliases: str) -> Function:
    return Function(
        name=name, aliases=aliases, parameters=(_TEXT,), result="string", doc=doc, write=fixed(STRING, template)
    )


def _trimmed_side(name: str, side: str) -> Function:
    def write(characters: Value, value: Value | None = None) -> Value:
        taken, whole = ("' '", characters) if value is None else (characters.sql, value)
        return Value(STRING, f"{name}({whole.sql}, {taken})")

    return Function(
        name=name,
        parameters=(Parameter("text", Accepts.TEXT), Parameter("of", Accepts.TEXT)),
        optional=1,
        result="string",
        doc=f"Without spaces at the {side}; `{name}(characters, text)`: without such characters.",
        write=write,
    )


def _search(name: str, function: str, doc: str) -> Function:
    def write(value: Value, part: Value) -> Value:
        if BINARY in (value.type, part.type):
            raw = [converted(side if side.type == BINARY else implied(side, STRING), BINARY) for side in (value, part)]
            sides = [f"regexp_replace(hex({side.sql}), '(..)', '\\1 ', 'g')" for side in raw]
        else:
            sides = [implied(side, STRING).sql for side in (value, part)]
        return Value(BOOLEAN, f"{function}({', '.join(sides)})")

    parameters = (_TEXT_OR_BYTES, Parameter("part", Accepts.TEXT_OR_BINARY))
    return Function(name=name, parameters=parameters, result="boolean", doc=doc, write=write)


STRINGS = (
    Function(name="upper", aliases=("ucase",), parameters=(_TEXT,), result="string", doc="In upper case.", write=upper),
    Function(
        name="lower", aliases=("lcase",), parameters=(_TEXT,), result="string", doc="In lower case.", write=lowered
    ),
    _of_text("trim", "trim({0}, ' ')", "Without spaces at both ends."),
    _trimmed_side("ltrim", "start"),
    _trimmed_side("rtrim", "end"),
    Function(
        name="reverse",
        parameters=(Parameter("value", Accepts.ANY),),
        result="string, binary or array",
        doc="The characters of a text, the bytes of a binary or the elements of an array backwards.",
        write=_reversed,
    ),
    Function(
        name="length",
        aliases=("char_length", "character_length", "len"),
        parameters=(Parameter("text", Accepts.ANY),),
        result="int",
        doc="The number of characters of a text, or of bytes of a binary.",
        write=_length_of,
    ),
    Function(
        name="substring",
        aliases=("substr",),
        parameters=(_TEXT_OR_BYTES, Parameter("position", Accepts.WHOLE), Parameter("length", Accepts.WHOLE)),
        optional=1,
        result="string; binary of one",
        doc="The part from a position (below 0: counted from the end) to the end, or of a length.",
        write=substring,
    ),
    Function(
        name="left",
        parameters=(_TEXT_OR_BYTES, Parameter("count", Accepts.WHOLE)),
        result="string; binary of one",
        doc="The first characters, or bytes of a binary.",
        write=_first,
    ),
    Function(
        name="right",
        parameters=(_TEXT, Parameter("count", Accepts.WHOLE)),
        result="string",
        doc="The last characters.",
        write=_last,
    ),
    Function(
        name="concat",
        parameters=(Parameter("value", Accepts.ANY),),
        repeated=True,
        result="string; binary or array if all are",
        doc="The values, or the elements of arrays, one after the other; null if one is null.",
        write=_concat,
    ),
    Function(
        name="replace",
        parameters=(_TEXT, Parameter("search", Accepts.TEXT), Parameter("replacement", Accepts.TEXT)),
        optional=1,
        result="string",
        doc="With every `search` replaced (removed without a replacement).",
        write=_replace,
    ),
    _search("startswith", "starts_with", "Whether the text begins with the part."),
    _search("endswith", "ends_with", "Whether the text ends with the part."),
    _search("contains", "contains", "Whether the text holds the part."),
    Function(
        name="instr",
        parameters=(_TEXT, _PART),
        result="int",
        doc="The position of the part in the text; 0 if it is not there.",
        write=fixed(INT, "CAST(instr({0}, {1}) AS INTEGER)"),
    ),
    Function(
        name="lpad",
        parameters=(_TEXT_OR_BYTES, Parameter("length", Accepts.WHOLE), Parameter("pad", Accepts.ANY)),
        optional=1,
        result="string; binary of binaries",
        doc="Filled up on the left with `pad` (a space, or a byte 0), or cut, to a length.",
        write=partial(_padded, "lpad"),
    ),
    Function(
        name="rpad",
        parameters=(_TEXT_OR_BYTES, Parameter("length", Accepts.WHOLE), Parameter("pad", Accepts.ANY)),
        optional=1,
        result="string; binary of binaries",
        doc="Filled up on the right with `pad` (a space, or a byte 0), or cut, to a length.",
        write=partial(_padded, "rpad"),
    ),
    Function(
        name="repeat",
        parameters=(_TEXT, Parameter("count", Accepts.WHOLE)),
        result="string",
        doc="The text so many times.",
        write=_repeat,
    ),
    Function(
        name="regexp_extract",
        parameters=(
            _TEXT,
            Parameter("pattern", Accepts.TEXT_LITERAL),
            Parameter("group", Accepts.WHOLE_LITERAL),
        ),
        optional=1,
        result="string",
        doc="What a group (1; 0 is the whole) of a regular expression matches; empty if nothing does.",
        write=_regexp_extract,
    ),
)
