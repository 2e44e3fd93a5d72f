"""Functions of regular expressions: find, count and replace what matches."""

import re
from collections.abc import Callable
from functools import partial

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.strings import consuming, matches
from streamapp_core.expressions.regex import Regex
from streamapp_core.expressions.regex_translation import translated
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import INT, STRING

_TEXT = Parameter("text", Accepts.TEXT)
_PATTERN = Parameter("pattern", Accepts.TEXT_LITERAL)


_NOTHING = r"[^\x00-\x{10ffff}]"
_MOST_GROUPS = 9


def _replaced(value: Value, pattern: Value, replacement: Value, position: Value | None = None) -> Value:
    """Write `regexp_replace`; what is before the position is not looked at."""
    first = position.literal if position else 1
    if not isinstance(first, int) or first < 1:
        raise invalid("the position of regexp_replace is a number from 1")
    regex = translated(str(pattern.literal))
    target = _rewritten(str(replacement.literal), regex.groups)
    replaced: Callable[[str], str]
    if regex.ends:
        replaced = _replacement_up_to_end(regex, target)
    else:
        consuming("regexp_replace", pattern, bounds=True)
        replaced = partial(_with_replacements, text(regex.text), text(target))
    rest = value if first == 1 else Value(STRING, f"substring({value.sql}, {first})")
    searched = Value(STRING, regex.searched(rest)) if regex.bounds else rest
    new = regex.found(bound([searched], replaced))
    return Value(STRING, new if first == 1 else f"(left({value.sql}, {first - 1}) || {new})")


def _with_replacements(pattern: str, target: str, v: str) -> str:
    return f"regexp_replace({v}, {pattern}, {target}, 'g')"


def _replacement_up_to_end(regex: Regex, target: str) -> Callable[[str], str]:
    """Return what replaces by a pattern with `$`: a line end behind the last match stays, unless it matches itself."""
    pattern, group = regex.with_end_in_group, regex.groups + 1
    if re.search(r"(?<!\\)(?:\\\\)*\\0", target):
        raise invalid("regexp_replace by a pattern with `$` has no $0: put the rest in a group and take that")
    if pattern is None or regex.may_be_empty or regex.bounds or group > _MOST_GROUPS:
        raise invalid(
            "the pattern of regexp_replace can't match an empty text, nor have `$` with `\\b`, more than 8 groups or, "
            "before it, what takes a return without taking all line ends"
        )
    new, inside = text(rf"{target}\{group}"), text(pattern.replace(r"\A", _NOTHING))

    def write(v: str) -> str:
        replaced = _with_replacements(text(pattern), new, v)
        end = Value(STRING, f"coalesce(regexp_extract_all({v}, {text(pattern)}, {group})[-1], '')")

        def joined(r: str, e: str) -> str:
            kept = f"left({r}, length({r}) - length({e})) || {_with_replacements(inside, new, e)}"
            return f"CASE WHEN {e} = '' THEN {r} ELSE {kept} END"

        return bound([Value(STRING, replaced), end], joined)

    return write


def _rewritten(replacement: str, groups: int) -> str:
    r"""Write a replacement of Java's (`$1`, `\$`) as RE2 reads it (`\1`)."""
    written = ""
    position = 0
    while position < len(replacement):
        part = re.compile(r"\\(.)|\$([0-9])|([^\\$])", re.DOTALL).match(replacement, position)
        if part is None:
            raise invalid("a replacement holds texts, $1 to $9, and \\$ or \\\\ for these characters themselves")
        if part[2]:
            if int(part[2]) > groups:
                raise invalid(f"regexp_replace: the pattern has {groups} groups, there is no group {part[2]}")
            following = replacement[part.end() : part.end() + 1]
            if following.isdecimal() and int(part[2] + following) <= groups:
                raise invalid("regexp_replace: a replacement takes the groups $1 to $9")
            written += f"\\{part[2]}"
        else:
            character = part[1] or part[3]
            written += "\\\\" if character == "\\" else character
        position = part.end()
    return written


def _count(value: Value, pattern: Value) -> Value:
    regex = consuming("regexp_count", pattern, bounds=True)
    return Value(INT, cast(f"len(regexp_extract_all({regex.searched(value)}, {text(regex.text)}))", INT))


def _found(value: Value, pattern: Value) -> Value:
    regex = translated(str(pattern.literal))
    if regex.ends and not regex.may_be_empty and not regex.bounds and regex.with_end_in_group:
        return Value(STRING, _found_at_end(value, regex.with_end_in_group, regex.groups + 1))
    consuming("regexp_substr", pattern, bounds=True)
    found = f"regexp_extract({regex.searched(value)}, {text(regex.text)}, 0)"
    return Value(STRING, f"nullif({regex.found(found)}, '')")


def _found_at_end(value: Value, pattern: str, group: int) -> str:
    """Write what matches a pattern with `$`, without the line end that this leaves out, which a group holds."""

    def write(v: str) -> str:
        whole, end = (f"regexp_extract({v}, {text(pattern)}, {number})" for number in (0, group))
        return f"nullif(left({whole}, length({whole}) - length({end})), '')"

    return bound([value], write)


def _place(value: Value, pattern: Value) -> Value:
    """Write `regexp_instr`."""
    regex = translated(str(pattern.literal))
    if regex.may_be_empty or regex.bounds:
        raise invalid("the pattern of regexp_instr can't match an empty text, nor hold `\\b`")

    def write(v: str, p: str) -> str:
        before = f"regexp_extract({v}, '^((?s:.*?))(?:' || {p} || ')', 1)"
        return f"CASE WHEN {v} IS NULL THEN NULL WHEN regexp_matches({v}, {p}) THEN length({before}) + 1 ELSE 0 END"

    return Value(INT, cast(bound([value], lambda v: regex.applied(Value(STRING, v, simple=True), write)), INT))


TEXT_PATTERNS = (
    Function(
        name="regexp_like",
        aliases=("regexp", "rlike"),
        parameters=(_TEXT, _PATTERN),
        result="boolean",
        doc="As `text rlike pattern`.",
        write=matches,
    ),
    Function(
        name="regexp_replace",
        parameters=(
            _TEXT,
            _PATTERN,
            Parameter("replacement", Accepts.TEXT_LITERAL),
            Parameter("position", Accepts.WHOLE_LITERAL),
        ),
        optional=1,
        result="string",
        doc="With every match of a regular expression replaced, from a position (1) on; `$1` is what group 1 matches.",
        write=_replaced,
    ),
    Function(
        name="regexp_count",
        parameters=(_TEXT, _PATTERN),
        result="int",
        doc="How often a regular expression is found in the text.",
        write=_count,
    ),
    Function(
        name="regexp_substr",
        parameters=(_TEXT, _PATTERN),
        result="string",
        doc="The first part that a regular expression matches, or null.",
        write=_found,
    ),
    Function(
        name="regexp_instr",
        parameters=(_TEXT, _PATTERN),
        result="int",
        doc="Where a regular expression is found first; 0 if nowhere.",
        write=_place,
    ),
)
