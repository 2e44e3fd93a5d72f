"""Rows as values of Avro, by the schema that `core.avro.avro_writing` makes of their columns, a column at a time.

Every value is first one or more columns of bytes, which are then joined row by row.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_NULL, _VALUE, _END = (pa.scalar(byte, pa.binary()) for byte in (b"\x00", b"\x02", b"\x00"))
_JOINED = pa.scalar(b"", pa.binary())
_LONGEST_NUMBER = 10
_DECIMAL_BYTES = 16
_WIDEST_DECIMAL = 38


def encode_avro_rows(rows: pa.Table, header: bytes = b"") -> list[bytes]:
    """Return the record of each row, behind a header."""
    return [value for batch in rows.combine_chunks().to_batches() for value in _batch(batch, header).to_pylist()]


def _batch(rows: pa.RecordBatch, header: bytes) -> pa.Array:
    parts = [_nullable(column) for column in rows.columns]
    first = pa.array([header] * len(rows), pa.binary()) if not parts else pa.scalar(header, pa.binary())
    return _join(first, *parts)


def _join(*parts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*parts, _JOINED)


def _nullable(values: pa.Array) -> pa.Array:
    """Return values of a union of null and their type."""
    if not values.null_count:
        return _join(_VALUE, _encode(values))
    known = values.is_valid()
    places = pa.array(np.cumsum(known.to_numpy(zero_copy_only=False)) - 1, mask=~known.to_numpy(zero_copy_only=False))
    return pc.fill_null(_join(_VALUE, _encode(values.drop_null())).take(places), _NULL)


def _encode(values: pa.Array) -> pa.Array:
    """Return the bytes of values without nulls."""
    kind = values.type
    if pa.types.is_struct(kind):
        return _join(pa.array([b""] * len(values), pa.binary()), *map(_nullable, values.flatten()))
    if pa.types.is_list(kind):
        return _blocks(values.value_lengths(), _nullable(values.flatten()))
    if pa.types.is_map(kind):
        entries = values.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        keys, items = entries.flatten().flatten()
        return _blocks(entries.value_lengths(), _join(_encode(keys), _nullable(items)))
    return _encode_plain(values, kind)


def _encode_plain(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(kind):
        return _fixed(values.to_numpy(zero_copy_only=False).astype(np.uint8))
    if pa.types.is_floating(kind):
        return _fixed(values.to_numpy())
    if pa.types.is_decimal(kind):
        return _with_length(_decimal_digits(values))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _with_length(values.cast(pa.binary()))
    if pa.types.is_date(kind):
        values = values.cast(pa.int32())
    return _numbers(values.cast(pa.int64()).to_numpy())


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


def _decimal_digits(values: pa.Array) -> pa.Array:
    """Return the digits of decimals as whole numbers, the highest byte first, in as few bytes as hold their sign."""
    wide = values.cast(pa.decimal128(_WIDEST_DECIMAL, values.type.scale))
    start = wide.offset * _DECIMAL_BYTES
    stored = np.frombuffer(wide.buffers()[1], np.uint8)[start : start + len(wide) * _DECIMAL_BYTES]
    digits = stored.reshape(-1, _DECIMAL_BYTES)
    sign = np.where(digits[:, -1:] & 0x80, 255, 0).astype(np.uint8)
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
