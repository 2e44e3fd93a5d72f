"""Geometries as well-known binary: sound ones of all kinds, which lie on the globe, and broken ones."""

import random
import struct

_COORDINATES = [0.0, -0.0, 1.0, 2.5, -90.0, 90.0, 45.125]
_DIMENSIONS = (2, 3, 3, 4)
_PARTS = {4: [1], 5: [2], 6: [3], 7: [1, 2, 3, 4, 5, 6, 7]}
_BREAKS = [b"", b"\0", b"\1", b"\2", b"\xff", b"\x7f", b"\xf0", b"\0\0"]


def sound_wkb(draw: random.Random) -> bytes:
    """Return a geometry."""
    shape = _geometry(draw, draw.choice([1, 1, 2, 3, 4, 5, 6, 7]), draw.choice([0, 0, 0, 1, 2, 3]), 3)
    return shape + draw.choice([b"", b"", b"", b"x"])


def broken_wkb(draw: random.Random) -> bytes:
    """Return a geometry that may be broken somewhere."""
    data = sound_wkb(draw)
    place = draw.randrange(len(data))
    return data[:place] + draw.choice(_BREAKS) + data[place + draw.choice([0, 1]) :]


def _geometry(draw: random.Random, kind: int, thousands: int, depth: int) -> bytes:
    order = draw.choice("<<>")
    head = (b"\1" if order == "<" else b"\0") + struct.pack(f"{order}i", thousands * 1000 + kind)
    dimensions = _DIMENSIONS[thousands]
    if kind == 1:
        return head + (
            struct.pack(f"{order}d", float("nan")) * dimensions
            if draw.random() < 0.1
            else _points(draw, order, dimensions, 1)
        )
    count = draw.choice([0, 2, 3]) if kind == 2 or depth else 0
    if kind == 2:
        body = _points(draw, order, dimensions, count)
    elif kind == 3:
        body = b"".join(_ring(draw, order, dimensions) for _ in range(count))
    else:
        body = b"".join(_geometry(draw, draw.choice(_PARTS[kind]), thousands, depth - 1) for _ in range(count))
    return head + struct.pack(f"{order}i", count) + body


def _ring(draw: random.Random, order: str, dimensions: int) -> bytes:
    points = _points(draw, order, dimensions, draw.choice([3, 3, 4]))
    points += points[: 8 * dimensions]
    return struct.pack(f"{order}i", len(points) // (8 * dimensions)) + points


def _points(draw: random.Random, order: str, dimensions: int, count: int) -> bytes:
    numbers = [draw.choice(_COORDINATES) for _ in range(dimensions * count)]
    return struct.pack(f"{order}{len(numbers)}d", *numbers)
