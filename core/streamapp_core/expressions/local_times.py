"""Between moments and the date and time that clocks of a time zone show, as DuckDB SQL.

A time that clocks skip is taken as so much later, and of a time that they show twice the first is meant, as in Java.
"""

from functools import partial

from streamapp_core.expressions.kernels import ZONE_NAME
from streamapp_core.expressions.time_zones import TimeZone, time_zone
from streamapp_core.expressions.typed_sql import Value, bound, text
from streamapp_core.schema import TIMESTAMP

_MICROSECONDS = 1_000_000
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
    if known.name:
        return f"TRY(timezone({text(known.name)}, {moment}))"
    return f"TRY(make_timestamp(epoch_us({moment}) + {known.offset * _MICROSECONDS}))"


def moment_of(local: str, zone: Value) -> str:
    """Return the SQL of the timestamp at which clocks of a zone show a naive timestamp.

    Raises:
        Refusal: The zone is a literal, and there is none of its name.
    """
    known = _known(zone)
    if known is None:
        return bound([Value(None, ZONE_NAME.over(zone.sql))], partial(moment_in, local))
    if known.name:
        return moment_in(local, text(known.name))
    return f"TRY(make_timestamptz(epoch_us({local}) - {known.offset * _MICROSECONDS}))"


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


def _known(zone: Value) -> TimeZone | None:
    return time_zone(zone.literal) if isinstance(zone.literal, str) else None
