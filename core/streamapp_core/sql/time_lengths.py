"""Lengths of time as queries write them: `1 hour 30 minutes`."""

import re

_UNITS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
DAY = _UNITS["day"]
"""The milliseconds of a day on which no clocks are turned."""
_PART = re.compile(r"([0-9]{1,9}) ([a-z]+)")


def has_days(text: str) -> bool:
    """Return whether a length of time has days or weeks, which clocks that are turned make longer or shorter."""
    return any(unit.removesuffix("s") in ("day", "week") for _, unit in _PART.findall(" ".join(text.lower().split())))


def read_length(text: str) -> int | None:
    """Return the milliseconds of a length of time such as `1 hour 30 minutes`; None if it is none."""
    words = " ".join(text.lower().removeprefix("interval ").split())
    parts = [(int(number), unit.removesuffix("s")) for number, unit in _PART.findall(words)]
    if _PART.sub("", words).strip() or not parts or any(unit not in _UNITS for _, unit in parts):
        return None
    return sum(number * _UNITS[unit] for number, unit in parts)
