"""Rows as values of Avro by a schema that holds them, a column at a time.

Every value is first one or more columns of bytes, which are then joined row by row.
"""

import uuid
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.avro.avro_columns import is_struct_of_members, member_number
from streamapp_core.avro.avro_defaults import default_value, encode_number
from streamapp_core.avro.avro_schema import AvroKind, AvroLogical, AvroType
from streamapp_core.avro.avro_targets import written_branch
from streamapp_core.data_types import MAX_PRECISION, Column, DataType
from streamapp_core.schema import Schema
from streamapp_systems.protocols import StreamSystemError

_END = pa.scalar(b"\x00", pa.binary())
_JOINED = pa.scalar(b"", pa.binary())
_LONGEST_NUMBER = 10
_DECIMAL_BYTES = 16
_MILLIS = (AvroLogical.TIMESTAMP_MILLIS, AvroLogical.LOCAL_TIMESTAMP_MILLIS)
_MICROS = 1_000
_UUID = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"

Writer = Callable[[pa.Array], pa.Array]
"""Returns the bytes of each of some values."""


class AvroRowWriter:
    """Writes rows with some columns by a schema that holds them."""

    def __init__(self, record: AvroType, schema: Schema) -> None:
        self._write = _record_writer(record, schema.columns, "")

    def write(self, rows: pa.Table, header: bytes = b"") -> pa.BinaryArray:
        """Return the record of each row, behind a header.

        Raises:
            StreamSystemError: the schema has no form for a value.
        """
        batches = rows.combine_chunks().to_batches()
        encoded = [self._write(batch.columns, len(batch), header) for batch in batches]
        return pa.chunked_array(encoded, pa.binary()).combine_chunks()


def _record_writer(
    record: AvroType, columns: Sequence[Column], path: str
) -> Callable[[Sequence[pa.Array], int, bytes], pa.Array]:
    """Return what writes columns in the order of a record's fields; one that no column fills has its default, or null.

    It takes the columns, the number of their rows, and what stands before each record.
    """
    places = {column.name: number for number, column in enumerate(columns)}
    fields: list[tuple[int, Writer] | pa.Scalar] = []
    for field in record.fields:
        place = places.get(field.name)
        if place is not None:
            fields.append((place, _writer(field.type, columns[place].type, f"{path}{field.name}")))
        else:
            default = default_value(field)
            fields.append(pa.scalar(_null_of(field.type) if default is None else default, pa.binary()))

    def write(arrays: Sequence[pa.Array], count: int, header: bytes) -> pa.Array:
        parts = [part[1](arrays[part[0]]) if isinstance(part, tuple) else part for part in fields]
        return _join(pa.repeat(pa.scalar(header, pa.binary()), count), *parts)

    return write


def _null_of(avro: AvroType) -> bytes | None:
    numbers = [number for number, part in enumerate(avro.parts) if part.kind is AvroKind.NULL]
    return encode_number(numbers[0]) if numbers else (b"" if avro.kind is AvroKind.NULL else None)


def _join(*parts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*parts, _JOINED)


def _writer(avro: AvroType, to: DataType, path: str) -> Writer:
    """Return what writes values of a column, which may be null."""
    if avro.kind is not AvroKind.UNION:
        return _nullable(_value_writer(avro, to, path), None, _advice(avro, path))
    null = _null_of(avro)
    if is_struct_of_members(avro, to):
        return _nullable(_members_writer(avro, to, path, null), null, _advice(avro, path))
    number = written_branch(avro, to)
    assert number is not None, "the schema holds all columns, which the planner checks"
    write, prefix = _value_writer(avro.parts[number], to, path), pa.scalar(encode_number(number), pa.binary())
    return _nullable(lambda values: _join(prefix, write(values)), null, _advice(avro, path))


def _advice(avro: AvroType, path: str) -> str:
    return (
        f"{path} is null, and its type in the schema, {avro}, has no null. Give it a value in a map before: "
        f"coalesce({path}, ...), or write by a schema where it is a union with null"
    )


def _nullable(write: Writer, null: bytes | None, refusal: str) -> Writer:
    """Return what writes values of which some are null."""

    def write_known(values: pa.Array) -> pa.Array:
        if not values.null_count:
            return write(values)
        if null is None:
            raise StreamSystemError(refusal)
        known = values.is_valid().to_numpy(zero_copy_only=False)
        places = pa.array(np.cumsum(known) - 1, mask=~known)
        return pc.fill_null(write(values.drop_null()).take(places), pa.scalar(null, pa.binary()))

    return write_known


def _members_writer(union: AvroType, to: DataType, path: str, null: bytes | None) -> Writer:
    """Return what writes structs with a field for each branch, of which one has a value, or none if there is a null."""
    numbers = [union.parts.index(union.branches[member_number(part.name) or 0]) for part in to.fields]
    writers = [
        _value_writer(union.parts[number], part.type, f"{path}.{part.name}")
        for number, part in zip(numbers, to.fields, strict=True)
    ]

    def write(values: pa.Array) -> pa.Array:
        parts = values.flatten()
        known = np.array([part.is_valid().to_numpy(zero_copy_only=False) for part in parts])
        counts = known.sum(0)
        if (counts > 1).any() or (null is None and not counts.all()):
            found = "several members" if (counts > 1).any() else "no member"
            raise StreamSystemError(
                f"{path} has {found}, and a value of {union} is one of its branches: let one field of the struct have "
                "a value, the others null"
            )
        encoded = [pa.array([null or b""], pa.binary())]
        sources = np.zeros(len(values), np.int64)
        at = 1
        for number, part, write_part, given in zip(numbers, parts, writers, known, strict=True):
            prefix = pa.scalar(encode_number(number), pa.binary())
            encoded.append(_join(prefix, write_part(part.drop_null())))
            sources[given] = at + np.arange(int(given.sum()))
            at += len(encoded[-1])
        return pa.concat_arrays(encoded).take(pa.array(sources))

    return write


def _value_writer(avro: AvroType, to: DataType, path: str) -> Writer:
    """Return what writes values without nulls."""
    match avro.kind:
        case AvroKind.RECORD:
            record = _record_writer(avro, to.fields, f"{path}.")
            return lambda values: record(values.flatten(), len(values), b"")
        case AvroKind.ARRAY:
            element = _writer(avro.parts[0], to.element, f"{path}[]")
            return lambda values: _blocks(values.value_lengths(), element(values.flatten()))
        case AvroKind.MAP:
            return _map_writer(_writer(avro.parts[0], to.value, f"{path}{{}}"))
        case AvroKind.ENUM:
            return _enum_writer(avro, path)
        case _:
            return lambda values: _encode_plain(values, avro, path)


def _map_writer(item: Writer) -> Writer:
    def write(values: pa.Array) -> pa.Array:
        kind = values.type
        entries = values.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        keys, items = entries.flatten().flatten()
        return _blocks(entries.value_lengths(), _join(_with_length(keys.cast(pa.binary())), item(items)))

    return write


def _enum_writer(avro: AvroType, path: str) -> Writer:
    symbols = pa.array(avro.symbols, pa.string())

    def write(values: pa.Array) -> pa.Array:
        places = pc.index_in(values, symbols)
        if places.null_count:
            unknown = values.filter(places.is_null())[0]
            raise StreamSystemError(f"{path}: {avro} has no symbol `{unknown}`: there are {', '.join(avro.symbols)}")
        return _numbers(places.cast(pa.int64()).to_numpy())

    return write


def _encode_plain(values: pa.Array, avro: AvroType, path: str) -> pa.Array:  # noqa: PLR0911 - one for each type
    kind = values.type
    match avro.kind:
        case AvroKind.BOOLEAN:
            return _fixed(values.to_numpy(zero_copy_only=False).astype(np.uint8))
        case AvroKind.FLOAT:
            return _fixed(values.to_numpy())
        case AvroKind.DOUBLE:
            return _fixed(values.cast(pa.float64()).to_numpy())
        case AvroKind.INT | AvroKind.LONG:
            numbers = (values.cast(pa.int32()) if pa.types.is_date(kind) else values).cast(pa.int64()).to_numpy()
            return _numbers(numbers // _MICROS if pa.types.is_timestamp(kind) and avro.logical in _MILLIS else numbers)
        case AvroKind.FIXED:
            return _fixed_bytes(values, avro, path)
    if pa.types.is_decimal(kind):
        return _with_length(_decimal_digits(values, avro.scale))
    if avro.logical is AvroLogical.UUID:
        _check_uuids(values, path)
    return _with_length(values.cast(pa.binary()))


def _fixed_bytes(values: pa.Array, avro: AvroType, path: str) -> pa.Array:
    if avro.logical is AvroLogical.DECIMAL:
        return _decimal_digits(values, avro.scale, avro.size)
    if avro.logical is AvroLogical.UUID:
        _check_uuids(values, path)
        return pa.array([uuid.UUID(value).bytes for value in values.to_pylist()], pa.binary())
    lengths = pc.binary_length(values)
    if pc.any(pc.not_equal(lengths, avro.size)).as_py():
        wrong = lengths.filter(pc.not_equal(lengths, avro.size))[0]
        raise StreamSystemError(f"{path}: {avro} has {avro.size} bytes, and a value has {wrong}")
    return values


def _check_uuids(values: pa.Array, path: str) -> None:
    wrong = pc.invert(pc.match_substring_regex(values, _UUID))
    if pc.any(wrong).as_py():
        raise StreamSystemError(f"{path}: `{values.filter(wrong)[0]}` is no UUID")


def _fixed(values: npt.NDArray[np.generic]) -> pa.Array:
    width = values.dtype.itemsize
    offsets = np.arange(len(values) + 1, dtype=np.int32) * width
    data = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _numbers(values: npt.NDArray[np.int64]) -> pa.Array:
    """Return whole numbers in zigzag and of variable length."""
    left = ((values << 1) ^ (values >> 63)).view(np.uint64)
    parts = np.empty((len(values), _LONGEST_NUMBER), np.uint8)
    lengths = np.ones(len(values), np.int32)
    width = 0
    while width == 0 or left.any():
        if width:
            lengths += left != 0
        parts[:, width] = (left & np.uint64(0x7F)).astype(np.uint8)
        left >>= np.uint64(7)
        parts[:, width] |= (left != 0).astype(np.uint8) << 7
        width += 1
    return _cut(parts[:, :width], lengths)


def _cut(parts: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int32]) -> pa.Array:
    """Return the first bytes of each row."""
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    data = np.ascontiguousarray(parts[np.arange(parts.shape[1]) < lengths[:, None]])
    return pa.Array.from_buffers(pa.binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _with_length(values: pa.Array) -> pa.Array:
    return _join(_numbers(pc.binary_length(values).cast(pa.int64()).to_numpy()), values)


def _decimal_digits(values: pa.Array, scale: int, size: int | None = None) -> pa.Array:
    """Return the digits of decimals as whole numbers, the highest byte first.

    They are in so many bytes, or in as few as hold their sign.
    """
    wide = values.cast(pa.decimal128(MAX_PRECISION, scale))
    start = wide.offset * _DECIMAL_BYTES
    stored = np.frombuffer(wide.buffers()[1], np.uint8)[start : start + len(wide) * _DECIMAL_BYTES]
    digits = stored.reshape(-1, _DECIMAL_BYTES)
    sign = np.where(digits[:, -1:] & 0x80, 255, 0).astype(np.uint8)
    if size is not None:
        wider = np.concatenate((digits, np.repeat(sign, max(size - _DECIMAL_BYTES, 0), 1)), 1)[:, :size]
        return _cut(wider[:, ::-1], np.full(len(digits), size, np.int32))
    differs = digits != sign
    lengths = np.where(differs.any(1), _DECIMAL_BYTES - np.argmax(differs[:, ::-1], 1), 1)
    highest = digits[np.arange(len(digits)), lengths - 1]
    lengths += ((highest ^ sign[:, 0]) & 0x80 != 0) & (lengths < _DECIMAL_BYTES)
    reversed_digits = digits[:, ::-1]
    kept = np.arange(_DECIMAL_BYTES) >= (_DECIMAL_BYTES - lengths)[:, None]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    data = np.ascontiguousarray(reversed_digits[kept])
    return pa.Array.from_buffers(pa.binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _blocks(lengths: pa.Array, elements: pa.Array) -> pa.Array:
    """Return arrays of some lengths with these elements, in one block each."""
    counts = lengths.cast(pa.int64()).to_numpy()
    starts = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
    joined = pc.binary_join(pa.ListArray.from_arrays(starts, elements), _JOINED)
    filled = _join(_numbers(counts), joined, _END)
    return pc.if_else(pa.array(counts > 0), filled, _END)
