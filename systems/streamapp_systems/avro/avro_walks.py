"""The places of values one after the other, without their meaning: quicker than by NumPy where few arrays are long."""

from collections.abc import Callable, Sequence

from streamapp_core.avro.avro_schema import AvroKind, AvroType

_LONGEST_SHIFT = 63
Walk = Callable[[bytes, int], int]
"""Returns where the value ends that begins at a position.

Raises:
    ValueError, IndexError: there is none.
"""


def walk_of(avro: AvroType) -> Walk:  # noqa: PLR0911 - one for each type
    """Return what passes over one value of a type; it may come out behind the end of what holds the value."""
    match avro.kind:
        case AvroKind.INT | AvroKind.LONG | AvroKind.ENUM:
            return lambda data, at: _number(data, at)[1]
        case AvroKind.STRING | AvroKind.BYTES:
            return _text
        case AvroKind.RECORD:
            return _in_turn([walk_of(field.type) for field in avro.fields])
        case AvroKind.UNION:
            return _chosen([walk_of(part) for part in avro.parts])
        case AvroKind.ARRAY:
            return _blocks(walk_of(avro.parts[0]))
        case AvroKind.MAP:
            return _blocks(_in_turn([_text, walk_of(avro.parts[0])]))
        case _:
            width = 1 if avro.kind is AvroKind.BOOLEAN else avro.least_bytes
            return lambda _, at: at + width


def entry_walk(value: AvroType) -> Walk:
    """Return what passes over a key of a map and its value."""
    return _in_turn([_text, walk_of(value)])


def _number(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        byte = data[at]
        at += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follow
            return (found >> 1) ^ -(found & 1), at
        shift += 7
        if shift > _LONGEST_SHIFT:
            raise ValueError("a number has more than 64 bits")


def _text(data: bytes, at: int) -> int:
    length, at = _number(data, at)
    if length < 0:
        raise ValueError("a length is below 0")
    return at + length


def _in_turn(walks: Sequence[Walk]) -> Walk:
    def walk(data: bytes, at: int) -> int:
        for part in walks:
            at = part(data, at)
        return at

    return walk


def _chosen(walks: Sequence[Walk]) -> Walk:
    def walk(data: bytes, at: int) -> int:
        number, at = _number(data, at)
        if number < 0:
            raise ValueError("there is no such choice")
        return walks[number](data, at)

    return walk


def _blocks(element: Walk) -> Walk:
    def walk(data: bytes, at: int) -> int:
        while True:
            count, at = _number(data, at)
            if count == 0:
                return at
            if count < 0:
                count, at = -count, _number(data, at)[1]
            if count > len(data) - at:
                raise ValueError("there are more elements than bytes")
            for _ in range(count):
                at = element(data, at)

    return walk
