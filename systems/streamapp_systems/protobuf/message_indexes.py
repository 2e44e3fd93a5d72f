"""The header of messages whose schema a registry has, as Confluent's clients write it.

Behind the id of the schema stands which of its messages it is: how many places there are, and the places, the outermost
first. All are numbers of variable length, in zigzag; one byte 0 is short for the first message.
"""

from streamapp_systems.schema_header import HEADER, MAGIC

FIRST_MESSAGE = b"\x00"
"""The places of the first message of a file."""
_DEEPEST = 50
_LONGEST_SHIFT = 28


def message_header(value: bytes) -> bytes:
    """Return what stands before a message; no more than the id if no places can be read."""
    if value[HEADER : HEADER + 1] == FIRST_MESSAGE:
        return value[: HEADER + 1]
    found = _read_places(value)
    return value[:HEADER] if found is None else value[: found[1]]


def schema_place(header: bytes) -> tuple[int, tuple[int, ...]] | None:
    """Return the id of a schema, and the places of its message; None if a header is none."""
    if len(header) <= HEADER or header[:1] != MAGIC:
        return None
    found = _read_places(header)
    return None if found is None else (int.from_bytes(header[1:HEADER], "big"), found[0])


def _read_places(value: bytes) -> tuple[tuple[int, ...], int] | None:
    """Return the places, and where they end."""
    found = _number(value, HEADER)
    if found is None or not 0 <= found[0] <= _DEEPEST:
        return None
    count, at = found
    places = []
    for _ in range(count):
        found = _number(value, at)
        if found is None:
            return None
        place, at = found
        places.append(place)
    return tuple(places) or (0,), at


def _number(value: bytes, at: int) -> tuple[int, int] | None:
    number = shift = 0
    for byte in value[at : at + _LONGEST_SHIFT // 7 + 1]:
        number |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follow
            return (number >> 1) ^ -(number & 1), at
    return None
