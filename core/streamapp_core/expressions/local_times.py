"""Between moments and the date and time that clocks of a time zone show, as DuckDB SQL.

A time that clocks skip is taken as so much later, and of a time that they show twice the first is meant, as in Java.
"""

from collections.abc import Callable
from functools import partial

from streamapp_core.expressions.kernels import ZONE_NAME
from streamapp_core.expressions.time_zones import TimeZone, time_zone
from streamapp_core.expressions.typed_sql import Value, bound, text
from streamapp_core.schema import TIMESTAMP

_MICROSECONDS = 1_000_000
_TORONTO = ("1919-03-31", "1919-03-31 04:30:00+00")
_MIDNIGHT_SKIPPED_LATE = dict.fromkeys(
    (
        "America/Montreal", "America/Nassau", "America/Nipigon", "America/Thunder_Bay", "America/Toronto",
        "Canada/Eastern",
    ),
    _TORONTO,
)  # fmt: skip
"""The zones where clocks once skipped a midnight from an earlier time on: the day, and when it started."""
_FAR = 16 * 3600 * _MICROSECONDS
"""Further than any zone is from UTC."""


def local_time(moment: str, zone: Value) -> str:
    """Return the SQL of the naive timestamp that clocks of a zone show at a timestamp; null beyond what they can.

    Raises:
        Refusal: The zone is a literal, and there is none of its name.
    """
    known = _known(zone)
    if known is None:
        return f"TRY(timezone({ZONE_NAME.over(zone.sql)}, {moment}))"
    return f"TRY({shown_in(known, moment)})"


def moment_of(local: str, zone: Value) -> str:
    """Return the SQL of the timestamp at which clocks of a zone show a naive timestamp.

    Raises:
        Refusal: The zone is a literal, and there is none of its name.
    """
    known = _known(zone)
    if known is None:
        return bound([Value(None, ZONE_NAME.over(zone.sql))], partial(moment_in, local))
    return f"TRY({read_in(known, local)})"


def shown_in(zone: TimeZone, moment: str) -> str:
    """Return the SQL of the naive timestamp that clocks of a zone show at a timestamp; it fails where they can't."""
    if zone.name:
        return f"timezone({text(zone.name)}, {moment})"
    return f"make_timestamp(epoch_us({moment}){_plus(zone.offset)})"


def read_in(zone: TimeZone, local: str) -> str:
    """Return the SQL of the timestamp at which clocks of a zone show a naive one; beyond what there is it fails."""
    if zone.name:
        return moment_in(local, text(zone.name))
    return f"make_timestamptz(epoch_us({local}){_plus(-zone.offset)})"


def day_start(zone: TimeZone, date: str) -> str:
    """Return the SQL of the first timestamp at which clocks of a zone show a date; it fails beyond what there is.

    The date may be a naive timestamp.
    """
    if zone.name not in _MIDNIGHT_SKIPPED_LATE:
        return read_in(zone, date)
    day, start = _MIDNIGHT_SKIPPED_LATE[zone.name]
    usual = partial(read_in, zone)
    return bound(
        [Value(None, date)], lambda d: f"CASE WHEN {d} = DATE '{day}' THEN TIMESTAMPTZ '{start}' ELSE {usual(d)} END"
    )


def moment_in(local: str, region: str) -> str:
    """Return the SQL of the timestamp at which clocks of a region, which is cheap to repeat, show a naive timestamp."""

    def offset(microseconds: str) -> str:
        return f"(epoch_us(timezone({region}, make_timestamptz({microseconds}))) - ({microseconds}))"

    def choose(before: str, after: str, clock: str) -> str:
        fits = f"{offset(before)} = {clock} - {before} OR {offset(after)} <> {clock} - {after}"
        return f"make_timestamptz(CASE WHEN {fits} THEN {before} ELSE {after} END)"

    def candidates(clock: str) -> str:
        sides = [Value(TIMESTAMP, f"{clock} - {offset(f'{clock} {sign} {_FAR}')}") for sign in "-+"]
        return bound([*sides, Value(TIMESTAMP, clock)], choose)

    return f"TRY({bound([Value(TIMESTAMP, f'epoch_us({local})')], candidates)})"


def turned(zone: TimeZone, moment: str, turn: Callable[[str], str]) -> str:
    """Return the SQL of the timestamp at which clocks of a zone, turned to another time, show this time.

    `turn` writes that time over the one they show at `moment`. Of a time that they show twice, the one with the
    offset of `moment` is meant, as in Java's ZonedDateTime.
    """
    if not zone.name:
        return read_in(zone, turn(shown_in(zone, moment)))

    def moved(before: str) -> str:
        return bound([Value(TIMESTAMP, before), Value(TIMESTAMP, shown_in(zone, before))], over_clock)

    def over_clock(before: str, clock: str) -> str:
        kept = f"make_timestamptz(epoch_us({{0}}) - (epoch_us({clock}) - epoch_us({before})))"
        sides = [Value(TIMESTAMP, turn(clock))]
        return bound(sides, lambda new: choose(new, kept.format(new)))

    def choose(new: str, kept: str) -> str:
        return f"CASE WHEN {shown_in(zone, kept)} = {new} THEN {kept} ELSE {read_in(zone, new)} END"

    return bound([Value(TIMESTAMP, moment)], moved)


def _plus(seconds: int) -> str:
    return f" {'-' if seconds < 0 else '+'} {abs(seconds) * _MICROSECONDS}" if seconds else ""


def _known(zone: Value) -> TimeZone | None:
    return time_zone(zone.literal) if isinstance(zone.literal, str) else None
