"""Rows as Avro: each message has a record, alone or behind the id of its schema (Confluent's wire format)."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from streamapp_core.avro.avro_columns import find_mismatches
from streamapp_core.avro.avro_schema import AvroSchemaError, AvroType, parse_avro_schema
from streamapp_core.schema import Schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.message_rows import MessageRows
from streamapp_runtime.rows.tombstones import TombstoneRow
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.avro.avro_decoding import AvroRowReader
from streamapp_systems.avro.avro_header import HEADER, MAGIC
from streamapp_systems.protocols import BadRecord, Message, Messages, MessageTuple


class WriterSchemas(Protocol):
    """The schemas that messages were written with."""

    def writer(self, number: int) -> AvroType:
        """Return the schema with an id.

        Raises:
            AvroSchemaError: there is none, or it is not Avro's.
            StreamSystemError: nobody answers.
        """
        ...


class AvroDecoder:
    """Decodes the messages of one stream: all that have the same schema at once."""

    def __init__(self, schema: Schema, writers: WriterSchemas | str) -> None:
        """Take the columns that rows have, and the schemas that messages name, or the one of bare records."""
        self._schema = schema
        self._writers = writers
        self._tombstones = JsonDecoder(arrow_schema(schema))
        self._readers: dict[bytes, AvroRowReader | str] = {}

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """See `MessageDecoder.decode`; values that are `TombstoneRow` are JSON."""
        given: Messages = messages
        if None in messages.values:
            given = MessageTuple(message for message in messages if message.value is not None)
        values = [value for value in given.values if value is not None]
        parts: list[pa.Table] = []
        places: list[np.ndarray] = []
        reasons: dict[int, str] = {}
        for header, numbers in self._grouped(values).items():
            rows, kept, why = self._read(header, [given[number] for number in numbers], ssp)
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
        first = values[0][:HEADER] if values else b""
        alike = all(map(first.__eq__, [value[:HEADER] for value in values])) or isinstance(self._writers, str)
        if alike and TombstoneRow not in set(map(type, values)):
            return {b"" if isinstance(self._writers, str) else first: range(len(values))} if values else {}
        groups: defaultdict[bytes | None, list[int]] = defaultdict(list)
        for number, value in enumerate(values):
            bare = b"" if isinstance(self._writers, str) else value[:HEADER]
            groups[None if isinstance(value, TombstoneRow) else bare].append(number)
        return {**groups}

    def _read(
        self, header: bytes | None, messages: Sequence[Message], ssp: Ssp
    ) -> tuple[pa.Table, np.ndarray, dict[int, str]]:
        if header is None:
            return self._read_tombstones(messages, ssp)
        reader = self._reader(header)
        if isinstance(reader, str):
            nothing = arrow_schema(self._schema).empty_table()
            return nothing, np.zeros(len(messages), np.bool_), dict.fromkeys(range(len(messages)), reader)
        rows, kept, why = reader.read([message.value or b"" for message in messages], len(header))
        return rows, kept, dict(why)

    def _read_tombstones(self, messages: Sequence[Message], ssp: Ssp) -> tuple[pa.Table, np.ndarray, dict[int, str]]:
        found = self._tombstones.decode(MessageTuple(messages), ssp)
        reasons = {bad.offset: bad.reason for bad in found.bad}
        why = {number: reasons[m.offset] for number, m in enumerate(messages) if m.offset in reasons}
        return found.rows, np.array([number not in why for number in range(len(messages))], np.bool_), why

    def _reader(self, header: bytes) -> AvroRowReader | str:
        """Return what reads the records behind a header, or why they can't be read."""
        known = self._readers.get(header)
        if known is None:
            known = self._new_reader(header)
            if not isinstance(known, str):
                self._readers[header] = known
        return known

    def _new_reader(self, header: bytes) -> AvroRowReader | str:
        if isinstance(self._writers, str):
            return AvroRowReader(parse_avro_schema(self._writers), self._schema)
        if len(header) < HEADER or header[:1] != MAGIC:
            return "it has no schema id: a byte 0 and four bytes before the record of Avro"
        number = int.from_bytes(header[1:], "big")
        try:
            writer = self._writers.writer(number)
        except AvroSchemaError as error:
            return f"schema {number}: {error}"
        for mismatch in find_mismatches(writer, self._schema):
            if not mismatch.missing:
                return f"schema {number}: column {mismatch.path}: {mismatch.reason}"
        return AvroRowReader(writer, self._schema)

    def _in_order(self, parts: Sequence[pa.Table], places: Sequence[np.ndarray]) -> pa.Table:
        if not parts:
            return arrow_schema(self._schema).empty_table()
        if len(parts) == 1:
            return parts[0]
        return pa.concat_tables(parts).take(pa.array(np.argsort(np.concatenate(places)))).combine_chunks()
