"""Positions in streams as they are written on a command line."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from streamapp_core.spec.base import parse_moment

EARLIEST = "earliest"
_OFFSET = re.compile(r"([^:=\s]+):([0-9]{1,5})=([0-9]{1,15})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """Positions in the inputs of an app: a time (milliseconds since 1970) for all, and offsets of some partitions.

    `offsets` are by stream and partition, and go before the time. Without both they are where streams begin or end.
    """

    time: int | None = None
    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


def parse_positions(texts: Iterable[str], *, default: str | None = None) -> Positions:
    """Read positions: a time, `STREAM:PARTITION=OFFSET` as often as wanted, or the word that `default` is, alone.

    Raises:
        ValueError: a text is none of them, or two contradict each other.
    """
    given = list(texts)
    if default in given:
        if len(given) > 1:
            raise ValueError(f"{default} is all of every stream: leave it out, or the other positions")
        return Positions()
    times: list[int] = []
    offsets: dict[str, dict[int, int]] = {}
    for text in given:
        match = _OFFSET.fullmatch(text)
        if match is None:
            times.append(_time(text, default))
            continue
        stream, partition, offset = match[1], int(match[2]), int(match[3])
        if partition in offsets.setdefault(stream, {}):
            raise ValueError(f"{text}: partition {partition} of {stream} has an offset already; name it once")
        offsets[stream][partition] = offset
    if len(times) > 1:
        raise ValueError("a time is that of all streams: give one, and offsets of partitions beside it")
    return Positions(time=times[0] if times else None, offsets=offsets)


def _time(text: str, default: str | None) -> int:
    try:
        return parse_moment(text)
    except ValueError as error:
        other = "" if default is None else f", or {default}"
        raise ValueError(f"{error}; or an offset of a partition: orders:0=17{other}") from None
