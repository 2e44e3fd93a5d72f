"""The letters of patterns that write a time zone, as Java's DateTimeFormatter does."""

from collections.abc import Callable, Mapping

from streamapp_core.expressions.time_zones import TimeZone
from streamapp_core.expressions.typed_sql import text

ZoneWriter = Callable[[int], str | None]
"""Returns the SQL of what so many letters write; None if there is no such form."""
_FULL = 4


def zone_writers(zone: TimeZone, offset: str) -> Mapping[str, ZoneWriter]:
    """Return the writers of a zone whose offset is cheap SQL, in seconds; names that change with clocks have none."""
    hours, minutes, seconds = (f"(abs({offset}){part})" for part in (" // 3600", " // 60 % 60", " % 60"))
    sign = f"CASE WHEN {offset} < 0 THEN '-' ELSE '+' END"

    def joined(mark: str, *, with_seconds: bool) -> str:
        rest = f", CASE WHEN {seconds} > 0 THEN '{mark}' || {_two(seconds)} ELSE '' END" if with_seconds else ""
        return f"concat({sign}, {_two(hours)}, '{mark}', {_two(minutes)}{rest})"

    def numbers(count: int, none: str, shortest: bool = False) -> str:
        mark = ":" if count % 2 else ""
        with_seconds = count >= _FULL
        shown = hours + " + " + minutes + (f" + {seconds}" if with_seconds else "")
        written = joined(mark, with_seconds=with_seconds)
        if shortest:
            written = f"concat({sign}, {_two(hours)}, CASE WHEN {minutes} > 0 THEN {_two(minutes)} ELSE '' END)"
        return f"CASE WHEN {shown} = 0 THEN {text(none)} ELSE {written} END"

    def offsets(nones: tuple[str, ...]) -> ZoneWriter:
        return lambda count: numbers(count, nones[count - 1], count == 1) if count <= len(nones) else None

    def long_gmt() -> str:
        return f"CASE WHEN {offset} = 0 THEN 'GMT' ELSE 'GMT' || {joined(':', with_seconds=True)} END"

    def short_gmt() -> str:
        later = f"CASE WHEN {minutes} + {seconds} > 0 THEN ':' || {_two(minutes)} ELSE '' END"
        last = f"CASE WHEN {seconds} > 0 THEN ':' || {_two(seconds)} ELSE '' END"
        return f"CASE WHEN {offset} = 0 THEN 'GMT' ELSE concat('GMT', {sign}, {hours}, {later}, {last}) END"

    def of_z(count: int) -> str | None:
        if count < _FULL:
            return numbers(2, "+0000")
        return long_gmt() if count == _FULL else numbers(count, "Z") if count == _FULL + 1 else None

    named = {} if zone.name else {"z": lambda count: text(zone.id) if count <= _FULL else None}
    return {
        **named,
        "V": lambda count: text(zone.id) if count == 2 else None,  # noqa: PLR2004 - the only form
        "X": offsets(("Z",) * 5),
        "x": offsets(("+00", "+0000", "+00:00", "+0000", "+00:00")),
        "Z": of_z,
        "O": lambda count: {1: short_gmt, _FULL: long_gmt}.get(count, lambda: None)(),
    }


def _two(number: str) -> str:
    return f"lpad(CAST({number} AS VARCHAR), 2, '0')"
