"""Functions that find, cut and put together parts of texts. Positions count characters from 1."""

from streamapp_core.data_types import array_of
from streamapp_core.expressions import comparisons
from streamapp_core.expressions.conversions import converted, implied
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.byte_texts import decoded
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter, fixed
from streamapp_core.expressions.functions.strings import lowered, substring
from streamapp_core.expressions.growth import SHORT, bounded
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import BIGINT, BINARY, INT, STRING, TypeKind

_TEXT = Parameter("text", Accepts.TEXT)
_PART = Parameter("part", Accepts.TEXT)
_COUNT = Parameter("count", Accepts.WHOLE)
_NO_TEXT = Value(STRING, cast("NULL", STRING), simple=True)
_ONE = Value(INT, "1", 1, simple=True)


def position(part: Value, value: Value, start: Value = _ONE) -> Value:
    """Write `locate(part, value[, start])`: where a part begins, from a position on; 0 if nowhere."""
    part, value, start = implied(part, STRING), implied(value, STRING), implied(start, INT)

    def write(p: str, v: str, n: str) -> str:
        found = f"instr(substring({v}, {n}), {p})"
        place = f"CASE WHEN {found} = 0 THEN 0 ELSE {found} + {n} - 1 END"
        return (
            f"CASE WHEN {n} IS NULL THEN 0 WHEN {p} IS NULL OR {v} IS NULL THEN NULL WHEN {n} < 1 THEN 0 "
            f"WHEN {p} = '' THEN 1 ELSE {place} END"
        )

    return Value(INT, cast(bound([part, value, start], write), INT))


def trimmed(side: str, value: Value, characters: Value | None = None) -> Value:
    """Write `trim`, `ltrim` or `rtrim` (the `side`) of characters, which are a space if none are given."""
    taken = implied(characters, STRING).sql if characters else "' '"
    return Value(STRING, f"{side}({implied(value, STRING).sql}, {taken})")


def overlaid(value: Value, replacement: Value, start: Value, length: Value | None = None) -> Value:
    """Write `overlay`: a text with the part from a position replaced, by default as long as the replacement."""
    if value.type != replacement.type and BINARY in (value.type, replacement.type):
        raise Refusal(f"overlay takes two texts or two binaries, got {value.type} and {replacement.type}; cast one")
    if value.type != BINARY:
        value, replacement = implied(value, STRING), implied(replacement, STRING)
    length_of = "octet_length" if value.type == BINARY else "length"
    size = implied(length, INT).sql if length else "-1"

    def write(v: str, r: str, p: str, n: str) -> str:
        given, new = Value(value.type, v, simple=True), f"(CASE WHEN {n} < 0 THEN {length_of}({r}) ELSE {n} END)"
        before = substring(given, _ONE, Value(BIGINT, f"({p} - 1)", simple=True)).sql
        after = substring(given, Value(BIGINT, f"({p} + {new})", simple=True)).sql
        return f"{before} || {r} || {after}"

    numbers = [Value(BIGINT, cast(number, BIGINT)) for number in (implied(start, INT).sql, size)]
    return Value(value.type, bound([value, replacement, *numbers], write))


def like_whatever_case(value: Value, pattern: Value, escape: Value | None = None) -> Value:
    """Write `value ilike pattern`; see `comparisons.like`."""
    if not isinstance(pattern.literal, str):
        return comparisons.like(lowered(implied(value, STRING)), lowered(implied(pattern, STRING)), escape)
    folded = pattern.literal.lower()
    return comparisons.like(lowered(implied(value, STRING)), Value(STRING, text(folded), folded, simple=True), escape)


def _split_part(value: Value, delimiter: Value, number: Value) -> Value:
    def write(v: str, d: str, n: str) -> str:
        whole = f"CASE WHEN {n} IN (1, -1) THEN {v} ELSE '' END"
        part = f"coalesce(string_split({v}, {d})[{n}], '')"
        return (
            f"CASE WHEN {v} IS NULL OR {d} IS NULL OR {n} IS NULL OR {n} = 0 THEN NULL "
            f"WHEN {d} = '' THEN {whole} ELSE {part} END"
        )

    return Value(STRING, bound([value, delimiter, number], write))


def _up_to_delimiter(value: Value, delimiter: Value, count: Value) -> Value:
    """Write `substring_index`; from the right, a delimiter that overlaps itself would be found in other places."""
    if not isinstance(delimiter.literal, str):
        return _up_to_computed_delimiter(value, delimiter, count)
    mark = delimiter.literal
    if any(mark.startswith(mark[start:]) for start in range(1, len(mark))):
        raise invalid(f"substring_index: the delimiter '{mark}' begins as it ends; such delimiters are not supported")
    if mark == "":
        return Value(STRING, f"CASE WHEN {value.sql} IS NOT NULL AND {count.sql} IS NOT NULL THEN '' END")

    def write(v: str, n: str) -> str:
        parts = f"string_split({v}, {text(mark)})"
        first = f"array_to_string({parts}[1:{n}], {text(mark)})"
        last = f"array_to_string({parts}[greatest(len({parts}) + {n} + 1, 1):], {text(mark)})"
        return (
            f"CASE WHEN {v} IS NULL OR {n} IS NULL THEN NULL WHEN {n} = 0 THEN '' "
            f"WHEN {n} > 0 THEN {first} ELSE {last} END"
        )

    return Value(STRING, bound([value, count], write))


def _up_to_computed_delimiter(value: Value, delimiter: Value, count: Value) -> Value:
    """Write `substring_index` by all places of the delimiter, which may overlap."""

    def write(v: str, d: str, n: str) -> str:
        single = (
            f"list_filter(list_transform(string_split({v}, ''), lambda __c, __i: CASE WHEN __c = {d} THEN __i END), "
        )
        single += "lambda __i: __i IS NOT NULL)"
        several = (
            f"list_filter(range(1, length({v}) - length({d}) + 2), lambda __i: substring({v}, __i, length({d})) = {d})"
        )
        places = f"CASE WHEN length({d}) = 1 THEN {single} ELSE {several} END"

        def cut(p: str) -> str:
            first = f"CASE WHEN {n} > len({p}) THEN {v} ELSE left({v}, {p}[{n}] - 1) END"
            last = f"CASE WHEN -{n} > len({p}) THEN {v} ELSE substring({v}, {p}[{n}] + length({d})) END"
            return f"CASE WHEN {n} = 0 OR {d} = '' THEN '' WHEN {n} > 0 THEN {first} ELSE {last} END"

        whole = bounded(
            [f"strlen({v})", f"CASE WHEN length({d}) = 1 THEN 1 ELSE strlen({v}) END"],
            bound([Value(None, places)], cut),
        )
        return f"CASE WHEN {v} IS NOT NULL AND {d} IS NOT NULL AND {n} IS NOT NULL THEN {whole} END"

    return Value(STRING, bound([value, delimiter, Value(BIGINT, cast(count.sql, BIGINT))], write))


def _joined(separator: Value, *values: Value) -> Value:
    """Write `concat_ws`: nulls are left out."""
    if not values:
        return Value(STRING, f"CASE WHEN {separator.sql} IS NOT NULL THEN '' END")
    if not any(value.kind is TypeKind.ARRAY for value in values):
        texts = (separator, *(implied(value, STRING) for value in values))
        return Value(STRING, f"concat_ws({', '.join(value.sql for value in texts)})")
    if not isinstance(separator.literal, str):
        raise invalid("concat_ws of arrays takes a separator that is a text literal")
    mark = text(separator.literal)

    def write(*lists: str) -> str:
        joined = f"coalesce(array_to_string(list_concat({', '.join(lists)}), {mark}), '')"
        if len(str(separator.literal)) <= SHORT:
            return joined
        return bounded([f"({' + '.join(f'len({listed})' for listed in lists)})", f"strlen({mark})"], joined)

    return Value(STRING, bound([_listed(value) for value in values], write))


def _listed(value: Value) -> Value:
    """Return the texts of a value as a list, which is empty if it is null."""
    if value.kind is TypeKind.ARRAY:
        texts = implied(value, array_of(STRING)).sql
        return Value(array_of(STRING), f"coalesce({texts}, {cast('[]', array_of(STRING))})")
    return Value(array_of(STRING), f"[{implied(value, STRING).sql}]")


def _chosen(number: Value, *values: Value) -> Value:
    """Write `elt`: the value at a position of the list; null if there is none."""
    whens = " ".join(f"WHEN {place} THEN {implied(value, STRING).sql}" for place, value in enumerate(values, 1))
    return Value(STRING, f"CASE {number.sql} {whens} END")


def _decoded(value: Value, *rest: Value) -> Value:
    """Write `decode(value, search, result, ...[, default])`: the result of the first search that is equal, or null.

    With two arguments it reads bytes in a character set.
    """
    if len(rest) == 1:
        return decoded(value, rest[0])
    pairs, default = rest[: len(rest) // 2 * 2], rest[-1] if len(rest) % 2 else _NO_TEXT
    branches = [
        (comparisons.comparison("<=>", value, search), result)
        for search, result in zip(pairs[::2], pairs[1::2], strict=True)
    ]
    found = comparisons.case(branches, default)
    return found if found.type else converted(found, STRING)


def _place_in_list(value: Value, listed: Value) -> Value:
    def write(v: str, texts: str) -> str:
        found = f"coalesce(list_position(string_split({texts}, ','), {v}), 0)"
        return f"CASE WHEN {v} IS NULL OR {texts} IS NULL THEN NULL WHEN contains({v}, ',') THEN 0 ELSE {found} END"

    return Value(INT, cast(bound([value, listed], write), INT))


TEXT_PARTS = (
    Function(
        name="locate",
        aliases=("position",),
        parameters=(_PART, _TEXT, Parameter("start", Accepts.WHOLE)),
        optional=1,
        result="int",
        doc="Where the part begins in the text, from a position on (1); 0 if nowhere; `position(part in text)`, too.",
        write=position,
    ),
    Function(
        name="btrim",
        parameters=(_TEXT, Parameter("characters", Accepts.TEXT)),
        optional=1,
        result="string",
        doc="Without such characters (a space) at both ends. Also `trim(both characters from text)`, and `leading` or "
        "`trailing` for one end.",
        write=lambda value, characters=None: trimmed("trim", value, characters),
    ),
    Function(
        name="overlay",
        parameters=(
            Parameter("text", Accepts.TEXT_OR_BINARY),
            Parameter("replacement", Accepts.TEXT_OR_BINARY),
            _COUNT,
            Parameter("length", Accepts.WHOLE),
        ),
        optional=1,
        result="string; binary of binaries",
        doc="With the part from a position replaced, of a length (that of the replacement). Also "
        "`overlay(text placing replacement from position for length)`.",
        write=overlaid,
    ),
    Function(
        name="split_part",
        parameters=(_TEXT, Parameter("delimiter", Accepts.TEXT), Parameter("number", Accepts.WHOLE)),
        result="string",
        doc="The part of this number between delimiters (below 0: counted from the end); empty if there is none.",
        write=_split_part,
    ),
    Function(
        name="substring_index",
        parameters=(_TEXT, Parameter("delimiter", Accepts.TEXT), _COUNT),
        result="string",
        doc="What is before so many delimiters; below 0, what is after so many, counted from the end.",
        write=_up_to_delimiter,
    ),
    Function(
        name="concat_ws",
        parameters=(Parameter("separator", Accepts.TEXT), Parameter("text", Accepts.ANY)),
        optional=1,
        repeated=True,
        result="string",
        doc="The texts, and those in arrays, with a separator between them; those that are null are left out.",
        write=_joined,
    ),
    Function(
        name="elt",
        parameters=(Parameter("number", Accepts.WHOLE), Parameter("value", Accepts.ANY)),
        repeated=True,
        result="string",
        doc="The value of this number, from 1; null if there is none.",
        write=_chosen,
    ),
    Function(
        name="decode",
        parameters=(
            Parameter("value", Accepts.ANY),
            Parameter("search", Accepts.ANY),
            Parameter("result", Accepts.ANY),
        ),
        optional=1,
        repeated=True,
        result="the common type of the results; string without a last one",
        doc="The result behind the first search that equals the value (null equals null); else the last "
        "one, if it stands alone, or null. `decode(binary, charset)`: the text of the bytes in a character set, as of "
        "`encode`; null if they are none.",
        write=_decoded,
    ),
    Function(
        name="find_in_set",
        parameters=(_TEXT, Parameter("list", Accepts.TEXT)),
        result="int",
        doc="The number of the text in a list with commas; 0 if it is not there, or has a comma.",
        write=_place_in_list,
    ),
    Function(
        name="translate",
        parameters=(_TEXT, Parameter("characters", Accepts.TEXT), Parameter("replacements", Accepts.TEXT)),
        result="string",
        doc="With each of the characters replaced by the one at its place, or left out if there is none.",
        write=fixed(STRING, "translate({0}, {1}, {2})"),
    ),
    Function(
        name="ilike",
        parameters=(_TEXT, Parameter("pattern", Accepts.TEXT)),
        result="boolean",
        doc="As `text ilike pattern`.",
        write=like_whatever_case,
    ),
    Function(
        name="like",
        parameters=(_TEXT, Parameter("pattern", Accepts.TEXT)),
        result="boolean",
        doc="As `text like pattern`.",
        write=comparisons.like,
    ),
)
