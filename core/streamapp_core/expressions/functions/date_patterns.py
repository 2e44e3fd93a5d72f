"""Patterns of dates and times, such as `yyyy-MM-dd HH:mm`: how they write a moment, and how they read it from a text.

They are those of Java's DateTimeFormatter as Spark takes them, in English.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.expressions.conversions import naive
from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.functions.offset_patterns import zone_writers
from streamapp_core.expressions.local_times import read_in, shown_in
from streamapp_core.expressions.session_zone import session_zone
from streamapp_core.expressions.time_zones import UTC, TimeZone
from streamapp_core.expressions.typed_sql import Value, bound, cast, text
from streamapp_core.schema import TypeKind

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_SHORT = 3
_FULL = 4
_Writer = Callable[[int, str], str | None]
_PARTS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z'\[\]#{}]+)|([\[\]])")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern: a letter with its `count`, or, without one, a `text`; `[` and `]` bound optional parts."""

    letter: str
    count: int
    text: str = ""


def moment_text(value: Value, pattern: str) -> str:
    """Write a date or timestamp by a pattern, in the time zone of the app; null of a null.

    Raises:
        Refusal: The pattern has a letter that is not supported.
    """
    zone = session_zone() if value.kind is TypeKind.TIMESTAMP else UTC
    clock = naive(value) if value.kind is TypeKind.TIMESTAMP else cast(value.sql, "TIMESTAMP")
    if not zone.name or not has_zone(pattern, _OF_ZONES):
        known = _WRITERS if zone == UTC else _writers_in(zone, str(zone.offset))
        return bound([Value(None, clock)], lambda shown: _written(pattern, shown, known))

    def over_clock(moment: str, shown: str) -> str:
        offset = Value(None, f"((epoch_us({shown}) - epoch_us({moment})) // 1000000)")
        return bound([offset], lambda seconds: _written(pattern, shown, _writers_in(zone, seconds)))

    return bound([value], lambda v: bound([Value(None, v, simple=True), Value(None, shown_in(zone, v))], over_clock))


def _writers_in(zone: TimeZone, offset: str) -> dict[str, _Writer]:
    of_zone = zone_writers(zone, offset)
    usual = {letter: writer for letter, writer in _WRITERS.items() if letter not in _OF_ZONES}
    return usual | {letter: lambda count, _, write=write: write(count) for letter, write in of_zone.items()}


def _written(pattern: str, moment: str, known: Mapping[str, _Writer]) -> str:
    """Return the SQL of the text of a naive timestamp (a name or other cheap SQL); null of a null."""
    pieces = []
    parts = list(_parts(pattern))
    writers = {**known, **({"y": _year_of_era} if any(part.letter == "G" for part in parts) else {})}
    for part in parts:
        writer = writers.get(part.letter)
        if part.letter in _BRACKETS:
            continue
        if not part.letter:
            pieces.append(text(part.text))
        elif writer is None or (sql := writer(part.count, moment)) is None:
            raise _unsupported(pattern, part, known)
        else:
            pieces.append(sql)
    return f"CASE WHEN {moment} IS NOT NULL THEN concat({', '.join(pieces or [text('')])}) END"


def read_moment(pattern: str, value: str) -> str:
    """Return the SQL of the timestamp that a text (cheap SQL) has, in the time zone of the app; null if none.

    Raises:
        Refusal: The pattern has a letter that is not supported, or numbers whose end can't be seen.
    """
    parts = list(_parts(pattern))
    fields = [part for part in parts if part.letter and part.letter not in _BRACKETS]
    letters = [part.letter for part in fields]
    if (
        len(set(letters)) < len(letters)
        or ("h" in letters) != ("a" in letters)
        or len({"h", "H", "k"} & set(letters)) > 1
    ):
        raise invalid(
            f"the pattern '{pattern}' can't be read: each letter once, `h` and `a` together, one of `h`, `H`, `k`"
        )
    if "D" in letters and ("y" not in letters or {"M", "d"} & set(letters)):
        raise invalid(f"the pattern '{pattern}' can't be read: `D` stands with `y`, without `M` and `d`")
    optional = _optional_letters(pattern, parts)
    expression, names = "", []
    for place, part in enumerate(parts):
        following = next((later for later in parts[place + 1 :] if later.letter not in _BRACKETS), _Part("", 0))
        if part.letter in _BRACKETS:
            expression += "(?:" if part.letter == "[" else ")?"
            continue
        if not part.letter:
            expression += re.sub(r"([^\w\s])", r"\\\1", part.text)
            continue
        found = _readable(part)
        if found is None:
            raise _unsupported(pattern, part, _READERS)
        if part.count == 1 and part.letter != "a" and following.letter in _NUMBERS:
            raise invalid(f"in the pattern '{pattern}' the end of `{part.letter}` can't be seen; write it twice")
        expression += f"({found})"
        names.append(part.letter)
    groups = ", ".join(text(f"f{index}") for index in range(len(names)))
    if not names:
        raise invalid(f"the pattern '{pattern}' has no date or time")
    matched = f"regexp_extract({value}, {text(f'^(?i:{expression})$')}, [{groups}])"
    field = {letter: f"__m.f{index}" for index, letter in enumerate(names)}
    moment = _read(field, {part.letter: part.count for part in fields}, optional)
    read = f"list_transform([{matched}], lambda __m: {moment})[1]"
    whole = f"regexp_full_match({value}, {text(f'(?i:{expression})')})"
    return f"CASE WHEN {whole} THEN {read} END"


def has_zone(pattern: str, letters: Collection[str] = frozenset("XxZ")) -> bool:
    """Return whether a pattern has one of the letters of time zones; by default one that can be read."""
    return any(part.letter in letters for part in _parts(pattern))


def _optional_letters(pattern: str, parts: Sequence[_Part]) -> frozenset[str]:
    """Return the letters in optional parts, which must be told from what follows by their first sign.

    Java does not come back to an optional part that fits a text; a regular expression does.
    """
    opening: list[frozenset[str] | None] = []
    letters: set[str] = set()
    for place, part in enumerate(parts):
        if part.letter == "[":
            opening.append(_first_signs(parts[place + 1 : place + 2]))
        elif part.letter == "]":
            first, following = opening.pop(), _first_signs(parts[place + 1 :])
            if first is None or not first:
                raise invalid(f"in the pattern '{pattern}' an optional part must begin with a sign, as in '[ HH:mm]'")
            if following is None or first & following:
                raise invalid(f"in the pattern '{pattern}' the end of an optional part can't be seen")
        elif opening and part.letter:
            letters.add(part.letter)
    if letters & {"a", "h"}:
        raise invalid(f"in the pattern '{pattern}' an optional part has `h` or `a`; these are not supported there")
    return frozenset(letters)


def _first_signs(parts: Sequence[_Part]) -> frozenset[str] | None:
    """Return the signs that parts may begin with, none at the end of a pattern; None if it is a number or a name."""
    signs: frozenset[str] = frozenset()
    depth = 0
    for place, part in enumerate(parts):
        if part.letter in _BRACKETS:
            inside = _first_signs(parts[place + 1 : place + 2]) if part.letter == "[" and depth == 0 else frozenset()
            if inside is None:
                return None
            signs |= inside
            depth = max(depth + (1 if part.letter == "[" else -1), 0)
        elif depth == 0:
            if part.letter in _OFFSETS:
                return signs | frozenset("z+-")
            return None if part.letter or part.text[0].isdigit() else signs | {part.text[0].lower()}
    return signs


def _parts(pattern: str) -> Iterator[_Part]:
    position = depth = 0
    while position < len(pattern):
        match = _PARTS.match(pattern, position)
        if match is None:
            raise invalid(f"the pattern '{pattern}' has an unexpected `{pattern[position]}`")
        if match[2]:
            yield _Part(match[2], len(match[0]))
        elif match[4]:
            depth += 1 if match[4] == "[" else -1
            if depth < 0:
                raise invalid(f"the pattern '{pattern}' has a `]` without `[`")
            yield _Part(match[4], 0)
        else:
            quoted = match[1]
            yield _Part("", 0, match[3] if quoted is None else quoted.replace("''", "'") or "'")
        position = match.end()
    if depth:
        raise invalid(f"the pattern '{pattern}' has a `[` without `]`")


def _unsupported(pattern: str, part: _Part, known: Mapping[str, object]) -> Refusal:
    letters = ", ".join(sorted(known))
    return invalid(
        f"the pattern '{pattern}' has `{part.letter * part.count}`, which is not supported; letters: {letters}"
    )


def _number(most: int, sql: str) -> Callable[[int, str], str | None]:
    """Return the writer of a number that as many letters fill up with zeros."""

    def write(count: int, moment: str) -> str | None:
        number = f"CAST({sql.format(moment)} AS VARCHAR)"
        return None if count > most else number if count == 1 else f"lpad({number}, {count}, '0')"

    return write


def _year(count: int, moment: str) -> str | None:
    if count > 6:  # noqa: PLR2004 - Spark's own limit
        return None
    year = f"year({moment})"
    if count == 2:  # noqa: PLR2004 - the last two digits
        return f"lpad(CAST(abs({year}) % 100 AS VARCHAR), 2, '0')"
    if count == 1:
        return f"CAST({year} AS VARCHAR)"
    digits = f"CAST(abs({year}) AS VARCHAR)"
    digits = f"CASE WHEN abs({year}) < {10**count} THEN lpad({digits}, {count}, '0') ELSE {digits} END"
    plus = f"WHEN {year} >= {10**count} THEN '+'" if count >= _FULL else ""
    sign = f"CASE WHEN {year} < 0 THEN '-' {plus} ELSE '' END"
    return f"concat({sign}, {digits})"


def _year_of_era(count: int, moment: str) -> str | None:
    """Write the year as it is counted in its era: that before 1 is 1 BC."""
    written = _year(count, moment)
    year = f"year({moment})"
    return written and written.replace(year, f"(CASE WHEN {year} > 0 THEN {year} ELSE 1 - {year} END)")


def _era(count: int, moment: str) -> str | None:
    names = ("Before Christ", "Anno Domini") if count == _FULL else ("BC", "AD")
    return None if count > _FULL else f"CASE WHEN year({moment}) > 0 THEN '{names[1]}' ELSE '{names[0]}' END"


def _name(numbers: Callable[[int, str], str | None], names: str) -> Callable[[int, str], str | None]:
    """Return the writer of a number, a short name (three letters) or a full one (four)."""

    def write(count: int, moment: str) -> str | None:
        name = f"{names}({moment})"
        return {_SHORT: f"left({name}, 3)", _FULL: name}.get(count) or numbers(count, moment)

    return write


def _day_name(count: int, moment: str) -> str | None:
    return None if count > _FULL else f"dayname({moment})" if count == _FULL else f"left(dayname({moment}), 3)"


def _quarter(count: int, moment: str) -> str | None:
    quarter = f"quarter({moment})"
    if count == _SHORT:
        return f"concat('Q', {quarter})"
    if count == _FULL:
        ending = f"CASE {quarter} WHEN 1 THEN 'st' WHEN 2 THEN 'nd' WHEN 3 THEN 'rd' ELSE 'th' END"
        return f"concat({quarter}, {ending}, ' quarter')"
    return _number(2, "quarter({0})")(count, moment)


def _fraction(count: int, moment: str) -> str | None:
    digits = f"lpad(CAST(microsecond({moment}) % 1000000 AS VARCHAR), 6, '0')"
    return None if count > 9 else f"left({digits} || '000', {count})"  # noqa: PLR2004 - nanoseconds


def _constant(*texts: str | None) -> Callable[[int, str], str | None]:
    """Return the writer of what is the same for all moments in UTC, by the number of letters."""

    def write(count: int, _: str) -> str | None:
        found = texts[count - 1] if count <= len(texts) else None
        return None if found is None else text(found)

    return write


_WRITERS: dict[str, _Writer] = {
    "G": _era,
    "y": _year,
    "M": _name(_number(2, "month({0})"), "monthname"),
    "L": _name(_number(2, "month({0})"), "monthname"),
    "d": _number(2, "day({0})"),
    "D": _number(3, "dayofyear({0})"),
    "F": _number(1, "(day({0}) - 1) % 7 + 1"),
    "E": _day_name,
    "Q": _quarter,
    "q": _quarter,
    "a": lambda count, moment: f"CASE WHEN hour({moment}) < 12 THEN 'AM' ELSE 'PM' END" if count == 1 else None,
    "H": _number(2, "hour({0})"),
    "k": _number(2, "((hour({0}) + 23) % 24 + 1)"),
    "K": _number(2, "(hour({0}) % 12)"),
    "h": _number(2, "((hour({0}) + 11) % 12 + 1)"),
    "m": _number(2, "minute({0})"),
    "s": _number(2, "second({0})"),
    "S": _fraction,
    "z": _constant("UTC", "UTC", "UTC", "Coordinated Universal Time"),
    "V": _constant(None, "UTC"),
    "X": _constant("Z", "Z", "Z", "Z", "Z"),
    "x": _constant("+00", "+0000", "+00:00", "+0000", "+00:00"),
    "Z": _constant("+0000", "+0000", "+0000", "GMT", "Z"),
    "O": _constant("GMT", None, None, "GMT"),
}

_OFFSET_HOURS = "[+-](?:0[0-9]|1[0-7])"
_READERS = {
    "y": {1: r"-?[0-9]{1,19}", 2: "[0-9]{2}", 4: r"[0-9]{4}|-[0-9]{4,}|\+[0-9]{5,}"},
    "M": {1: "[0-9]{1,19}", 2: "[0-9]{2}", 3: "|".join(name[:3] for name in _MONTHS), 4: "|".join(_MONTHS)},
    "d": {1: "[0-9]{1,19}", 2: "[0-9]{2}"},
    "H": {1: "[0-9]{1,19}", 2: "[0-9]{2}"},
    "h": {1: "[0-9]{1,19}", 2: "[0-9]{2}"},
    "m": {1: "[0-9]{1,19}", 2: "[0-9]{2}"},
    "s": {1: "[0-9]{1,19}", 2: "[0-9]{2}"},
    "S": {count: f"[0-9]{{1,{count}}}" for count in range(1, 10)},
    "a": {1: "AM|PM"},
    "k": {1: "[0-9]{1,19}", 2: "[0-9]{2}"},
    "D": {3: "[0-9]{3}"},
    "X": {
        1: rf"Z|{_OFFSET_HOURS}(?:[0-5][0-9])?",
        2: rf"Z|{_OFFSET_HOURS}[0-5][0-9]",
        3: rf"Z|{_OFFSET_HOURS}:[0-5][0-9]",
    },
    "x": {
        1: rf"{_OFFSET_HOURS}(?:[0-5][0-9])?",
        2: rf"{_OFFSET_HOURS}[0-5][0-9]",
        3: rf"{_OFFSET_HOURS}:[0-5][0-9]",
    },
    "Z": dict.fromkeys((1, 2, 3), rf"{_OFFSET_HOURS}[0-5][0-9]"),
}
_NUMBERS = frozenset("yMdHhmsSkD")
_OFFSETS = frozenset("XxZ")
_OF_ZONES = frozenset("zVXxZO")
_BRACKETS = frozenset("[]")


def _readable(part: _Part) -> str | None:
    return _READERS.get(part.letter, {}).get(part.count)


def _read(field: dict[str, str], counts: dict[str, int], optional: frozenset[str]) -> str:
    """Return the SQL of the moment that the texts of some fields mean; what is missing is that of 1970-01-01 00:00."""

    def number(letter: str, missing: int) -> str:
        if letter not in field:
            return str(missing)
        read = f"TRY_CAST({field[letter]} AS BIGINT)"
        return f"CASE WHEN {field[letter]} = '' THEN {missing} ELSE {read} END" if letter in optional else read

    year = number("y", 1970)
    if counts.get("y") == 2:  # noqa: PLR2004 - of this century
        year = f"(2000 + {year})"
    month = number("M", 1)
    if counts.get("M", 0) >= _SHORT:
        names = ", ".join(text(name[:3].lower()) for name in _MONTHS)
        month = f"list_position([{names}], lower(left({field['M']}, 3)))"
        if "M" in optional:
            month = f"CASE WHEN {field['M']} = '' THEN 1 ELSE {month} END"
    hour, minute, second = number("H", 0), number("m", 0), number("s", 0)
    checks = [f"{hour} BETWEEN 0 AND 23", f"{minute} BETWEEN 0 AND 59", f"{second} BETWEEN 0 AND 59"]
    if "h" in field:
        clock = number("h", 0)
        checks[0] = f"{clock} BETWEEN 1 AND 12"
        hour = f"({clock} % 12 + CASE WHEN upper({field['a']}) = 'PM' THEN 12 ELSE 0 END)"
    if "k" in field:
        clock = number("k", 24)
        checks[0] = f"{clock} BETWEEN 1 AND 24"
        hour = f"({clock} % 24)"
    fraction = f"CAST(left(rpad({field['S']}, 6, '0'), 6) AS BIGINT)" if "S" in field else "0"
    day = f"epoch_us(make_date({year}, {month}, {number('d', 1)}))"
    if "D" in field:
        date = f"(make_date({year}, 1, 1) + CAST({number('D', 1)} - 1 AS INTEGER))"
        day = f"CASE WHEN {number('D', 1)} > 0 AND year({date}) = {year} THEN epoch_us({date}) END"
    time = f"(({hour} * 60 + {minute}) * 60 + {second}) * 1000000 + {fraction}"
    return f"CASE WHEN {' AND '.join(checks)} THEN {_moment(f'{day} + {time}', field, optional)} END"


def _moment(local: str, field: dict[str, str], optional: frozenset[str]) -> str:
    """Return the SQL of the timestamp of local microseconds: with the offset that is read, else in the app's zone."""
    zone = session_zone()
    here = f"make_timestamptz({local})" if zone == UTC else read_in(zone, f"make_timestamp({local})")
    letter = next((letter for letter in _OFFSETS if letter in field), None)
    if letter is None:
        return here
    there = f"make_timestamptz({local} - {_offset(field[letter])})"
    return f"CASE WHEN {field[letter]} = '' THEN {here} ELSE {there} END" if letter in optional else there


def _offset(written: str) -> str:
    digits = f"rpad(replace(substr({written}, 2), ':', ''), 4, '0')"
    minutes = f"(CAST(left({digits}, 2) AS BIGINT) * 60 + CAST(right({digits}, 2) AS BIGINT))"
    return (
        f"CASE WHEN upper({written}) = 'Z' THEN 0 ELSE {minutes} * 60000000 * "
        f"CASE WHEN left({written}, 1) = '-' THEN -1 ELSE 1 END END"
    )
