"""The steps by which the native library reads messages of Protobuf: one for each field that a column has.

They read what `proto_decoding` does, and are sure of less.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from streamapp_core.data_types import Column, DataType
from streamapp_core.protobuf.proto_columns import TIMESTAMP_MESSAGE, WRAPPERS, map_entry
from streamapp_core.schema import TypeKind
from streamapp_systems.native.column_shapes import MadeColumn
from streamapp_systems.native.decoded_messages import NativeDecodingError
from streamapp_systems.protobuf.proto_projection import VALUE, choices_of


class FieldKind(IntEnum):
    """`enum proto_kind`."""

    NOTHING = 0
    PASS = 1
    PASS_TEXT = 2
    BOOLEAN = 3
    INT32 = 4
    INT64 = 5
    DECIMAL = 6
    FLOAT = 7
    FLOAT_DOUBLE = 8
    DOUBLE = 9
    ENUM = 10
    TEXT = 11
    BINARY = 12
    TIMESTAMP = 13
    MESSAGE = 14
    WRAPPER = 15
    ENTRY = 16


class WireForm(IntEnum):
    """`enum proto_form`."""

    BYTES = 0
    BOOL = 1
    INT32 = 2
    INT64 = 3
    UINT32 = 4
    UINT64 = 5
    SINT32 = 6
    SINT64 = 7
    FIXED32 = 8
    FIXED64 = 9
    SFIXED32 = 10
    SFIXED64 = 11

    @property
    def wire(self) -> int:
        """`enum wire`: how such a value stands on the wire."""
        return _WIRES.get(self, 0)


_WIRES = {
    WireForm.BYTES: 2,
    **dict.fromkeys((WireForm.FIXED32, WireForm.SFIXED32), 5),
    **dict.fromkeys((WireForm.FIXED64, WireForm.SFIXED64), 1),
}


class Absence(IntEnum):
    """`enum proto_absence`."""

    NOTHING = 0
    NULL = 1
    DEFAULT = 2
    EMPTY = 3


_FORMS: Mapping[int, WireForm] = {
    FieldDescriptor.TYPE_BOOL: WireForm.BOOL,
    FieldDescriptor.TYPE_INT32: WireForm.INT32,
    FieldDescriptor.TYPE_INT64: WireForm.INT64,
    FieldDescriptor.TYPE_UINT32: WireForm.UINT32,
    FieldDescriptor.TYPE_UINT64: WireForm.UINT64,
    FieldDescriptor.TYPE_SINT32: WireForm.SINT32,
    FieldDescriptor.TYPE_SINT64: WireForm.SINT64,
    FieldDescriptor.TYPE_FIXED32: WireForm.FIXED32,
    FieldDescriptor.TYPE_FIXED64: WireForm.FIXED64,
    FieldDescriptor.TYPE_SFIXED32: WireForm.SFIXED32,
    FieldDescriptor.TYPE_SFIXED64: WireForm.SFIXED64,
    FieldDescriptor.TYPE_FLOAT: WireForm.FIXED32,
    FieldDescriptor.TYPE_DOUBLE: WireForm.FIXED64,
    FieldDescriptor.TYPE_ENUM: WireForm.INT32,
    FieldDescriptor.TYPE_STRING: WireForm.BYTES,
    FieldDescriptor.TYPE_BYTES: WireForm.BYTES,
    FieldDescriptor.TYPE_MESSAGE: WireForm.BYTES,
}
_INTS = (
    FieldDescriptor.TYPE_INT32,
    FieldDescriptor.TYPE_SINT32,
    FieldDescriptor.TYPE_SFIXED32,
    FieldDescriptor.TYPE_ENUM,
)
_DIGITS: Mapping[int, int] = {
    FieldDescriptor.TYPE_INT32: 10,
    FieldDescriptor.TYPE_SINT32: 10,
    FieldDescriptor.TYPE_SFIXED32: 10,
    FieldDescriptor.TYPE_UINT32: 10,
    FieldDescriptor.TYPE_FIXED32: 10,
    FieldDescriptor.TYPE_INT64: 19,
    FieldDescriptor.TYPE_SINT64: 19,
    FieldDescriptor.TYPE_SFIXED64: 19,
    FieldDescriptor.TYPE_UINT64: 20,
    FieldDescriptor.TYPE_FIXED64: 20,
}
"""Those of whole numbers."""
_PLAIN = {
    (FieldDescriptor.TYPE_BOOL, pa.bool_()): FieldKind.BOOLEAN,
    (FieldDescriptor.TYPE_FLOAT, pa.float32()): FieldKind.FLOAT,
    (FieldDescriptor.TYPE_FLOAT, pa.float64()): FieldKind.FLOAT_DOUBLE,
    (FieldDescriptor.TYPE_DOUBLE, pa.float64()): FieldKind.DOUBLE,
    (FieldDescriptor.TYPE_ENUM, pa.string()): FieldKind.ENUM,
    (FieldDescriptor.TYPE_STRING, pa.string()): FieldKind.TEXT,
    (FieldDescriptor.TYPE_BYTES, pa.binary()): FieldKind.BINARY,
    **{(kind, pa.int32()): FieldKind.INT32 for kind in _INTS},
}
_MOST_FIELDS, _MOST_ONEOFS = 256, 63
_LARGEST_LONG = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedField:
    """A step, and those below it, by their numbers; `column` and `list_column` are None where there is none.

    `standard` is a number as on the wire; a text that stands for an absent one is the only one of `texts`.
    """

    kind: FieldKind
    form: WireForm = WireForm.BYTES
    number: int = 0
    column: MadeColumn | None = None
    list_column: MadeColumn | None = None
    oneof: int = 0
    absence: Absence = Absence.NOTHING
    standard: int = 0
    factor: int = 1
    below: Sequence["PlannedField"] = ()
    texts: Sequence[tuple[int, bytes]] = ()


def plan_message(message: Descriptor, columns: Sequence[Column], made: MadeColumn) -> PlannedField:
    """Return the step of a message whose fields go to the columns of their names, which are those below `made`.

    Raises:
        NativeDecodingError: the library can't read such messages.
    """
    choices = choices_of(message, columns)
    oneofs = {field.number: place for place, choice in enumerate(choices, 1) for field in choice}
    fields = [
        _column_field(message.fields_by_name.get(column.name), column.type, child)
        for column, child in zip(columns, made.children, strict=True)
    ]
    numbers = {field.number for field in fields}
    others = [_passed(field) for choice in choices for field in choice if field.number not in numbers]
    below = [replace(field, oneof=oneofs.get(field.number, 0)) for field in (*fields, *others)]
    return PlannedField(kind=FieldKind.MESSAGE, column=made, below=_by_number(below))


def _by_number(fields: Sequence[PlannedField]) -> Sequence[PlannedField]:
    if len(fields) > _MOST_FIELDS or any(field.oneof > _MOST_ONEOFS for field in fields):
        raise NativeDecodingError("a message has too many fields")
    return sorted(fields, key=lambda field: field.number)


def _column_field(field: FieldDescriptor | None, to: DataType, made: MadeColumn) -> PlannedField:
    if field is None:
        return PlannedField(kind=FieldKind.NOTHING, column=made, absence=Absence.NULL)
    entry = map_entry(field)
    if entry is not None:
        return _map(field, entry, to, made)
    if field.is_repeated:
        if to.kind is not TypeKind.ARRAY:
            raise _unfit(field, made.kind)
        return replace(_value(field, to.element, made.children[0]), list_column=made)
    return _single(field, to, made)


def _map(
    field: FieldDescriptor, entry: tuple[FieldDescriptor, FieldDescriptor], to: DataType, made: MadeColumn
) -> PlannedField:
    if to.kind is not TypeKind.MAP:
        raise _unfit(field, made.kind)
    entries = made.children[0]
    key, value = (
        _single(part, kind, column)
        for part, kind, column in zip(entry, (to.key, to.value), entries.children, strict=True)
    )
    return PlannedField(
        kind=FieldKind.ENTRY, number=field.number, column=entries, list_column=made, below=_by_number([key, value])
    )


def _single(field: FieldDescriptor, to: DataType, column: MadeColumn) -> PlannedField:
    """Return the step of a field that is there once, or has what stands for it."""
    planned = _value(field, to, column)
    in_entry = field.containing_type.GetOptions().map_entry
    if field.message_type is not None:
        return replace(planned, absence=Absence.EMPTY if in_entry else Absence.NULL)
    if field.has_presence and not field.has_default_value and not in_entry:
        return replace(planned, absence=Absence.NULL)
    default = field.default_value
    if planned.form is WireForm.BYTES:
        text = default if isinstance(default, bytes) else default.encode()
        return replace(planned, absence=Absence.DEFAULT, texts=((0, text),))
    if planned.kind is FieldKind.INT64 and default > _LARGEST_LONG:
        raise _unfit(field, column.kind)
    return replace(planned, absence=Absence.DEFAULT, standard=_on_the_wire(field, default))


def _on_the_wire(field: FieldDescriptor, default: float) -> int:
    """Return a number as it stands on the wire."""
    form = _FORMS[field.type]
    if field.type == FieldDescriptor.TYPE_FLOAT:
        return int.from_bytes(struct.pack("<f", default), "little")
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return int.from_bytes(struct.pack("<d", default), "little")
    number = int(default)
    if form in (WireForm.SINT32, WireForm.SINT64):
        return number << 1 if number >= 0 else (-number << 1) - 1
    return number & ((1 << 32) - 1 if form is WireForm.SFIXED32 else (1 << 64) - 1)


def _value(field: FieldDescriptor, to: DataType, column: MadeColumn) -> PlannedField:
    """Return the step of one value of a field."""
    message = field.message_type
    if message is None:
        return _scalar(field, column)
    if field.type == FieldDescriptor.TYPE_GROUP:
        raise _unfit(field, column.kind)
    if to.kind is TypeKind.STRUCT:
        return replace(plan_message(message, to.fields, column), number=field.number)
    if message.full_name in WRAPPERS:
        inner = _single(message.fields_by_name[VALUE], to, column)
        return PlannedField(kind=FieldKind.WRAPPER, number=field.number, column=column, below=[inner])
    if message.full_name == TIMESTAMP_MESSAGE and column.kind == pa.timestamp("us", tz="UTC"):
        return PlannedField(kind=FieldKind.TIMESTAMP, number=field.number, column=column)
    raise _unfit(field, column.kind)


def _scalar(field: FieldDescriptor, column: MadeColumn) -> PlannedField:
    form, to = _FORMS[field.type], column.kind
    kind, factor = _PLAIN.get((field.type, to)), 1
    if field.type in _DIGITS and to == pa.int64():
        kind = FieldKind.INT64
    elif field.type in _DIGITS and pa.types.is_decimal128(to) and to.precision - to.scale >= _DIGITS[field.type]:
        kind, factor = FieldKind.DECIMAL, 10**to.scale
    if kind is None:
        raise _unfit(field, to)
    texts = tuple(_names(field)) if kind is FieldKind.ENUM else ()
    return PlannedField(kind=kind, form=form, number=field.number, column=column, factor=factor, texts=texts)


def _names(field: FieldDescriptor) -> Iterator[tuple[int, bytes]]:
    """Return the numbers of an enum, which rise, and the first name of each."""
    names = {value.number: value.name for value in reversed(field.enum_type.values)}
    return ((number, names[number].encode()) for number in sorted(names))


def _passed(field: FieldDescriptor) -> PlannedField:
    """Return the step of a field that no column has."""
    kind = FieldKind.PASS_TEXT if field.type == FieldDescriptor.TYPE_STRING else FieldKind.PASS
    return PlannedField(kind=kind, form=_FORMS[field.type], number=field.number)


def _unfit(field: FieldDescriptor, kind: pa.DataType) -> NativeDecodingError:
    return NativeDecodingError(f"there is no native decoding of {field.full_name} as {kind}")
