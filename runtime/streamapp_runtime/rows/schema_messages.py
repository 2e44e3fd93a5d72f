"""Messages that have a schema of their own, behind its number (Confluent's wire format) or alone: read by schema."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from streamapp_core.schema import Schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.message_rows import MessageRows, column_of_bytes
from streamapp_runtime.rows.native_first import NativeFirstReader, ValueReader, complete_rows
from streamapp_runtime.rows.tombstones import TombstoneRow
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.native.decoded_messages import NativeRows
from streamapp_systems.protocols import BadRecord, Message, MessageColumns, Messages, MessageTuple


class SchemaDecoder:
    """Decodes the messages of one stream: all that have the same header at once.

    The native library reads what it is sure of, where readers have it.
    """

    def __init__(
        self,
        schema: Schema,
        header_of: Callable[[bytes], bytes] | None,
        reader_of: Callable[[bytes], ValueReader | str],
        time_zone: str = "UTC",
    ) -> None:
        """Take the columns that rows have, functions, and the time zone of keys that name none.

        One returns the header of a value (None: values have none), the other what reads the values behind a header, or
        why none can be read. No header that values are read behind is the beginning of another one.
        """
        self._schema = schema
        self._header_of = header_of
        self._reader_of = reader_of
        self._tombstones = JsonDecoder(arrow_schema(schema), time_zone=time_zone)
        self._readers: dict[bytes, ValueReader] = {}

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """See `MessageDecoder.decode`; values that are `TombstoneRow` are JSON."""
        found = self._read_sure(messages)
        if found is None:
            return self._judge(messages, ssp)
        return complete_rows(found, messages, lambda left: self._judge(left, ssp))

    def _read_sure(self, messages: Messages) -> NativeRows | None:
        """Read messages that have the header of the first one; None if no reader of it is known, or can."""
        column: pa.BinaryArray | None
        if isinstance(messages, MessageColumns):
            column = messages.value_column
        else:
            values = messages.values
            column = None if TombstoneRow in set(map(type, values)) else column_of_bytes(values)
        first = None if column is None else next((value for value in column if value.is_valid), None)
        if column is None or first is None:
            return None
        header = b"" if self._header_of is None else self._header_of(first.as_py())
        reader = self._reader(header) if self._header_of is None else self._readers.get(header)
        return reader.read_sure(column, header) if isinstance(reader, NativeFirstReader) else None

    def _judge(self, messages: Messages, ssp: Ssp) -> MessageRows:
        given: Messages = messages
        if None in messages.values:
            given = MessageTuple(message for message in messages if message.value is not None)
        values = [value for value in given.values if value is not None]
        parts: list[pa.Table] = []
        places: list[np.ndarray] = []
        reasons: dict[int, str] = {}
        for header, numbers in self._grouped(values).items():
            if header is None:
                rows, kept, why = self._read_tombstones([given[number] for number in numbers], ssp)
            else:
                rows, kept, why = self._read(header, [values[number] for number in numbers])
            parts.append(rows)
            places.append(np.array(numbers, np.int64)[kept])
            reasons |= {numbers[number]: reason for number, reason in why.items()}
        rows = self._in_order(parts, places)
        if not reasons:
            return MessageRows(rows=rows, messages=given, bad=())
        return MessageRows(
            rows=rows,
            messages=MessageTuple(message for number, message in enumerate(given) if number not in reasons),
            bad=tuple(BadRecord(ssp, given[number].offset, reasons[number]) for number in sorted(reasons)),
        )

    def _grouped(self, values: Sequence[bytes]) -> dict[bytes | None, Sequence[int]]:
        """Return which values have each header; None: those that stand for tombstones."""
        if not values:
            return {}
        header_of = self._header_of or _no_header
        if TombstoneRow not in set(map(type, values)):
            first = header_of(values[0])
            if self._header_of is None or (first in self._readers and all(v.startswith(first) for v in values)):
                return {first: range(len(values))}
        groups: defaultdict[bytes | None, list[int]] = defaultdict(list)
        for number, value in enumerate(values):
            groups[None if isinstance(value, TombstoneRow) else header_of(value)].append(number)
        return {**groups}

    def _read(self, header: bytes, values: Sequence[bytes]) -> tuple[pa.Table, np.ndarray, dict[int, str]]:
        reader = self._reader(header)
        if isinstance(reader, str):
            nothing = arrow_schema(self._schema).empty_table()
            return nothing, np.zeros(len(values), np.bool_), dict.fromkeys(range(len(values)), reader)
        rows, kept, why = reader.read(values, len(header))
        return rows, kept, dict(why)

    def _read_tombstones(self, messages: Sequence[Message], ssp: Ssp) -> tuple[pa.Table, np.ndarray, dict[int, str]]:
        found = self._tombstones.decode(MessageTuple(messages), ssp)
        reasons = {bad.offset: bad.reason for bad in found.bad}
        why = {number: reasons[m.offset] for number, m in enumerate(messages) if m.offset in reasons}
        return found.rows, np.array([number not in why for number in range(len(messages))], np.bool_), why

    def _reader(self, header: bytes) -> ValueReader | str:
        """Return what reads the values behind a header, or why they can't be read; that is asked again."""
        known = self._readers.get(header)
        if known is not None:
            return known
        found = self._reader_of(header)
        if not isinstance(found, str):
            self._readers[header] = found
        return found

    def _in_order(self, parts: Sequence[pa.Table], places: Sequence[np.ndarray]) -> pa.Table:
        if not parts:
            return arrow_schema(self._schema).empty_table()
        if len(parts) == 1:
            return parts[0]
        return pa.concat_tables(parts).take(pa.array(np.argsort(np.concatenate(places)))).combine_chunks()


def _no_header(_: bytes) -> bytes:
    return b""
