"""Rows as messages of Protobuf, by the file that `core.protobuf.proto_writing` makes of their columns."""

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from ptars import HandlerPool

from streamapp_systems.protocols import StreamSystemError

_JOINED = pa.scalar(b"", pa.binary())
_MICROS = 1_000_000
_NANOS = 1_000
_PARTS_OF_TIME = (("seconds", pa.int64()), ("nanos", pa.int32()))
_PLAIN = {
    pa.bool_(): FieldDescriptorProto.TYPE_BOOL,
    pa.int32(): FieldDescriptorProto.TYPE_INT32,
    pa.int64(): FieldDescriptorProto.TYPE_INT64,
    pa.float32(): FieldDescriptorProto.TYPE_FLOAT,
    pa.float64(): FieldDescriptorProto.TYPE_DOUBLE,
    pa.string(): FieldDescriptorProto.TYPE_STRING,
    pa.binary(): FieldDescriptorProto.TYPE_BYTES,
}


def encode_protobuf_rows(rows: pa.Table, header: bytes = b"") -> pa.BinaryArray:
    """Return the message of each row, behind a header.

    Raises:
        StreamSystemError: a value has no form in Protobuf.
    """
    encoded: list[pa.BinaryArray] = []
    for batch in rows.combine_chunks().to_batches():
        columns = [_written(column, name) for name, column in zip(rows.column_names, batch.columns, strict=True)]
        written = pa.RecordBatch.from_arrays(columns, names=rows.column_names)
        values = _handler(written.schema).record_batch_to_array(written)
        if header:
            values = pc.binary_join_element_wise(pa.scalar(header, pa.binary()), values, _JOINED)
        encoded.append(values)
    return pa.chunked_array(encoded, pa.binary()).combine_chunks()


def _written(values: pa.Array, place: str) -> pa.Array:
    """Return values as columns that have a form in Protobuf."""
    kind = values.type
    if pa.types.is_timestamp(kind):
        return _parts_of_time(values)
    if pa.types.is_struct(kind):
        if values.null_count:  # what is inside of a null is none that could be refused
            known = values.is_valid().to_numpy(zero_copy_only=False)
            return _written(values.drop_null(), place).take(pa.array(np.cumsum(known) - 1, mask=~known))
        parts = [_written(part, f"{place}.{field.name}") for part, field in zip(values.flatten(), kind, strict=True)]
        fields = [pa.field(field.name, part.type) for field, part in zip(kind, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields)
    if pa.types.is_list(kind):
        _refuse_nulls(values, place, f"coalesce({place}, array())")
        elements = values.flatten()
        _refuse_nulls(elements, f"an element of {place}", f"filter({place}, x -> x is not null)")
        return pa.ListArray.from_arrays(_starts(values), _written(elements, f"{place}[]"))
    if pa.types.is_map(kind):
        _refuse_nulls(values, place, f"coalesce({place}, map())")
        entries = values.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))
        keys, items = entries.flatten().flatten()
        _refuse_nulls(items, f"a value of {place}", f"map_filter({place}, (k, v) -> v is not null)")
        return pa.MapArray.from_arrays(_starts(entries), _written(keys, place), _written(items, f"{place}{{}}"))
    return values.cast(pa.int32()) if pa.types.is_int8(kind) or pa.types.is_int16(kind) else values


def _refuse_nulls(values: pa.Array, what: str, instead: str) -> None:
    if values.null_count:
        raise StreamSystemError(
            f"{what} is null, which arrays and maps of Protobuf can't be or hold: it would be read as another value. "
            f"Make one of it in a map before: {instead}"
        )


def _starts(lists: pa.Array) -> pa.Array:
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())


def _parts_of_time(values: pa.Array) -> pa.Array:
    """Return timestamps as the fields of Protobuf's: whole seconds, and the nanoseconds after them."""
    micros = pc.fill_null(values.cast(pa.int64()), 0).to_numpy()
    parts = [pa.array(micros // _MICROS, pa.int64()), pa.array(micros % _MICROS * _NANOS, pa.int32())]
    return pa.StructArray.from_arrays(parts, fields=[pa.field(*part) for part in _PARTS_OF_TIME], mask=values.is_null())


@lru_cache(maxsize=100)
def _handler(schema: pa.Schema) -> Any:  # noqa: ANN401 - of ptars, which has no types
    file = FileDescriptorProto(name="written.proto", package="written", syntax="proto3")
    _add_message(file, schema)
    pool = DescriptorPool()
    pool.Add(file)
    message = pool.FindMessageTypeByName("written.M0")
    return HandlerPool([message.file]).get_for_message(message)


def _add_message(file: FileDescriptorProto, fields: pa.Schema | pa.StructType) -> str:
    """Add a message whose fields are numbered by their places, single values all optional."""
    message = file.message_type.add(name=f"M{len(file.message_type)}")
    for number, field in enumerate(fields, 1):
        added = message.field.add(name=field.name, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
        kind = field.type
        if pa.types.is_list(kind):
            added.label, kind = FieldDescriptorProto.LABEL_REPEATED, kind.value_type
        if pa.types.is_map(kind):
            added.label = FieldDescriptorProto.LABEL_REPEATED
            added.type, added.type_name = FieldDescriptorProto.TYPE_MESSAGE, _add_entry(file, message, kind, number)
        else:
            _set_type(file, added, kind)
            if kind in _PLAIN and added.label == FieldDescriptorProto.LABEL_OPTIONAL:
                added.proto3_optional, added.oneof_index = True, len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}_")
    return f".written.{message.name}"


def _set_type(file: FileDescriptorProto, field: FieldDescriptorProto, kind: pa.DataType) -> None:
    if pa.types.is_struct(kind):
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, _add_message(file, kind)
    else:
        field.type = _PLAIN[kind]


def _add_entry(file: FileDescriptorProto, message: DescriptorProto, kind: pa.MapType, number: int) -> str:
    field = message.field[number - 1]
    name = "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    for place, (part, inner) in enumerate((("key", kind.key_type), ("value", kind.item_type)), 1):
        _set_type(file, entry.field.add(name=part, number=place, label=FieldDescriptorProto.LABEL_OPTIONAL), inner)
    return f".written.{message.name}.{name}"
