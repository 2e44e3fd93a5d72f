"""The kernel of geometries: well-known binary (WKB), checked as Spark does it and written again. It goes row by row."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_runtime.kernels.row_functions import each_row

_POINT, _LINE, _POLYGON, _COLLECTION = 1, 2, 3, 7
_KIND_OF_PARTS = {4: 1, 5: 2, 6: 3}
_DIMENSIONS = {0: 2, 1: 3, 2: 3, 3: 4}
"""The coordinates of a point, by the thousands of a type: plain, with a height, with a measure, with both."""
_FEWEST_IN_RING = 4
_WIDEST, _HIGHEST = 180.0, 90.0
MAX_DEPTH = 200
_ORDERS = {0: ">", 1: "<"}


class _BrokenError(ValueError):
    """Bytes are no geometry."""


def wkb(values: pa.Array, geographic: pa.Array, big_endian: pa.Array) -> pa.Array:
    """Write geometries again, in one order of bytes; null of what is none. Those of a globe lie on it."""
    return pa.array(each_row(_written, values, geographic, big_endian), pa.binary())


def _written(value: bytes, globe: bool, big: bool) -> bytes | None:
    reader = _Reader(value, globe=globe, wanted=">" if big else "<")
    try:
        reader.geometry(0, 0, None, None)
    except _BrokenError:
        return None
    return b"".join(reader.parts)


class _Reader:
    """A reader that writes what it has read to `parts`, in the order of bytes that is wanted."""

    def __init__(self, data: bytes, *, globe: bool, wanted: str) -> None:
        self._data, self._globe, self._wanted = data, globe, wanted
        self.parts: list[bytes] = []

    def geometry(self, at: int, depth: int, kind: int | None, thousands: int | None) -> int:
        """Read a geometry, of a kind and with coordinates that are given if it is a part; return where it ends."""
        if depth > MAX_DEPTH or at >= len(self._data) or self._data[at] not in _ORDERS:
            raise _BrokenError
        order = _ORDERS[self._data[at]]
        at, written = self._count(at + 1, order, header=True)
        own, base = divmod(written, 1000)
        if own not in _DIMENSIONS or not _POINT <= base <= _COLLECTION:
            raise _BrokenError
        if (kind is not None and base != kind) or (thousands is not None and own != thousands):
            raise _BrokenError
        if base == _POINT:
            return self._points(at, order, 1, own, empty=True)[0]
        at, count = self._count(at, order)
        if base == _LINE:
            if count == 1:
                raise _BrokenError
            return self._points(at, order, count, own)[0]
        for _ in range(count):
            at = (
                self._ring(at, order, own)
                if base == _POLYGON
                else self.geometry(at, depth + 1, _KIND_OF_PARTS.get(base), own)
            )
        return at

    def _ring(self, at: int, order: str, thousands: int) -> int:
        at, count = self._count(at, order)
        if count < _FEWEST_IN_RING:
            raise _BrokenError
        at, points = self._points(at, order, count, thousands)
        if (points[0, :2] != points[-1, :2]).any():
            raise _BrokenError
        return at

    def _count(self, at: int, order: str, *, header: bool = False) -> tuple[int, int]:
        if at + 4 > len(self._data):
            raise _BrokenError
        number = int.from_bytes(self._data[at : at + 4], "big" if order == ">" else "little", signed=True)
        if number < 0:
            raise _BrokenError
        if header:
            self.parts.append(b"\0" if self._wanted == ">" else b"\1")
        self.parts.append(number.to_bytes(4, "big" if self._wanted == ">" else "little"))
        return at + 4, number

    def _points(
        self, at: int, order: str, count: int, thousands: int, *, empty: bool = False
    ) -> tuple[int, npt.NDArray[np.float64]]:
        dimensions = _DIMENSIONS[thousands]
        size = count * dimensions
        if at + 8 * size > len(self._data):
            raise _BrokenError
        found = np.frombuffer(self._data, f"{order}f8", size, at)
        points = found.astype(np.float64).reshape(count, dimensions)
        missing = np.isnan(points)
        if np.isinf(points).any() or (missing.any() and not empty):
            raise _BrokenError
        if self._globe and not missing.any() and (np.abs(points[:, :2]) > (_WIDEST, _HIGHEST)).any():
            raise _BrokenError
        self.parts.append(found.astype(f"{self._wanted}f8").tobytes())
        return at + 8 * size, points
