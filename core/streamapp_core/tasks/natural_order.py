"""Natural order of names: runs of digits count as numbers, so `Partition 2` comes before `Partition 10`."""

import re

_NUMBER = re.compile("([0-9]+)")


def natural_key(name: str) -> tuple[list[str | int], str]:
    """Return a sort key; names that differ in leading zeros only are ordered as text."""
    parts = _NUMBER.split(name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], name
