"""The steps by which the native library reads records of Avro: one for each type of a writer's schema.

They read what `avro_decoding` does, and are sure of less.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import pyarrow as pa

from streamapp_core.avro.avro_columns import is_struct_of_members, member_number
from streamapp_core.avro.avro_schema import AvroKind, AvroLogical, AvroType
from streamapp_core.data_types import Column, DataType
from streamapp_core.schema import STRING, TypeKind
from streamapp_systems.native.column_shapes import MadeColumn
from streamapp_systems.native.decoded_messages import NativeDecodingError

ANY_SIZE = -1
"""Of bytes that their length stands before."""


class StepKind(IntEnum):
    """`enum avro_kind`."""

    NULL = 0
    PASS_BYTES = 1
    PASS_NUMBER = 2
    PASS_SPAN = 3
    BOOLEAN = 4
    WHOLE_INT32 = 5
    WHOLE_INT64 = 6
    WHOLE_FLOAT = 7
    WHOLE_DOUBLE = 8
    WHOLE_DECIMAL = 9
    FLOAT = 10
    FLOAT_DOUBLE = 11
    DOUBLE = 12
    ENUM = 13
    TEXT = 14
    BINARY = 15
    UUID = 16
    DECIMAL = 17
    UNION = 18
    RECORD = 19
    ARRAY = 20
    MAP = 21


_PLAIN = {
    (AvroKind.BOOLEAN, pa.bool_()): StepKind.BOOLEAN,
    (AvroKind.FLOAT, pa.float32()): StepKind.FLOAT,
    (AvroKind.FLOAT, pa.float64()): StepKind.FLOAT_DOUBLE,
    (AvroKind.DOUBLE, pa.float64()): StepKind.DOUBLE,
    (AvroKind.ENUM, pa.string()): StepKind.ENUM,
    (AvroKind.STRING, pa.string()): StepKind.TEXT,
    (AvroKind.BYTES, pa.string()): StepKind.TEXT,
    (AvroKind.STRING, pa.binary()): StepKind.BINARY,
    (AvroKind.BYTES, pa.binary()): StepKind.BINARY,
    (AvroKind.FIXED, pa.binary()): StepKind.BINARY,
}
_BOUNDS = {AvroKind.INT: (-(1 << 31), (1 << 31) - 1), AvroKind.LONG: (-(1 << 63), (1 << 63) - 1)}
_DIGITS = {AvroKind.INT: 10, AvroKind.LONG: 19}
_EXACT = {pa.float32(): 1 << 24, pa.float64(): 1 << 53}
"""Up to which all whole numbers are such numbers."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The years 1 to 9999, of which there are dates and timestamps."""
_SECONDS_A_DAY, _MICROS = 86_400, 1_000_000
_UNITS = {
    (AvroLogical.TIMESTAMP_MILLIS, pa.timestamp("us", tz="UTC")): 1_000,
    (AvroLogical.TIMESTAMP_MICROS, pa.timestamp("us", tz="UTC")): 1_000_000,
    (AvroLogical.LOCAL_TIMESTAMP_MILLIS, pa.timestamp("us")): 1_000,
    (AvroLogical.LOCAL_TIMESTAMP_MICROS, pa.timestamp("us")): 1_000_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A step, and those below it; `column` is None where what is read is no column's."""

    kind: StepKind
    column: MadeColumn | None = None
    below: Sequence["PlannedStep"] = ()
    size: int = ANY_SIZE
    low: int = 0
    high: int = 0
    factor: int = 1
    limit: int = 0
    symbols: Sequence[str] = ()


def plan_record(record: AvroType, columns: Sequence[Column], column: MadeColumn) -> PlannedStep:
    """Return the step of a record whose fields go to the columns of their names; the other columns are null.

    Raises:
        NativeDecodingError: the library can't read such records.
    """
    wanted = {to.name: (to.type, made) for to, made in zip(columns, column.children, strict=True)}
    fields = [_value(field.type, *wanted.pop(field.name, (None, None))) for field in record.fields]
    absent = [PlannedStep(kind=StepKind.NULL, column=made) for _, made in wanted.values()]
    return PlannedStep(kind=StepKind.RECORD, column=column, below=[*fields, *absent])


def _value(avro: AvroType, to: DataType | None, column: MadeColumn | None) -> PlannedStep:
    if avro.kind is AvroKind.NULL:
        return PlannedStep(kind=StepKind.NULL, column=column)
    if avro.kind is AvroKind.UNION:
        return PlannedStep(kind=StepKind.UNION, below=list(_branches(avro, to, column)))
    return _passed(avro) if to is None or column is None else _read(avro, to, column)


def _read(avro: AvroType, to: DataType, column: MadeColumn) -> PlannedStep:
    match avro.kind:
        case AvroKind.RECORD if to.kind is TypeKind.STRUCT:
            return plan_record(avro, to.fields, column)
        case AvroKind.ARRAY if to.kind is TypeKind.ARRAY and avro.parts[0].least_bytes:
            element = _value(avro.parts[0], to.element, column.children[0])
            return PlannedStep(kind=StepKind.ARRAY, column=column, below=[element])
        case AvroKind.MAP if to.kind is TypeKind.MAP and to.key == STRING:
            entry = column.children[0]
            key = PlannedStep(kind=StepKind.TEXT, column=entry.children[0])
            parts = [key, _value(avro.parts[0], to.value, entry.children[1])]
            below = [PlannedStep(kind=StepKind.RECORD, column=entry, below=parts)]
            return PlannedStep(kind=StepKind.MAP, column=column, below=below)
        case AvroKind.INT | AvroKind.LONG:
            return _whole(avro, column)
        case _:
            return _plain(avro, column)


def _passed(avro: AvroType) -> PlannedStep:
    """Return the step over values that no column has."""
    match avro.kind:
        case AvroKind.RECORD:
            return PlannedStep(kind=StepKind.RECORD, below=[_value(field.type, None, None) for field in avro.fields])
        case AvroKind.ARRAY if avro.parts[0].least_bytes:
            return PlannedStep(kind=StepKind.ARRAY, below=[_value(avro.parts[0], None, None)])
        case AvroKind.MAP:
            parts = [PlannedStep(kind=StepKind.PASS_SPAN), _value(avro.parts[0], None, None)]
            return PlannedStep(kind=StepKind.MAP, below=[PlannedStep(kind=StepKind.RECORD, below=parts)])
        case AvroKind.INT | AvroKind.LONG | AvroKind.ENUM:
            return PlannedStep(kind=StepKind.PASS_NUMBER)
        case AvroKind.STRING | AvroKind.BYTES:
            return PlannedStep(kind=StepKind.PASS_SPAN)
        case AvroKind.ARRAY:
            raise NativeDecodingError(f"{avro} may have any number of elements")
        case _:
            return PlannedStep(kind=StepKind.PASS_BYTES, size=avro.least_bytes)


def _branches(union: AvroType, to: DataType | None, column: MadeColumn | None) -> Iterator[PlannedStep]:
    members = to is not None and is_struct_of_members(union, to)
    for part in union.parts:
        if not members or to is None or column is None or part not in union.branches:
            yield _value(part, to, column)
        else:
            yield _member(part, union.branches.index(part), to, column)


def _member(branch: AvroType, number: int, to: DataType, column: MadeColumn) -> PlannedStep:
    """Return the step of one branch of a union into its field of a struct; the others are null."""
    fields = list(zip(to.fields, column.children, strict=True))
    own = next((place for place, (part, _) in enumerate(fields) if member_number(part.name) == number), None)
    value = _value(branch, None, None) if own is None else _value(branch, fields[own][0].type, fields[own][1])
    others = [PlannedStep(kind=StepKind.NULL, column=made) for place, (_, made) in enumerate(fields) if place != own]
    return PlannedStep(kind=StepKind.RECORD, column=column, below=[value, *others])


def _whole(avro: AvroType, column: MadeColumn) -> PlannedStep:
    kind, (low, high) = column.kind, _BOUNDS[avro.kind]
    if (avro.logical, kind) in _UNITS:
        second = _UNITS[avro.logical, kind]
        low, high = (day * _SECONDS_A_DAY * second for day in (_FIRST_DAY, _LAST_DAY + 1))
        return PlannedStep(kind=StepKind.WHOLE_INT64, column=column, size=_MICROS // second, low=low, high=high - 1)
    if kind == pa.date32() and avro.logical is AvroLogical.DATE:
        return PlannedStep(kind=StepKind.WHOLE_INT32, column=column, low=_FIRST_DAY, high=_LAST_DAY)
    if kind == pa.int64() or (kind == pa.int32() and avro.kind is AvroKind.INT):
        step = StepKind.WHOLE_INT64 if kind == pa.int64() else StepKind.WHOLE_INT32
        return PlannedStep(kind=step, column=column, size=1, low=low, high=high)
    if kind in _EXACT:
        step = StepKind.WHOLE_FLOAT if kind == pa.float32() else StepKind.WHOLE_DOUBLE
        return PlannedStep(kind=step, column=column, low=max(low, -_EXACT[kind]), high=min(high, _EXACT[kind]))
    if pa.types.is_decimal128(kind) and kind.precision - kind.scale >= _DIGITS[avro.kind] and kind.scale >= 0:
        return PlannedStep(kind=StepKind.WHOLE_DECIMAL, column=column, low=low, high=high, factor=10**kind.scale)
    raise _unfit(avro, kind)


def _plain(avro: AvroType, column: MadeColumn) -> PlannedStep:
    kind = column.kind
    size = avro.size if avro.kind is AvroKind.FIXED else ANY_SIZE
    if pa.types.is_decimal128(kind) and avro.logical is AvroLogical.DECIMAL:
        return _decimal(avro, column, size)
    if (avro.kind, avro.logical, kind) == (AvroKind.FIXED, AvroLogical.UUID, pa.string()):
        return PlannedStep(kind=StepKind.UUID, column=column)
    step = _PLAIN.get((avro.kind, kind))
    if step is None:
        raise _unfit(avro, kind)
    return PlannedStep(kind=step, column=column, size=size, symbols=avro.symbols)


def _decimal(avro: AvroType, column: MadeColumn, size: int) -> PlannedStep:
    kind = column.kind
    if not 0 <= avro.scale <= kind.scale <= kind.precision:
        raise _unfit(avro, kind)
    factor = 10 ** (kind.scale - avro.scale)
    limit = (10**kind.precision - 1) // factor
    return PlannedStep(kind=StepKind.DECIMAL, column=column, size=size, factor=factor, limit=limit)


def _unfit(avro: AvroType, kind: pa.DataType) -> NativeDecodingError:
    return NativeDecodingError(f"there is no native decoding of {avro} as {kind}")
