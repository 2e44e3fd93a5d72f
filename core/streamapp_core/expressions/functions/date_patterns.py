"""Patterns of dates and times, such as `yyyy-MM-dd HH:mm`: how they write a moment, and how they read it from a text.

They are those of Java's DateTimeFormatter as Spark takes them, in UTC and English.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.typed_sql import text

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_SHORT = 3
_FULL = 4
_PARTS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z'\[\]#{}]+)|([\[\]])")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern: a letter with its `count`, or, without one, a `text`."""

    letter: str
    count: int
    text: str = ""


def written_moment(pattern: str, moment: str) -> str:
    """Return the SQL of the text of a naive timestamp (a name or other cheap SQL).

    Raises:
        Refusal: The pattern has a letter that is not supported.
    """
    pieces = []
    for part in _parts(pattern):
        writer = _WRITERS.get(part.letter)
        if not part.letter:
            pieces.append(text(part.text))
        elif writer is None or (sql := writer(part.count, moment)) is None:
            raise _unsupported(pattern, part, _WRITERS)
        else:
            pieces.append(sql)
    return f"concat({', '.join(pieces)})" if pieces else "''"


def read_moment(pattern: str, value: str) -> str:
    """Return the SQL of the naive timestamp, in microseconds since 1970, that a text (cheap SQL) has; null if none.

    Raises:
        Refusal: The pattern has a letter that is not supported, or numbers whose end can't be seen.
    """
    parts = list(_parts(pattern))
    fields = [part for part in parts if part.letter]
    letters = [part.letter for part in fields]
    if len(set(letters)) < len(letters) or ("h" in letters) != ("a" in letters) or {"h", "H"} <= set(letters):
        raise invalid(f"the pattern '{pattern}' can't be read: each letter once, and `h` and `a` together, without `H`")
    expression, names = "", []
    for part, following in zip(parts, [*parts[1:], _Part("", 0)], strict=True):
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
    read = f"list_transform([{matched}], lambda __m: {_microseconds(field, {p.letter: p.count for p in fields})})[1]"
    whole = f"regexp_full_match({value}, {text(f'(?i:{expression})')})"
    return f"CASE WHEN {whole} THEN {read} END"


def has_zone(pattern: str) -> bool:
    """Return whether a pattern reads a time zone."""
    return any(part.letter in ("X", "Z") for part in _parts(pattern))


def _parts(pattern: str) -> Iterator[_Part]:
    position = 0
    while position < len(pattern):
        match = _PARTS.match(pattern, position)
        if match is None:
            raise invalid(f"the pattern '{pattern}' has an unexpected `{pattern[position]}`")
        if match[2]:
            yield _Part(match[2], len(match[0]))
        elif match[4]:
            raise invalid(f"the pattern '{pattern}' has an optional part; these are not supported")
        else:
            quoted = match[1]
            yield _Part("", 0, match[3] if quoted is None else quoted.replace("''", "'") or "'")
        position = match.end()


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
    sign = f"CASE WHEN {year} < 0 THEN '-' WHEN {year} >= {10**count} THEN '+' ELSE '' END"
    return f"concat({sign}, {digits})"


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


_WRITERS: dict[str, Callable[[int, str], str | None]] = {
    "y": _year,
    "M": _name(_number(2, "month({0})"), "monthname"),
    "L": _name(_number(2, "month({0})"), "monthname"),
    "d": _number(2, "day({0})"),
    "D": _number(3, "dayofyear({0})"),
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
    "X": {1: rf"Z|{_OFFSET_HOURS}(?:[0-5][0-9])?", 3: rf"Z|{_OFFSET_HOURS}:[0-5][0-9]"},
    "Z": dict.fromkeys((1, 2, 3), rf"{_OFFSET_HOURS}[0-5][0-9]"),
}
_NUMBERS = frozenset("yMdHhmsS")


def _readable(part: _Part) -> str | None:
    return _READERS.get(part.letter, {}).get(part.count)


def _microseconds(field: dict[str, str], counts: dict[str, int]) -> str:
    """Return the SQL of the moment that the texts of some fields mean; what is missing is that of 1970-01-01 00:00."""

    def number(letter: str, missing: int) -> str:
        return f"TRY_CAST({field[letter]} AS BIGINT)" if letter in field else str(missing)

    year = number("y", 1970)
    if counts.get("y") == 2:  # noqa: PLR2004 - of this century
        year = f"(2000 + {year})"
    month = number("M", 1)
    if counts.get("M", 0) >= _SHORT:
        names = ", ".join(text(name[:3].lower()) for name in _MONTHS)
        month = f"list_position([{names}], lower(left({field['M']}, 3)))"
    hour, minute, second = number("H", 0), number("m", 0), number("s", 0)
    checks = [f"{hour} BETWEEN 0 AND 23", f"{minute} BETWEEN 0 AND 59", f"{second} BETWEEN 0 AND 59"]
    if "h" in field:
        clock = number("h", 0)
        checks[0] = f"{clock} BETWEEN 1 AND 12"
        hour = f"({clock} % 12 + CASE WHEN upper({field['a']}) = 'PM' THEN 12 ELSE 0 END)"
    fraction = f"CAST(left(rpad({field['S']}, 6, '0'), 6) AS BIGINT)" if "S" in field else "0"
    day = f"epoch_us(make_date({year}, {month}, {number('d', 1)}))"
    time = f"(({hour} * 60 + {minute}) * 60 + {second}) * 1000000 + {fraction}"
    offset = _offset(field["X"] if "X" in field else field["Z"]) if {"X", "Z"} & field.keys() else "0"
    return f"CASE WHEN {' AND '.join(checks)} THEN {day} + {time} - {offset} END"


def _offset(written: str) -> str:
    digits = f"rpad(replace(substr({written}, 2), ':', ''), 4, '0')"
    minutes = f"(CAST(left({digits}, 2) AS BIGINT) * 60 + CAST(right({digits}, 2) AS BIGINT))"
    return (
        f"CASE WHEN upper({written}) = 'Z' THEN 0 ELSE {minutes} * 60000000 * "
        f"CASE WHEN left({written}, 1) = '-' THEN -1 ELSE 1 END END"
    )
