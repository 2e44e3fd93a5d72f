"""Single values of Avro as Arrow's: what a column can't hold exactly fails."""

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.avro.avro_schema import AvroKind, AvroLogical, AvroType
from streamapp_core.data_types import MAX_PRECISION
from streamapp_systems.avro.avro_cursor import AvroCursor, Numbers

ValueReader = Callable[[AvroCursor], pa.Array]

_INT = (-(1 << 31), (1 << 31) - 1)
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The years 1 to 9999, of which there are dates and timestamps."""
_SECONDS_A_DAY = 86_400
_UNITS = {
    AvroLogical.TIMESTAMP_MILLIS: 1_000,
    AvroLogical.LOCAL_TIMESTAMP_MILLIS: 1_000,
    AvroLogical.TIMESTAMP_MICROS: 1_000_000,
    AvroLogical.LOCAL_TIMESTAMP_MICROS: 1_000_000,
}
_DECIMAL_BYTES = 16


def value_reader(avro: AvroType, to: pa.DataType, place: str) -> ValueReader:
    """Return what reads values of a type that has no others inside into a column of a type that it fits."""
    match avro.kind:
        case AvroKind.BOOLEAN:
            return lambda cursor: _booleans(cursor, place)
        case AvroKind.INT | AvroKind.LONG:
            return lambda cursor: _whole_numbers(cursor, avro, to, place)
        case AvroKind.FLOAT:
            return lambda cursor: pa.array(
                (cursor.source.words[cursor.advance(4, place)] & np.uint64(0xFFFFFFFF))
                .astype(np.uint32)
                .view(np.float32)
            ).cast(to)
        case AvroKind.DOUBLE:
            return lambda cursor: pa.array(cursor.source.words[cursor.advance(8, place)].view(np.float64))
        case AvroKind.ENUM:
            symbols = pa.array(avro.symbols, pa.string())
            return lambda cursor: symbols.take(pa.array(_choices(cursor, len(avro.symbols), place)))
        case _:
            return lambda cursor: _bytes(cursor, avro, to, place)


def skip_value(avro: AvroType, place: str) -> Callable[[AvroCursor], None]:
    """Return what passes over values of a type that has no others inside."""

    def skip(cursor: AvroCursor) -> None:
        match avro.kind:
            case AvroKind.INT | AvroKind.LONG | AvroKind.ENUM:
                cursor.numbers()
            case AvroKind.STRING | AvroKind.BYTES:
                cursor.spans(place)
            case _:
                cursor.advance(1 if avro.kind is AvroKind.BOOLEAN else avro.least_bytes, place)

    return skip


def _booleans(cursor: AvroCursor, place: str) -> pa.Array:
    found = cursor.source.data[cursor.advance(1, place)]
    cursor.fail((found > 1) & ~cursor.failed, f"{place}: {_first(found[found > 1])} is no boolean")
    return pa.array(found == 1)


def _choices(cursor: AvroCursor, count: int, place: str) -> Numbers:
    found = cursor.numbers()
    beyond = (found < 0) | (found >= count)
    cursor.fail(beyond, f"{place}: there is no choice {_first(found[beyond])}: there are {count}")
    found[beyond] = 0
    return found


def choices(cursor: AvroCursor, count: int, place: str) -> Numbers:
    """Read the branch of a union; that of a failed value is the first."""
    return _choices(cursor, count, place)


def _whole_numbers(cursor: AvroCursor, avro: AvroType, to: pa.DataType, place: str) -> pa.Array:
    found = cursor.numbers()
    if avro.kind is AvroKind.INT:
        _limit(cursor, found, *_INT, f"{place}: it is no int")
    if pa.types.is_timestamp(to):
        second = _UNITS[avro.logical]
        low, high = (day * _SECONDS_A_DAY * second for day in (_FIRST_DAY, _LAST_DAY + 1))
        _limit(cursor, found, low, high - 1, f"{place}: a timestamp is not of the years 1 to 9999")
        return pa.array(found * (1_000_000 // second)).cast(to)
    if pa.types.is_date(to):
        _limit(cursor, found, _FIRST_DAY, _LAST_DAY, f"{place}: a date is not of the years 1 to 9999")
        return pa.array(found.astype(np.int32)).cast(to)
    numbers = pa.array(found.astype(np.int32) if avro.kind is AvroKind.INT else found)
    return converted(cursor, numbers, lambda part: part.cast(to), f"{place}: its column, {to}, can't hold it exactly")


def _limit(cursor: AvroCursor, found: Numbers, low: int, high: int, reason: str) -> None:
    beyond = (found < low) | (found > high)
    cursor.fail(beyond, reason)
    found[beyond] = 0


def _bytes(cursor: AvroCursor, avro: AvroType, to: pa.DataType, place: str) -> pa.Array:
    if avro.kind is AvroKind.FIXED:
        starts, lengths = cursor.advance(avro.size, place), np.full(len(cursor), avro.size)
        lengths[cursor.failed] = 0
    else:
        starts, lengths = cursor.spans(place)
    if pa.types.is_decimal(to):
        return _decimals(cursor, (starts, lengths), avro.scale, to, place)
    found = cursor.source.slices(starts, lengths)
    if pa.types.is_binary(to):
        return found
    if avro.kind is AvroKind.FIXED:
        return pa.array([str(uuid.UUID(bytes=value)) if value else None for value in found.to_pylist()], to)
    return converted(cursor, found, lambda part: part.cast(to), f"{place}: it is no UTF-8 text")


def _decimals(cursor: AvroCursor, spans: tuple[Numbers, Numbers], scale: int, to: pa.DataType, place: str) -> pa.Array:
    """Return decimals of their digits, which are whole numbers of any length, the highest byte first."""
    data, (starts, lengths) = cursor.source.data, spans
    cursor.fail((lengths == 0) & ~cursor.failed, f"{place}: a decimal has no bytes")
    long = np.flatnonzero(lengths > _DECIMAL_BYTES)
    for row in long.tolist():
        digits = int.from_bytes(data[starts[row] : starts[row] + lengths[row]].tobytes(), "big", signed=True)
        if abs(digits) >= 10**MAX_PRECISION:
            cursor.fail(np.arange(len(cursor)) == row, f"{place}: a decimal has more than {MAX_PRECISION} digits")
    starts = starts + np.maximum(lengths - _DECIMAL_BYTES, 0)
    lengths = np.minimum(lengths, _DECIMAL_BYTES)
    sign = np.where((data[starts] & 0x80 != 0) & (lengths > 0), 255, 0).astype(np.uint8)
    whole = np.empty((len(cursor), _DECIMAL_BYTES), np.uint8)
    last = starts + lengths - 1
    for place_value in range(_DECIMAL_BYTES):
        given = place_value < lengths
        whole[:, place_value] = np.where(given, data[np.where(given, last - place_value, 0)], sign)
    whole[cursor.failed] = 0
    decimals = pa.Array.from_buffers(pa.decimal128(MAX_PRECISION, scale), len(cursor), [None, pa.py_buffer(whole)])
    return converted(cursor, decimals, lambda part: _exactly(part, to), f"{place}: it has more digits than {to}")


def _exactly(digits: pa.Array, to: pa.DataType) -> pa.Array:
    found = digits.cast(to)
    found.validate(full=True)
    return found


def converted(cursor: AvroCursor, values: pa.Array, convert: Callable[[pa.Array], pa.Array], reason: str) -> pa.Array:
    """Convert values; those that can't be are null, and fail."""
    try:
        return convert(values)
    except pa.ArrowInvalid:
        pass
    good = np.array([_works(values.slice(row, 1), convert) for row in range(len(values))], np.bool_)
    cursor.fail(~good, reason)
    places = pa.array(np.cumsum(good) - 1, mask=~good)
    return convert(values.filter(pa.array(good))).take(places)


def _works(value: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> bool:
    try:
        convert(pc.take(value, pa.array([0])))
    except pa.ArrowInvalid:
        return False
    return True


def _first(found: npt.NDArray[Any]) -> int:
    return int(found[0]) if len(found) else 0
