"""The part of a message that columns need, as a message of its own: everything else is passed over when it is read.

It is compiled for `ptars`, which knows it by its numbers and forms. Timestamps and wrappers are messages like others in
it, enums numbers, and maps the lists of entries that they are on the wire, so that their values mean what Protobuf's
specification says.
"""

from collections.abc import Sequence

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from streamapp_core.data_types import Column, DataType
from streamapp_core.schema import INT, TypeKind

ROOT = "Row"
KEY, VALUE = "key", "value"


def project(message: Descriptor, columns: Sequence[Column]) -> Descriptor:
    """Return a message with those fields of another that columns have the names of."""
    projection = _Projection()
    projection.add(message, columns)
    return projection.compiled()


class _Projection:
    """Adds a message for each use of one, the outermost first."""

    def __init__(self) -> None:
        self._file = FileDescriptorProto(name="rows.proto", package="rows", syntax="proto3")

    def compiled(self) -> Descriptor:
        pool = DescriptorPool()
        pool.Add(self._file)
        return pool.FindMessageTypeByName(f"rows.{self._file.message_type[0].name}")

    def add(self, message: Descriptor, columns: Sequence[Column]) -> str:
        """Add the part of a message; return its name."""
        own = self._new()
        wanted = {column.name: column.type for column in columns}
        fields = [message.fields_by_name[name] for name in wanted if name in message.fields_by_name]
        choices = choices_of(message, columns)
        for choice in choices:
            self._add_oneof(own, choice, wanted)
        chosen = {field.name for choice in choices for field in choice}
        for field in fields:
            if field.name not in chosen:
                added = self._add_field(own, field, wanted[field.name])
                if field.has_presence and field.message_type is None:
                    _make_optional(own, added)
        return str(own.name)

    def _new(self) -> DescriptorProto:
        count = len(self._file.message_type)
        return self._file.message_type.add(name=f"{ROOT}{count or ''}")

    def _add_oneof(self, own: DescriptorProto, fields: Sequence[FieldDescriptor], wanted: dict[str, DataType]) -> None:
        """Add all members of a oneof: whichever comes last on the wire unsets the others."""
        number = len(own.oneof_decl)
        own.oneof_decl.add(name=f"oneof{number}")
        for field in fields:
            if field.name in wanted:
                self._add_field(own, field, wanted[field.name]).oneof_index = number
            else:
                kind = FieldDescriptorProto.TYPE_BYTES if field.message_type is not None else _plain(field)
                own.field.add(name=field.name, number=field.number, label=1, type=kind).oneof_index = number

    def _add_field(self, own: DescriptorProto, field: FieldDescriptor, to: DataType) -> FieldDescriptorProto:
        label = FieldDescriptorProto.LABEL_REPEATED if field.is_repeated else FieldDescriptorProto.LABEL_OPTIONAL
        added = own.field.add(name=field.name, number=field.number, label=label)
        message = field.message_type
        if message is None:
            added.type = _plain(field)
            return added
        added.type = FieldDescriptorProto.TYPE_MESSAGE
        inner = to.element if field.is_repeated and to.kind is TypeKind.ARRAY else to
        added.type_name = f".rows.{self.add(message, fields_of(message, inner))}"
        return added


def choices_of(message: Descriptor, columns: Sequence[Column]) -> list[list[FieldDescriptor]]:
    """Return the fields of each oneof that a column stands in, and that has several."""
    names = {column.name for column in columns}
    members = [
        [field for field in oneof.fields if field.type != FieldDescriptor.TYPE_GROUP]
        for oneof in message.oneofs
        if names & {field.name for field in oneof.fields}
    ]
    return [fields for fields in members if len(fields) > 1]


def fields_of(message: Descriptor, to: DataType) -> Sequence[Column]:
    """Return the fields that a message is read for: a map's entry, a struct, a wrapper's value, a timestamp's parts."""
    if message.GetOptions().map_entry:
        return (Column(KEY, to.key), Column(VALUE, to.value))
    if to.kind is TypeKind.STRUCT:
        return to.fields
    return tuple(Column(field.name, to if field.name == VALUE else INT) for field in message.fields)


def _plain(field: FieldDescriptor) -> int:
    return FieldDescriptorProto.TYPE_INT32 if field.enum_type is not None else int(field.type)


def _make_optional(own: DescriptorProto, field: FieldDescriptorProto) -> None:
    field.proto3_optional = True
    field.oneof_index = len(own.oneof_decl)
    own.oneof_decl.add(name=f"_{field.name}_")
