r"""Regular expressions: the part of Java's language that DuckDB's engine (RE2) reads with the same meaning.

Everything else is refused: look-around, back-references, flags but `(?i)` and `(?s)` at the start, possessive
repetition, nested classes, `\B`. Where both write the same thing with another meaning (`.`, `$`, `\s`, `(?i)`, which in
Java folds letters of ASCII only), the text is translated.
"""

import re
import sys

from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.regex import END, LINE_ENDS, MARK, Regex

MAX_REPEAT = 255
"""The most that {m,n} may ask for; RE2 writes repetitions out, so those inside of others multiply."""
MAX_BOUNDS = 20
r"""The most `\b` of one alternative: each makes the text that is searched longer, at every word."""

_CLASSES = {
    "d": "0-9",
    "w": "a-zA-Z0-9_",
    "s": r" \t\n\x0b\f\r",
    "h": r" \t\x{a0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}",
    "v": r"\n\x0b\f\r\x{85}\x{2028}\x{2029}",
}
_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "Space": _CLASSES["s"],
    "Blank": r" \t",
    "XDigit": "0-9a-fA-F",
    "ASCII": r"\x00-\x7f",
}
_CATEGORIES = frozenset(
    {
        *"LMNPSZ",
        "Lu",
        "Ll",
        "Lt",
        "Lm",
        "Lo",
        "Mn",
        "Mc",
        "Me",
        "Nd",
        "Nl",
        "No",
        "Pc",
        "Pd",
        "Ps",
        "Pe",
        "Pi",
        "Pf",
        "Po",
    }
    | {"Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp"}
)
"""Unicode's categories of characters, as in `\\p{Lu}`."""
_FLAGS = re.compile(r"\(\?([is]{1,2})\)")
_HAS_BOUNDS = re.compile(r"(?:[^\\]|\\[^b])*\\b", re.DOTALL)
_NAMED = re.compile(r"\?<([a-zA-Z][a-zA-Z0-9]*)>")
_CODED = re.compile(r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})")
_QUOTED = re.compile(r"(\\[^Q])|\\Q(.*?)(?:\\E|\Z)", re.DOTALL)
_CONTROLS = {"t": r"\t", "n": r"\n", "r": r"\r", "f": r"\f", "a": r"\x{7}", "e": r"\x{1b}"}
_CONTROL_CODES = {r"\t": 9, r"\n": 10, r"\r": 13, r"\f": 12}
_SPECIAL = frozenset("\\.[]{}()*+?^$|")


def translated(pattern: str) -> Regex:
    """Translate a regular expression of Java.

    Raises:
        Refusal: It is none, or uses what RE2 lacks or reads differently.
    """
    reader = _Reader(_QUOTED.sub(lambda part: part[1] or "".join(map(_escaped, part[2])), pattern))
    text, empty = reader.alternatives(0)
    if reader.peek():
        raise reader.refused("an unmatched )")
    return Regex(text, reader.groups, reader.ends, empty, reader.bounds, reader.before_end)


class _Reader:
    """A recursive descent over one pattern; each method gives the text and whether it can match nothing."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        flags = _FLAGS.match(pattern)
        self.any_case = bool(flags and "i" in flags[1])
        self.mark = MARK if _HAS_BOUNDS.match(pattern) else ""
        every = rf"[^{MARK}]" if self.mark else r"[\x00-\x{10ffff}]"
        self.dot = every if flags and "s" in flags[1] else f"[^{LINE_ENDS}{self.mark}]"
        self.position = flags.end() if flags else 0
        self.groups = 0
        self.names: set[str] = set()
        self.ends = False
        self.bounds = 0
        self.before_end = self.last = ""
        self.repeats = 0

    def refused(self, what: str) -> Refusal:
        return invalid(
            f"the pattern '{self.pattern}' has {what} at position {self.position + 1}; allowed are characters, . \\d "
            "\\w \\s \\b \\p{Lu} [..] (..) (?:..) (?<name>..) | * + ? {m,n} ^, (?i) or (?s) at the start and a final $"
        )

    def peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def take(self) -> str:
        character = self.peek()
        if not character:
            raise self.refused("an early end")
        self.position += 1
        return character

    def alternatives(self, depth: int) -> tuple[str, bool]:
        if depth > 20:  # noqa: PLR2004 - deeper ones are unreadable
            raise self.refused("too many nested groups")
        bounds = self.bounds
        branches, most = [self.sequence(depth)], self.bounds
        while self.peek() == "|":
            self.position += 1
            self.bounds = bounds
            branches.append(self.sequence(depth))
            most = max(most, self.bounds)
        self.bounds = most
        return "|".join(text for text, _ in branches), any(empty for _, empty in branches)

    def sequence(self, depth: int) -> tuple[str, bool]:
        text, last, empty = "", "", True
        while self.peek() not in ("", "|", ")"):
            self.last = last
            part, part_empty = self.repeated(depth)
            last = last + part if part_empty else part
            text += part
            empty = empty and part_empty
        return text, empty

    def repeated(self, depth: int) -> tuple[str, bool]:
        start = self.peek()
        if start == "^" or self.pattern.startswith(r"\A", self.position):
            if self.bounds:
                raise self.refused(r"a ^ behind a \b")
            self.position += 1 + (start == "\\")
            self._no_repetition()
            return r"\A", True
        if start == "$":
            self.position += 1
            if self.position < len(self.pattern):
                raise self.refused("something after $")
            self.ends = True
            self.before_end = self.last
            return f"{self.mark}*{END}" if self.mark else END, True
        if self.pattern.startswith(r"\b", self.position):
            self.position += 2
            self.bounds += 1
            if self.bounds > MAX_BOUNDS:
                raise self.refused(rf"more than {MAX_BOUNDS} \b in a row")
            self._no_repetition()
            return self.mark, True
        repeats = self.repeats
        text, empty = self._group(depth) if start == "(" else (self._character(), False)
        repetition, least = self._repetition()
        if repetition.startswith("{"):
            self.repeats += 1
            if start == "(" and self.repeats > repeats + 1:
                raise self.refused("a {m,n} inside of another")
        if repetition and empty:
            raise self.refused("a repetition of what can be empty")
        return text + repetition, empty or least == 0

    def _group(self, depth: int) -> tuple[str, bool]:
        self.position += 1
        opening = "("
        named = _NAMED.match(self.pattern, self.position)
        if named and named[1] not in self.names:
            self.names.add(named[1])
            self.position = named.end()
            self.groups += 1
        elif self.peek() == "?":
            if self.pattern[self.position : self.position + 2] != "?:":
                raise self.refused("an unsupported group")
            self.position += 2
            opening = "(?:"
        else:
            self.groups += 1
        text, empty = self.alternatives(depth + 1)
        if self.peek() != ")":
            raise self.refused("an unclosed (")
        if self.ends:
            raise self.refused("a $ inside of a group")
        self.position += 1
        return f"{opening}{text})", empty

    def _character(self) -> str:
        atom = self._atom()
        return f"(?:{self.mark}*{atom})" if self.mark else atom

    def _atom(self) -> str:
        character = self.take()
        if character == ".":
            return self.dot
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        if character in _SPECIAL:
            self.position -= 1
            raise self.refused(f"a misplaced {character}")
        return self._itself(character)

    def _itself(self, character: str) -> str:
        other = self._other_case(character, character)
        return f"[{character}{other}]" if other else _literal(character)

    def _escape(self) -> str:
        if coded := self._coded():
            return self._itself(coded)
        character = self.take()
        if character.lower() in _CLASSES:
            return self._members(_CLASSES[character.lower()], negated=character.isupper())
        if character in "pP":
            return self._members(self._posix(), negated=character == "P")
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character.isascii() and not character.isalnum():
            return _literal(character)
        raise self.refused(f"the unsupported \\{character}")

    def _coded(self) -> str:
        r"""Read the code of a character, as in `x41` or `u00e9`; nothing if there is none."""
        coded = _CODED.match(self.pattern, self.position)
        code = int(coded[1] or coded[2] or coded[3], 16) if coded else 0xD800
        if not coded or code > sys.maxunicode or 0xD800 <= code < 0xE000:  # noqa: PLR2004 - half a character
            return ""
        self.position = coded.end()
        return chr(code)

    def _members(self, members: str, *, negated: bool) -> str:
        return f"[^{members}{self.mark}]" if negated else f"[{members}]"

    def _posix(self) -> str:
        """Read the name of a class of ASCII characters, as in `{Punct}`."""
        end = self.pattern.find("}", self.position)
        name = self.pattern[self.position + 1 : end] if self.peek() == "{" else ""
        if self.peek() in ("L", "M", "N", "P", "S", "Z"):
            name, end = self.peek(), self.position
        known = name in _POSIX or name in _CATEGORIES
        if not known or (self.any_case and name in ("Lower", "Upper", "Lu", "Ll", "Lt")):
            raise self.refused("an unsupported \\p")
        self.position = end + 1
        return _POSIX.get(name) or rf"\p{{{name}}}"

    def _other_case(self, low: str, high: str) -> str:
        """Return the letters of ASCII in a range in their other case, as a range, or nothing if case matters."""
        if not self.any_case:
            return ""
        ranges = ((max(ord(low), first), min(ord(high), last)) for first, last in ((65, 90), (97, 122)))
        swapped = ((chr(first).swapcase(), chr(last).swapcase()) for first, last in ranges if first <= last)
        return "".join(first if first == last else f"{first}-{last}" for first, last in swapped)

    def _class(self) -> str:
        negated = self.peek() == "^"
        self.position += negated
        members = ""
        while self.peek() != "]" or not members:
            members += self._class_member()
        self.position += 1
        return self._members(members, negated=negated)

    def _class_member(self) -> str:
        low = self._class_character()
        following = self.pattern[self.position + 1 : self.position + 2]
        if self.peek() != "-" or following in ("]", ""):
            return low + (self._other_case(low, low) if len(low) == 1 else "")
        self.position += 1
        high = self._class_character()
        classes = {*_CLASSES.values(), *_POSIX.values()}
        if {low, high} & classes or r"\p" in (low[:2], high[:2]) or _code(low) > _code(high):
            raise self.refused("a range out of order")
        return f"{low}-{high}{self._other_case(chr(_code(low)), chr(_code(high)))}"

    def _class_character(self) -> str:
        character = self.take()
        if character in "[]^" or (character == "&" and self.peek() == "&"):  # in Java && makes an intersection
            self.position -= 1
            raise self.refused(f"a {character} in [..]; write \\{character}")
        if character != "\\":
            return _literal(character)
        if coded := self._coded():
            return _literal(coded)
        character = self.take()
        if character in _CLASSES:
            return _CLASSES[character]
        if character == "p":
            return self._posix()
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character.isascii() and not character.isalnum():
            return _literal(character)
        raise self.refused(f"the unsupported \\{character} in [..]")

    def _repetition(self) -> tuple[str, int]:
        character = self.peek()
        if character == "{":
            text, least = self._counted()
        elif character and character in "*+?":
            self.position += 1
            text, least = character, int(character == "+")
        else:
            return "", 1
        if self.peek() == "?":
            self.position += 1
            text += "?"
        self._no_repetition()
        return text, least

    def _counted(self) -> tuple[str, int]:
        end = self.pattern.find("}", self.position)
        bounds = self.pattern[self.position + 1 : end].split(",") if end > 0 else []
        digits = [bound for bound in bounds if bound]
        shape = 1 <= len(bounds) <= 2 and bounds[0] != ""  # noqa: PLR2004 - {m}, {m,} or {m,n}
        if not shape or not all(
            bound.isascii() and bound.isdecimal() and len(bound) <= len(str(MAX_REPEAT)) for bound in digits
        ):
            raise self.refused("a malformed {m,n}")
        numbers = [int(bound) for bound in digits]
        if max(numbers) > MAX_REPEAT or numbers != sorted(numbers):
            raise self.refused(f"a repetition out of range (at most {MAX_REPEAT})")
        self.position = end + 1
        return "{" + ",".join(bounds) + "}", numbers[0]

    def _no_repetition(self) -> None:
        if self.peek() and self.peek() in "*+?{":
            raise self.refused(f"an unsupported {self.peek()} after a repetition or ^")


def _escaped(character: str) -> str:
    return f"\\{character}" if character.isascii() and not character.isalnum() else character


def _literal(character: str) -> str:
    if character.isascii() and character.isalnum():
        return character
    return rf"\x{{{ord(character):x}}}"


def _code(member: str) -> int:
    if member.startswith(r"\x{"):
        return int(member[3:-1], 16)
    return _CONTROL_CODES.get(member) or ord(member)
