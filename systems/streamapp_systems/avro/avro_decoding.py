"""Records of Avro as rows: readers, one per type of a writer's schema, that read many values into a column at once."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from streamapp_core.avro.avro_columns import is_struct_of_members, member_number
from streamapp_core.avro.avro_schema import AvroKind, AvroType
from streamapp_core.data_types import Column, DataType
from streamapp_core.schema import Schema
from streamapp_systems.arrow_types import arrow_schema, arrow_type
from streamapp_systems.avro.avro_cursor import AvroCursor, AvroInput, Mask, Numbers
from streamapp_systems.avro.avro_values import choices, skip_value, value_reader
from streamapp_systems.avro.avro_walks import Walk, entry_walk, walk_of
from streamapp_systems.map_keys import maps_of_entries

Reader = Callable[[AvroCursor], pa.Array | None]
"""Reads one part of values into a column; None if nobody wants it."""

_PART = 8_192
"""Values that are read at once: few enough for a processor's caches."""
_FEW = 50
"""Arrays of one length whose elements are found faster one by one than all at once."""
_FIXED_WIDTHS = (AvroKind.BOOLEAN, AvroKind.FLOAT, AvroKind.DOUBLE, AvroKind.FIXED)


class AvroRowReader:
    """Reads the values that were written with one schema, as rows with these columns, which they fit."""

    def __init__(self, writer: AvroType, schema: Schema) -> None:
        self._schema = arrow_schema(schema)
        self._read = _record_reader(writer, schema.columns, "")

    def read(self, values: Sequence[bytes], header: int = 0) -> tuple[pa.Table, Mask, Mapping[int, str]]:
        """Return the rows of the values that can be read, which these are, and why the others, by number, can't.

        Each value begins with a header of some bytes.
        """
        parts = [self._read_part(values[at : at + _PART], header) for at in range(0, max(len(values), 1), _PART)]
        rows = pa.concat_tables([rows for rows, _ in parts]).combine_chunks()
        reasons = {
            number * _PART + row: reason
            for number, (_, part) in enumerate(parts)
            for row, reason in part.reasons.items()
        }
        return rows, np.concatenate([~part.failed for _, part in parts]), reasons

    def _read_part(self, values: Sequence[bytes], header: int) -> tuple[pa.Table, AvroInput]:
        source = AvroInput(values)
        cursor = source.cursor(header)
        columns = self._read(cursor)
        cursor.fail(cursor.left > 0, "bytes are left after the record")
        rows = pa.Table.from_arrays(columns, schema=self._schema)
        return (rows.filter(pa.array(~source.failed)) if source.failed.any() else rows), source


def _record_reader(
    record: AvroType, columns: Sequence[Column] | None, path: str
) -> Callable[[AvroCursor], list[pa.Array]]:
    """Return what reads all fields of a record in their order, into the columns of their names, in the columns' order.

    Columns that no field has the name of are null; without any, the record is passed over.
    """
    wanted = {column.name: column for column in columns or ()}
    fields = [
        (
            field.name,
            _reader(field.type, wanted[field.name].type if field.name in wanted else None, f"{path}{field.name}"),
        )
        for field in record.fields
    ]
    types = [(column.name, arrow_type(column.type)) for column in columns or ()]

    def read(cursor: AvroCursor) -> list[pa.Array]:
        found = {name: reader(cursor) for name, reader in fields}
        return [found[name] if name in found else pa.nulls(len(cursor), kind) for name, kind in types]

    return read


def _reader(avro: AvroType, to: DataType | None, path: str) -> Reader:
    match avro.kind:
        case AvroKind.NULL:
            return lambda cursor: None if to is None else pa.nulls(len(cursor), arrow_type(to))
        case AvroKind.UNION:
            return _union_reader(avro, to, path)
        case AvroKind.RECORD:
            return _struct_reader(avro, to, path)
        case AvroKind.ARRAY | AvroKind.MAP:
            return _collection_reader(avro, to, path)
        case _:
            return skip_value(avro, path) if to is None else value_reader(avro, arrow_type(to), path)


def _struct_reader(avro: AvroType, to: DataType | None, path: str) -> Reader:
    read = _record_reader(avro, None if to is None else to.fields, f"{path}.")
    fields = None if to is None else list(arrow_type(to))

    def read_struct(cursor: AvroCursor) -> pa.Array | None:
        columns = read(cursor)
        return None if fields is None else pa.StructArray.from_arrays(columns, fields=fields)

    return read_struct


def _union_reader(avro: AvroType, to: DataType | None, path: str) -> Reader:
    members = to is not None and is_struct_of_members(avro, to)
    readers = [
        _member_reader(part, to, avro.branches.index(part), path)
        if members and to is not None and part in avro.branches
        else _reader(part, to, path)
        for part in avro.parts
    ]
    kind = None if to is None else arrow_type(to)

    def read(cursor: AvroCursor) -> pa.Array | None:
        chosen = choices(cursor, len(readers), path)
        if len(chosen) and (chosen == chosen[0]).all():
            return readers[int(chosen[0])](cursor)
        found, sources = [], np.full(len(chosen), -1)
        count = 0
        for number, reader in enumerate(readers):
            places = np.flatnonzero(chosen == number)
            if not len(places):
                continue
            part = cursor.at(places)
            values = reader(part)
            cursor.put(places, part)
            if values is not None and avro.parts[number].kind is not AvroKind.NULL:
                found.append(values)
                sources[places] = np.arange(count, count + len(places))
                count += len(places)
        if kind is None:
            return None
        if not found:
            return pa.nulls(len(chosen), kind)
        return pa.concat_arrays(found).take(pa.array(sources, mask=sources < 0))

    return read


def _member_reader(avro: AvroType, to: DataType, number: int, path: str) -> Reader:
    """Return what reads one branch of a union into its field of a struct; the others are null."""
    own = next((part for part in to.fields if member_number(part.name) == number), None)
    reader = _reader(avro, None if own is None else own.type, path)
    fields = list(arrow_type(to))

    def read(cursor: AvroCursor) -> pa.Array:
        values = reader(cursor)
        columns = [
            values if own is not None and field.name == own.name else pa.nulls(len(cursor), field.type)
            for field in fields
        ]
        return pa.StructArray.from_arrays(columns, fields=fields)

    return read


def _collection_reader(avro: AvroType, to: DataType | None, path: str) -> Reader:
    element = _element_reader(avro, to, path)
    width = avro.parts[0].least_bytes if avro.kind is AvroKind.ARRAY and avro.parts[0].kind in _FIXED_WIDTHS else 0
    walk = walk_of(avro.parts[0]) if avro.kind is AvroKind.ARRAY else entry_walk(avro.parts[0])
    kind = None if to is None else arrow_type(to)

    def read(cursor: AvroCursor) -> pa.Array | None:
        counts, elements = _read_blocks(cursor, element, walk, (width, avro.parts[0].least_bytes), path)
        if kind is None:
            return None
        starts = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
        if pa.types.is_list(kind):
            return pa.ListArray.from_arrays(starts, elements, type=kind)
        return maps_of_entries(counts, elements, kind)

    return read


def _element_reader(avro: AvroType, to: DataType | None, path: str) -> Reader:
    """Return what reads an element of an array, or a key of a map with its value, as a struct."""
    if avro.kind is AvroKind.ARRAY:
        return _reader(avro.parts[0], None if to is None else to.element, f"{path}[]")
    key = AvroType(kind=AvroKind.STRING)
    read_key = _reader(key, None if to is None else to.key, f"{path}: a key")
    read_value = _reader(avro.parts[0], None if to is None else to.value, f"{path}{{}}")

    def read(cursor: AvroCursor) -> pa.Array | None:
        keys, values = read_key(cursor), read_value(cursor)
        return None if keys is None else pa.StructArray.from_arrays([keys, values], ["key", "value"])

    return read


def _read_blocks(
    cursor: AvroCursor, element: Reader, walk: Walk, sizes: tuple[int, int], path: str
) -> tuple[Numbers, pa.Array | None]:
    """Read the blocks of arrays or maps: how many elements each has, and all elements, in order.

    Elements of a fixed width are read all together, and so are those of a few long arrays, whose places `walk` finds;
    else those with one number, of all arrays, at once. `sizes` are that width, or 0, and the least bytes of an element.
    """
    width, least = sizes
    counts = np.zeros(len(cursor), np.int64)
    left = np.zeros(len(cursor), np.int64)
    active = np.arange(len(cursor))
    found, owners = [element(cursor.at(active[:0]))], [active[:0]]
    while True:
        asked = active[left[active] == 0]
        if len(asked):
            part = cursor.at(asked)
            left[asked] = _block_counts(part, max(least, 1), path)
            cursor.put(asked, part)
            active = active[left[active] > 0]
        if not len(active):
            break
        places = _places(cursor, active, left[active], width, walk)
        if places is None:
            taken, part = np.ones(len(active), np.int64), cursor.at(active)
            found.append(element(part))
            cursor.put(active, part)
        else:
            taken, starts, cursor.position[active] = places
            part = cursor.at(np.repeat(active, taken))
            part.position = starts
            found.append(element(part))
        owners.append(np.repeat(active, taken))
        counts[active] += taken
        left[active] -= taken
        left[active[cursor.failed[active]]] = 0
    counts[cursor.failed] = 0
    if found[0] is None:
        return counts, None
    owned = np.concatenate(owners)
    order = np.argsort(owned, kind="stable")
    return counts, pa.concat_arrays(found).take(pa.array(order[~cursor.failed[owned[order]]]))


def _places(
    cursor: AvroCursor, active: Numbers, left: Numbers, width: int, walk: Walk
) -> tuple[Numbers, Numbers, Numbers] | None:
    """Return how many elements of blocks to read, where they begin, and where they end.

    None: one element after the other is better. The last element of an array may be one that can't be read.
    """
    position = cursor.position[active]
    if width:
        firsts = np.repeat(np.cumsum(left) - left, left)
        starts = np.repeat(position, left) + (np.arange(int(left.sum())) - firsts) * width
        return left.copy(), starts, position + left * width
    if left.sum() > _FEW * left.max():
        return None
    taken = np.zeros(len(active), np.int64)
    places: list[int] = []
    ends = cursor.ends[active].tolist()
    for number, (at, count, end) in enumerate(zip(position.tolist(), left.tolist(), ends, strict=True)):
        found, length = _walked(cursor.source.bytes[at:end], count, walk)
        taken[number] = len(found)
        places += [at + start for start in found]
        position[number] = at + length
    return taken, np.array(places, np.int64), position


def _walked(value: bytes, count: int, walk: Walk) -> tuple[list[int], int]:
    """Return where elements begin, up to the first that can't be read, and where the last one ends."""
    starts: list[int] = []
    place = 0
    try:
        for _ in range(count):
            starts.append(place)
            place = walk(value, place)
            if place > len(value):
                return starts, len(value)
    except (ValueError, IndexError):
        return starts, len(value)
    return starts, place


def _block_counts(cursor: AvroCursor, least: int, path: str) -> Numbers:
    """Read how many elements a block has; a negative number is followed by the bytes that they have."""
    found = cursor.numbers()
    sized = np.flatnonzero((found < 0) & ~cursor.failed)
    if len(sized):
        part = cursor.at(sized)
        part.numbers()
        cursor.put(sized, part)
        found[sized] = -found[sized]
    beyond = (found < 0) | (found > cursor.left // least)
    cursor.fail(beyond & ~cursor.failed, f"{path}: more elements are announced than there are bytes for")
    found[beyond | cursor.failed] = 0
    return found
