r"""A regular expression of RE2's, and how it is used so that it finds what Java finds.

Java's `\b` goes by the letters and digits of all scripts, RE2's by those of ASCII. A pattern with `\b` searches a text
with marks at the bounds of its words: `\b` is a mark, and what matches a character may have marks before it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from streamapp_core.expressions.typed_sql import Value, bound, text
from streamapp_core.schema import STRING

LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_Z = r"\z"
END = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?" + _Z
_RETURN_AND_FEED = r"(?:\r\n)?" + _Z
_ONE_LINE_END = rf"[{LINE_ENDS}]?{_Z}"
_BOUND = "\U0010ffff"
"""The mark of a word's bound: a code point that is never a character."""
MARK = r"\x{10ffff}"
_BEYOND = r"\x{10000}-\x{10ffff}"
_MARKED = rf"(?:[^{_BEYOND}\P{{L}}]|[^{_BEYOND}\P{{Nd}}])\p{{Mn}}*"
_WORDS = rf"(?:{_MARKED}|[\p{{L}}\p{{Nd}}_])+"
"""Java's words for `\\b`: letters and digits of the first 65,536 characters with the marks on them, letters and digits
beyond, and underscores."""
_UNKNOWN = rf"{MARK}|[^\x00-\x{{ffff}}\P{{Mn}}]"
"""What a text with words can't hold: the mark itself, and marks on letters of which Java sees one side only."""


@dataclass(frozen=True, slots=True)
class Regex:
    r"""A regular expression in RE2's language.

    `groups` counts its capturing groups; `ends`: it matches up to the end of the text (`$`), line end
    included; `may_be_empty` that it can match an empty text; `bounds` counts its `\b`, of alternatives those of the
    one with the most. `before_end` is the part before `$`, with all before it that can be empty.
    """

    text: str
    groups: int
    ends: bool
    may_be_empty: bool
    bounds: int = 0
    before_end: str = ""

    def searched(self, value: Value) -> str:
        """Write the text that the pattern searches: with marks, if it has bounds.

        Between two characters a pattern comes to each of its bounds twice at most: at the end of a repetition, and at
        the start of the next one. A text with rare characters beyond the first 65,536 is null.
        """
        if not self.bounds:
            return value.sql
        marks = 2 * self.bounds * _BOUND

        def marked(v: str) -> str:
            with_marks = rf"regexp_replace({v}, '({_WORDS})', '{marks}\1{marks}', 'g')"
            return f"CASE WHEN NOT regexp_matches({v}, '{_UNKNOWN}') THEN {with_marks} END"

        return bound([value], marked)

    def applied(self, value: Value, use: Callable[[str, str], str]) -> str:
        r"""Write what is done with a text and a pattern, as SQL: with `$` it may depend on whether `\r\n` is its end.

        Where what is before `$` takes a return, RE2 would find an end behind it, which Java does not.
        """
        if not self.ends or self.with_end_in_group:
            return use(self.searched(value), text(self.text))
        start = self.text.removesuffix(END)

        def write(v: str) -> str:
            return (
                f"CASE WHEN ends_with({v}, chr(13) || chr(10)) THEN {use(v, text(start + _RETURN_AND_FEED))} "
                f"ELSE {use(v, text(start + _ONE_LINE_END))} END"
            )

        return bound([Value(STRING, self.searched(value), simple=value.simple and not self.bounds)], write)

    def found(self, sql: str) -> str:
        """Write a part of a searched text without its marks."""
        return f"replace({sql}, '{_BOUND}', '')" if self.bounds else sql

    @property
    def with_end_in_group(self) -> str | None:
        """The same with a group around the line end that `$` leaves out; None if that may be another one than Java's.

        Java finds no end between a return and a line feed. RE2 does, unless what is before takes no return, or both.
        """
        part = self.before_end
        greedy = re.fullmatch(r"(\[[^\]]*\])[+*]", part)
        both = greedy and all(_takes(greedy[1], character) for character in "\r\n")
        outside = re.sub(r"\[[^\]]*\]", "", part)
        if not both and (
            r"\r" in outside
            or r"\x{d}" in outside
            or any(_takes(members, "\r") for members in re.findall(r"\[[^\]]*\]", part))
        ):
            return None
        return self.text.removesuffix(END) + f"({END.removesuffix(_Z)}){_Z}"


def _takes(members: str, character: str) -> bool:
    """Return whether a class of RE2's takes a character; those of Unicode's categories take no control characters."""
    negated = members.startswith("[^")
    plain = re.sub(r"\\p\{\w+\}", "", members)
    if plain in ("[]", "[^]"):
        return negated
    return (
        re.fullmatch(re.sub(r"\\x\{(\w+)\}", lambda code: rf"\U{int(code[1], 16):08x}", plain), character) is not None
    )
