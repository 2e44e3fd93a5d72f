"""Rows as JSON messages: one object a message, for streams that other programs read and write.

A field that is absent or null is null; fields the schema lacks are ignored; of a field given twice the last one counts.
"""

from collections.abc import Collection

import pyarrow as pa

from streamapp_core.spec.streams import PLAIN_JSON, JsonOptions
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_objects import JsonObjectDecoder
from streamapp_runtime.rows.message_rows import MessageRows, value_column
from streamapp_runtime.rows.native_first import complete_rows
from streamapp_systems.file.json_writing import json_texts
from streamapp_systems.file.native_json import NativeJsonReader, native_json_reader
from streamapp_systems.protocols import Messages


class JsonDecoder:
    """Decodes the messages of one stream.

    The native library reads what it is sure of; each message that it isn't sure of is read by way of Python objects.
    """

    def __init__(
        self,
        schema: pa.Schema,
        unread: Collection[str] = (),
        options: JsonOptions = PLAIN_JSON,
        time_zone: str = "UTC",
    ) -> None:
        """Take the columns that rows have, and the time zone of texts of timestamps that name none.

        Values of `unread` columns are validated like all others, and then perhaps left out: such a column may be null.
        """
        self._objects = JsonObjectDecoder(schema, unread, options, time_zone)
        self._native: NativeJsonReader | None = native_json_reader(schema, unread, options, time_zone)

    def decode(self, messages: Messages, ssp: Ssp) -> MessageRows:
        """See `MessageDecoder.decode`."""
        values = None if self._native is None else value_column(messages)
        found = None if self._native is None or values is None else self._native.read(values)
        if found is None:
            return self._objects.decode(messages, ssp)
        return complete_rows(found, messages, lambda left: self._objects.decode(left, ssp))


def encode_json(rows: pa.Table, options: JsonOptions = PLAIN_JSON) -> pa.BinaryArray:
    """Encode each row as the value of a message."""
    texts = [json_texts(batch, options).view(pa.binary()) for batch in rows.to_batches()]
    return pa.chunked_array(texts, pa.binary()).combine_chunks()
