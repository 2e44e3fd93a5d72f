"""Messages of Protobuf as rows.

Google's parser says which messages are any, as it limits what is nested and finds every length that is wrong; `ptars`
then makes columns of these. What is left to columns is done here: the texts of enums, timestamps, defaults, maps.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from ptars import HandlerPool

from streamapp_core.data_types import Column, DataType
from streamapp_core.protobuf.proto_columns import TIMESTAMP_MESSAGE, WRAPPERS, map_entry
from streamapp_core.schema import Schema, TypeKind
from streamapp_systems.arrow_types import arrow_schema, arrow_type
from streamapp_systems.map_keys import maps_of_entries
from streamapp_systems.protobuf.proto_projection import KEY, VALUE, choices_of, project

_PART = 8_192
"""Messages that are read at once: few enough for a processor's caches."""
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999, of which there are timestamps."""
_SECOND = 1_000_000_000
_MICROS = 1_000_000
_LARGEST_LONG = (1 << 63) - 1
_EMPTY_VALUE = b"\x12\x00"
"""An entry of a map whose value is an empty message."""

Mask = npt.NDArray[np.bool_]
Owners = npt.NDArray[np.int64]


class _Failures:
    """Why messages of a part can't be read, by their numbers; the first reason counts.

    `merged` are those that set several fields of a oneof, of which the last one counts.
    """

    def __init__(self) -> None:
        self.reasons: dict[int, str] = {}
        self.merged: set[int] = set()

    def add(self, owners: Owners, where: pa.Array, reason: str) -> None:
        for number in owners[pc.fill_null(where, False).to_numpy(zero_copy_only=False)].tolist():
            self.reasons.setdefault(number, reason)


Convert = Callable[[Any, Owners, _Failures], pa.Array]
"""Makes a column of values; `owners` are the numbers of the messages that have them."""


class ProtoRowReader:
    """Reads messages of one kind as rows with these columns, which they fit."""

    def __init__(self, message: Descriptor, schema: Schema) -> None:
        self._name = message.full_name
        self._schema = arrow_schema(schema)
        projected = project(message, schema.columns)
        self._parse = GetMessageClass(projected).FromString
        self._handler = HandlerPool([projected.file]).get_for_message(projected)
        self._columns = _columns_converter(message, schema.columns, "")

    def read(self, values: Sequence[bytes], header: int = 0) -> tuple[pa.Table, Mask, Mapping[int, str]]:
        """Return the rows of the values that can be read, which these are, and why the others, by number, can't.

        Each value begins with a header of some bytes.
        """
        bare = [value[header:] for value in values] if header else values
        parts = [self._read_part(bare[at : at + _PART]) for at in range(0, max(len(values), 1), _PART)]
        reasons = {number * _PART + row: why for number, (_, part) in enumerate(parts) for row, why in part.items()}
        kept = np.ones(len(values), np.bool_)
        kept[list(reasons)] = False
        return pa.concat_tables([rows for rows, _ in parts]).combine_chunks(), kept, reasons

    def _read_part(self, values: Sequence[bytes]) -> tuple[pa.Table, dict[int, str]]:
        failures = _Failures()
        failures.reasons |= self._unparsed(values)
        numbers = [number for number in range(len(values)) if number not in failures.reasons]
        good = [values[number] for number in numbers]
        rows, owners = self._converted(good, np.array(numbers, np.int64), failures)
        if failures.merged:
            plain = [self._plain(values[number]) if number in failures.merged else values[number] for number in numbers]
            failures.reasons = {number: failures.reasons[number] for number in failures.reasons.keys() - set(numbers)}
            rows, owners = self._converted(plain, np.array(numbers, np.int64), failures)
        failed = np.isin(owners, list(failures.reasons))
        return (rows.filter(pa.array(~failed)) if failed.any() else rows), failures.reasons

    def _plain(self, value: bytes) -> bytes:
        """Return a message as Google's library writes what it has read: each field that counts, once."""
        written: bytes = self._parse(value).SerializeToString()
        return written

    def _unparsed(self, values: Sequence[bytes]) -> dict[int, str]:
        reasons = {}
        parse = self._parse
        for number, value in enumerate(values):
            try:
                parse(value)
            except DecodeError:
                reasons[number] = f"it is no message {self._name}: it ends early, or its bytes are none of Protobuf"
        return reasons

    def _converted(self, values: Sequence[bytes], owners: Owners, failures: _Failures) -> tuple[pa.Table, Owners]:
        """Return the rows of those values that make one, and their numbers."""
        try:
            batch = self._handler.list_to_record_batch(list(values))
        except BaseException as error:
            if not isinstance(error, ValueError) and type(error).__name__ != "PanicException":
                raise
            if len(values) == 1:
                failures.reasons[int(owners[0])] = f"it is no message {self._name}: {error}"
                return self._schema.empty_table(), owners[:0]
        else:
            columns = self._columns(batch, owners, failures)
            return pa.Table.from_arrays(columns, schema=self._schema), owners
        half = len(values) // 2
        parts = [self._converted(values[at], owners[at], failures) for at in (slice(half), slice(half, None))]
        return pa.concat_tables([rows for rows, _ in parts]), np.concatenate([numbers for _, numbers in parts])


def _columns_converter(
    message: Descriptor, columns: Sequence[Column], within: str
) -> Callable[[Any, Owners, _Failures], list[pa.Array]]:
    """Return what makes the columns of the messages' batch, or of their structs."""
    converters = [_column_converter(message, column, within) for column in columns]
    choices = [[field.name for field in choice] for choice in choices_of(message, columns)]

    def convert(found: pa.RecordBatch | pa.StructArray, owners: Owners, failures: _Failures) -> list[pa.Array]:
        for names in choices:
            given = sum(_child(found, name).is_valid().to_numpy(zero_copy_only=False).astype(np.int8) for name in names)
            failures.merged.update(owners[given > 1].tolist())
        return [part(found, owners, failures) for part in converters]

    return convert


def _column_converter(message: Descriptor, column: Column, within: str) -> Convert:
    field = message.fields_by_name.get(column.name)
    if field is None:
        kind = arrow_type(column.type)
        return lambda _found, owners, _failures: pa.nulls(len(owners), kind)
    convert = _field_converter(field, column.type, f"{within}{column.name}")
    return lambda found, owners, failures: convert(_child(found, column.name), owners, failures)


def _child(found: pa.RecordBatch | pa.StructArray, name: str) -> pa.Array:
    """Return the values of a field; those of structs that are null are null."""
    if isinstance(found, pa.RecordBatch):
        return found.column(name)
    return found.flatten()[found.type.get_field_index(name)]


def _field_converter(field: FieldDescriptor, to: DataType, place: str) -> Convert:
    if map_entry(field) is not None:
        return _map_converter(field.message_type, to, place)
    if not field.is_repeated:
        return _value_converter(field, to, place)
    convert = _value_converter(field, to.element, f"{place}[]")
    kind = arrow_type(to)

    def convert_list(found: pa.Array, owners: Owners, failures: _Failures) -> pa.Array:
        counts = _counts(found)
        elements = convert(found.flatten(), np.repeat(owners, counts), failures)
        return pa.ListArray.from_arrays(_starts(counts), elements, type=kind)

    return convert_list


def _map_converter(entry: Descriptor, to: DataType, place: str) -> Convert:
    """Return what makes maps of lists of entries; a key or a value that an entry lacks is its type's default."""
    read_key = _value_converter(entry.fields_by_name[KEY], to.key, f"{place}: a key")
    read_value = _value_converter(entry.fields_by_name[VALUE], to.value, f"{place}{{}}")
    empty = _empty_value(entry, to) if entry.fields_by_name[VALUE].message_type is not None else None
    kind = arrow_type(to)

    def convert(found: pa.Array, owners: Owners, failures: _Failures) -> pa.Array:
        counts = _counts(found)
        entries, inner = found.flatten(), np.repeat(owners, counts)
        values = read_value(_child(entries, VALUE), inner, failures)
        if empty is not None and values.null_count:
            places = np.where(values.is_valid().to_numpy(zero_copy_only=False), np.arange(len(values)), len(values))
            values = pa.concat_arrays([values, empty]).take(pa.array(places))
        keys = read_key(_child(entries, KEY), inner, failures)
        return maps_of_entries(counts, pa.StructArray.from_arrays([keys, values], [KEY, VALUE]), kind)

    return convert


def _empty_value(entry: Descriptor, to: DataType) -> pa.Array:
    """Return the column of the one value of a map that is a message without any field."""
    reader = ProtoRowReader(entry, Schema((Column(VALUE, to.value),)))
    return reader.read([_EMPTY_VALUE])[0].column(VALUE).combine_chunks()


def _value_converter(field: FieldDescriptor, to: DataType, place: str) -> Convert:
    message = field.message_type
    if message is None:
        return _scalar_converter(field, to, place)
    if to.kind is TypeKind.STRUCT:
        return _struct_converter(message, to, place)
    if message.full_name in WRAPPERS:
        inner = _scalar_converter(message.fields_by_name[VALUE], to, place)
        return lambda found, owners, failures: inner(_child(found, VALUE), owners, failures)
    assert message.full_name == TIMESTAMP_MESSAGE, "columns fit, which the planner checks"
    return lambda found, owners, failures: _timestamps(found, owners, failures, place)


def _struct_converter(message: Descriptor, to: DataType, place: str) -> Convert:
    fields = list(arrow_type(to))
    columns = _columns_converter(message, to.fields, f"{place}.")

    def convert(found: pa.Array, owners: Owners, failures: _Failures) -> pa.Array:
        parts = columns(found, owners, failures)
        return pa.StructArray.from_arrays(parts, fields=fields, mask=found.is_null())

    return convert


def _scalar_converter(field: FieldDescriptor, to: DataType, place: str) -> Convert:
    kind = arrow_type(to)
    default = _default(field)
    if field.enum_type is not None and to.kind is TypeKind.STRING:
        return _enum_converter(field, place)

    def convert(found: pa.Array, owners: Owners, failures: _Failures) -> pa.Array:
        if default is not None and found.null_count:
            found = pc.fill_null(found, pa.scalar(default, found.type))
        if pa.types.is_uint64(found.type) and pa.types.is_int64(kind):
            beyond = pc.greater(found, pa.scalar(_LARGEST_LONG, pa.uint64()))
            failures.add(owners, beyond, f"{place}: it is more than a bigint holds; declare decimal(20,0)")
            found = pc.if_else(beyond, pa.scalar(0, pa.uint64()), found)
        return found.cast(kind)

    return convert


def _default(field: FieldDescriptor) -> object:
    """Return the value of a field that is not there; None: it is null.

    A field with presence is null, unless its file says a default; the parts of a map's entry never are.
    """
    known = field.containing_type.GetOptions().map_entry or field.has_default_value
    return field.default_value if known and field.message_type is None and not field.is_repeated else None


def _enum_converter(field: FieldDescriptor, place: str) -> Convert:
    enum = field.enum_type
    names = {value.number: value.name for value in reversed(enum.values)}
    numbers, texts = pa.array(names, pa.int32()), pa.array(names.values(), pa.string())
    default = _default(field)

    def convert(found: pa.Array, owners: Owners, failures: _Failures) -> pa.Array:
        if default is not None:
            found = pc.fill_null(found, pa.scalar(default, pa.int32()))
        places = pc.index_in(found, numbers)
        unknown = pc.and_(places.is_null(), found.is_valid())
        if pc.any(unknown).as_py():
            number = found.filter(unknown)[0]
            failures.add(
                owners, unknown, f"{place}: {enum.full_name} has no name for {number}; declare int for numbers"
            )
        return texts.take(places)

    return convert


def _timestamps(found: pa.Array, owners: Owners, failures: _Failures, place: str) -> pa.Array:
    """Return timestamps of whole seconds and the nanoseconds after them, rounded down to microseconds."""
    known = found.is_valid()
    seconds = pc.fill_null(_child(found, "seconds"), 0).to_numpy()
    nanos = pc.fill_null(_child(found, "nanos"), 0).to_numpy()
    beyond = (seconds < _FIRST_SECOND) | (seconds > _LAST_SECOND) | (nanos < 0) | (nanos >= _SECOND)
    failures.add(owners, pa.array(beyond), f"{place}: a timestamp is not of the years 1 to 9999")
    micros = np.where(beyond, 0, seconds) * _MICROS + nanos // (_SECOND // _MICROS)
    return pa.array(micros, pa.int64(), mask=~known.to_numpy(zero_copy_only=False)).cast(pa.timestamp("us", tz="UTC"))


def _counts(lists: pa.Array) -> npt.NDArray[np.int64]:
    counts: npt.NDArray[np.int64] = pc.fill_null(lists.value_lengths(), 0).to_numpy().astype(np.int64)
    return counts


def _starts(counts: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
