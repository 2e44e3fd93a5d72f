"""Functions of regular expressions: find, count and replace what matches."""

import re

from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.functions.function_table import Accepts, Function, Parameter
from streamapp_core.expressions.functions.strings import consuming, matches
from streamapp_core.expressions.regex import translated
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import INT, STRING

_TEXT = Parameter("text", Accepts.TEXT)
_PATTERN = Parameter("pattern", Accepts.TEXT_LITERAL)


def _replaced(value: Value, pattern: Value, replacement: Value) -> Value:
    regex = consuming("regexp_replace", pattern)
    target = _rewritten(str(replacement.literal), regex.groups)
    return Value(STRING, f"regexp_replace({value.sql}, {text(regex.text)}, {text(target)}, 'g')")


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
    regex = consuming("regexp_count", pattern)
    return Value(INT, cast(f"len(regexp_extract_all({value.sql}, {text(regex.text)}))", INT))


def _found(value: Value, pattern: Value) -> Value:
    regex = consuming("regexp_substr", pattern)
    return Value(STRING, f"nullif(regexp_extract({value.sql}, {text(regex.text)}, 0), '')")


def _place(value: Value, pattern: Value) -> Value:
    """Write `regexp_instr`."""
    regex = translated(str(pattern.literal))
    if regex.may_be_empty:
        raise invalid("the pattern of regexp_instr can't match an empty text")
    ahead = text(f"^((?s:.*?))(?:{regex.text})")

    def write(v: str) -> str:
        before = f"regexp_extract({v}, {ahead}, 1)"
        found = f"regexp_matches({v}, {text(regex.text)})"
        return f"CASE WHEN {v} IS NULL THEN NULL WHEN {found} THEN length({before}) + 1 ELSE 0 END"

    return Value(INT, cast(bound([value], write), INT))


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
        parameters=(_TEXT, _PATTERN, Parameter("replacement", Accepts.TEXT_LITERAL)),
        result="string",
        doc="With every match of a regular expression replaced; `$1` stands for what group 1 matches.",
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
