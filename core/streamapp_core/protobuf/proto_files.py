"""The messages of `.proto` files of proto2 and proto3, compiled from their text.

Extensions, services, reserved numbers and options that change no value are passed over, and so are imports of files
that are not given: a name that stands in one of them is then not found.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from antlr4 import Recognizer
from antlr4.error.ErrorListener import ErrorListener
from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    text_encoding,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser as ProtoParser

_SYNTAXES = ("proto2", "proto3")
_STANDARD = {
    module.DESCRIPTOR.name: module.DESCRIPTOR
    for module in (
        any_pb2,
        source_context_pb2,
        type_pb2,
        api_pb2,
        descriptor_pb2,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        struct_pb2,
        timestamp_pb2,
        wrappers_pb2,
    )
}
"""The files that come with every compiler, by the name that imports them; those that others import stand first."""
_SCALARS = {
    name.removeprefix("TYPE_").lower(): number
    for name, number in FieldDescriptorProto.Type.items()
    if name not in ("TYPE_GROUP", "TYPE_MESSAGE", "TYPE_ENUM")
}
_LABELS = {
    ast.FieldCardinality.OPTIONAL: FieldDescriptorProto.LABEL_OPTIONAL,
    ast.FieldCardinality.REQUIRED: FieldDescriptorProto.LABEL_REQUIRED,
    ast.FieldCardinality.REPEATED: FieldDescriptorProto.LABEL_REPEATED,
}
_OCTAL = re.compile(r"=\s*-?0\d")
_PATH = re.compile(r"\S+\.proto")
_LARGEST_TEXT = 1 << 20
_DEEPEST = 50
"""Braces that may be open at once: the parser calls itself for each, and Python's limit may be any."""


class ProtoError(ValueError):
    """A text is no `.proto` file, or one that is not supported; the message says where in it, and why."""


@lru_cache(maxsize=100)
def compile_proto(text: str, imports: tuple[tuple[str, str], ...] = ()) -> FileDescriptor:
    """Compile a file; `imports` are the names and texts of those that it imports.

    Raises:
        ProtoError: it is none, or has what is not supported.
    """
    if _PATH.fullmatch(text.strip()):
        raise ProtoError(f"the text of a file stands here, not its name: put in what {text.strip()} holds")
    parsed = {name: _parse(name, content) for name, content in imports}
    name = "the schema"
    parsed[name] = _parse(name, text)
    pool = DescriptorPool()
    for standard in _STANDARD.values():
        pool.AddSerializedFile(standard.serialized_pb)
    for each in _in_order(parsed, name):
        try:
            pool.Add(_file(each, parsed[each], parsed))
        except (TypeError, ValueError, KeyError) as error:
            raise ProtoError(f"{each}: {_reason(error)}{_left_out(parsed)}") from None
    return pool.FindFileByName(name)


def imported_files(text: str) -> tuple[str, ...]:
    """Return the names of the files that one imports, but for those that come with every compiler.

    Raises:
        ProtoError: it is none.
    """
    return tuple(name for name, _ in _imports(_parse("the schema", text)) if name not in _STANDARD)


def find_message(file: FileDescriptor, name: str | None) -> Descriptor:
    """Return the message of a name, with its package or without; without a name the only one that stands on top.

    Raises:
        ProtoError: there is none, or there are several.
    """
    known = {message.full_name: message for message in _all_messages(file.message_types_by_name.values())}
    if name is not None:
        found = known.get(name) or known.get(f"{file.package}.{name}")
        if found is None:
            raise ProtoError(f"there is no message `{name}`: there are {_listed(known)}")
        return found
    top = list(file.message_types_by_name.values())
    if len(top) != 1:
        raise ProtoError(
            f"there are the messages {_listed(known)}: say which as `protobuf.message`" if top else "it has no message"
        )
    return top[0]


def registered_message(file: FileDescriptor, name: str | None) -> Descriptor:
    """Return the message of a name in a file of a registry; without a name the first one.

    Raises:
        ProtoError: there is none.
    """
    return message_at(file, (0,)) if name is None else find_message(file, name)


def message_at(file: FileDescriptor, places: Sequence[int]) -> Descriptor:
    """Return the message at some places: which of the file's, which of those inside of it, and so on.

    Raises:
        ProtoError: there is none.
    """
    within = list(file.message_types_by_name.values())
    found = None
    for place in places:
        if not 0 <= place < len(within):
            raise ProtoError(f"there is no message at {list(places)}")
        found = within[place]
        within = [inner for inner in found.nested_types if not inner.GetOptions().map_entry]
    if found is None:
        raise ProtoError("no message is named")
    return found


def _all_messages(messages: Iterable[Descriptor]) -> Iterable[Descriptor]:
    for message in messages:
        if not message.GetOptions().map_entry:
            yield message
            yield from _all_messages(message.nested_types)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _reason(error: Exception) -> str:
    text = str(error.args[0] if error.args else error)
    return text.removeprefix("Couldn't build proto file into descriptor pool: ")


def _left_out(parsed: Mapping[str, ast.File]) -> str:
    missing = sorted(
        {each for file in parsed.values() for each, _ in _imports(file)} - parsed.keys() - _STANDARD.keys()
    )
    return f"; it imports {_listed(missing)}, not given in `protobuf.imports`" if missing else ""


class _Refusal(ErrorListener):  # type: ignore[misc]
    def syntaxError(self, *details: Any) -> None:  # noqa: N802 - ANTLR's name
        _, _, line, column, message, _ = details
        raise ProtoError(f"line {line}, column {column + 1}: {message[:200]}")


def _refuse_errors(part: Recognizer) -> None:
    part.removeErrorListeners()
    part.addErrorListener(_Refusal())


def _parse(name: str, text: str) -> ast.File:
    if len(text) > _LARGEST_TEXT:
        raise ProtoError(f"{name}: it has more than {_LARGEST_TEXT:,} characters")
    octal = _OCTAL.search(text)
    if octal is not None:
        raise ProtoError(f"{name}: write `{octal[0]}...` without the 0 before it")
    if _depth(text) > _DEEPEST:
        raise ProtoError(f"{name}: it is nested too deeply: there are more than {_DEEPEST} open braces at once")
    try:
        file = ProtoParser(setup_lexer=_refuse_errors, setup_parser=_refuse_errors).parse(text)
    except (ValueError, AttributeError) as error:
        raise ProtoError(f"{name}: {error}") from None
    if file.edition is not None or (file.syntax or "proto2") not in _SYNTAXES:
        raise ProtoError(f"{name}: files are of proto2 or proto3, and this is of {file.edition or file.syntax}")
    return file


def _depth(text: str) -> int:
    """Return how many braces are open at once, those in comments and texts among them."""
    steps = (1 if brace == "{" else -1 for brace in text if brace in "{}")
    return max(accumulate(steps), default=0)


def _imports(file: ast.File) -> list[tuple[str, bool]]:
    return [(each.name, each.public) for each in file.file_elements if isinstance(each, ast.Import)]


def _in_order(parsed: Mapping[str, ast.File], name: str, inside: tuple[str, ...] = ()) -> list[str]:
    """Return the files that one needs, each after those that it imports, itself the last."""
    if name in inside:
        raise ProtoError(f"{name} imports itself")
    before: list[str] = []
    for each, _ in _imports(parsed[name]):
        if each in parsed:
            before += _in_order(parsed, each, (*inside, name))
    return list(dict.fromkeys((*before, name)))


def _file(name: str, parsed: ast.File, given: Mapping[str, ast.File]) -> FileDescriptorProto:
    syntax = parsed.syntax or "proto2"
    file = FileDescriptorProto(name=name, syntax=syntax)
    for each, public in _imports(parsed):
        if each in given or each in _STANDARD:
            if public:
                file.public_dependency.append(len(file.dependency))
            file.dependency.append(each)
    for element in parsed.file_elements:
        match element:
            case ast.Package():
                file.package = element.name
            case ast.Message():
                _message(element, file.message_type.add(), syntax)
            case ast.Enum():
                _enum(element, file.enum_type.add())
    return file


def _message(parsed: ast.Message | ast.Group, message: DescriptorProto, syntax: str) -> None:
    message.name = parsed.name
    optional: list[FieldDescriptorProto] = []
    for element in parsed.elements:
        match element:
            case ast.Message():
                _message(element, message.nested_type.add(), syntax)
            case ast.Enum():
                _enum(element, message.enum_type.add())
            case ast.OneOf():
                _oneof(element, message, syntax)
            case ast.MapField():
                _map_field(element, message)
            case ast.Field() | ast.Group():
                field = _field(element, message, syntax)
                if syntax == "proto3" and element.cardinality is ast.FieldCardinality.OPTIONAL:
                    optional.append(field)
    for field in optional:  # these stand alone in a oneof each, behind all others
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{field.name}")


def _oneof(parsed: ast.OneOf, message: DescriptorProto, syntax: str) -> None:
    number = len(message.oneof_decl)
    message.oneof_decl.add(name=parsed.name)
    for part in parsed.elements:
        if isinstance(part, ast.Field | ast.Group):
            _field(part, message, syntax).oneof_index = number


def _field(parsed: ast.Field | ast.Group, message: DescriptorProto, syntax: str) -> FieldDescriptorProto:
    label = FieldDescriptorProto.LABEL_OPTIONAL if parsed.cardinality is None else _LABELS[parsed.cardinality]
    field = message.field.add(name=parsed.name, number=parsed.number, label=label)
    if isinstance(parsed, ast.Group):
        _message(parsed, message.nested_type.add(), syntax)
        field.name, field.type, field.type_name = parsed.name.lower(), FieldDescriptorProto.TYPE_GROUP, parsed.name
        return field
    _set_type(field, parsed.type)
    for option in parsed.options:
        if option.name == "default":
            field.default_value = _default(option.value, field)
    return field


def _set_type(field: FieldDescriptorProto, name: str) -> None:
    if name in _SCALARS:
        field.type = _SCALARS[name]
    else:
        field.type_name = re.sub(r"\s", "", name)


def _default(value: Any, field: FieldDescriptorProto) -> str:  # noqa: ANN401 - a name, a number, a text
    if isinstance(value, bool):
        return str(value).lower()
    text = str(getattr(value, "name", value))
    return text_encoding.CUnescape(text).decode() if field.type == FieldDescriptorProto.TYPE_STRING else text


def _map_field(parsed: ast.MapField, message: DescriptorProto) -> None:
    """Add a map: entries of a message of its own, as Protobuf's specification says."""
    name = "".join(part[:1].upper() + part[1:] for part in parsed.name.split("_")) + "Entry"
    message.field.add(
        name=parsed.name,
        number=parsed.number,
        label=FieldDescriptorProto.LABEL_REPEATED,
        type=FieldDescriptorProto.TYPE_MESSAGE,
        type_name=name,
    )
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    for number, (part, kind) in enumerate((("key", parsed.key_type), ("value", parsed.value_type)), 1):
        _set_type(entry.field.add(name=part, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL), kind)


def _enum(parsed: ast.Enum, enum: EnumDescriptorProto) -> None:
    enum.name = parsed.name
    for element in parsed.elements:
        match element:
            case ast.EnumValue():
                enum.value.add(name=element.name, number=element.number)
            case ast.Option(name="allow_alias", value=True):
                enum.options.allow_alias = True
