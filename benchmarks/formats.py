"""Formats of messages beside each other, and then files, tables and databases as inputs and outputs (`tables`).

The same rows are written and read in each format, as a processor does it for Kafka and logs. Rates are of CPU time; all
are measured by turns, and medians are printed.
"""

import gc
import json
import random
import time
from collections.abc import Mapping
from statistics import median
from typing import Any

import pyarrow as pa

from benchmarks import tables
from benchmarks.avro_decoding import KINDS, flat_row, nested_row
from benchmarks.protobuf_decoding import priced
from streamapp_core.avro.avro_writing import avro_schema_of
from streamapp_core.protobuf.proto_writing import proto_text_of
from streamapp_core.schema import Schema, parse_schema
from streamapp_core.spec.streams import StreamSpec
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.message_formats import RegisteredSchemas, encode_messages, message_decoder
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import Message, MessageTuple

_ROWS, _ROUNDS = 20_000, 9


class _NoSchemas(RegisteredSchemas):
    """A registry that nobody asks: the streams have their schemas."""


def main() -> None:
    gc.set_threshold(100_000, 20, 20)  # as in a worker
    draw = random.Random(7)
    for name, columns in KINDS.items():
        schema = parse_schema(columns.replace("decimal(9,2)", "double"))  # Protobuf has no decimals
        made = [json.dumps(flat_row(draw) if name == "flat" else priced(nested_row(draw))) for _ in range(_ROWS)]
        messages = MessageTuple(Message(offset, 0, None, text.encode()) for offset, text in enumerate(made))
        rows = JsonDecoder(arrow_schema(schema)).decode(messages, Ssp("s", "in", 0)).rows
        streams = _streams(schema, flat=name == "flat")
        rounds = [{form: _rates(schema, stream, rows) for form, stream in streams.items()} for _ in range(_ROUNDS)]
        print(f"{name}: million rows a second of a core, read and written; read beside JSON; bytes of a row")
        for form in streams:
            read, written, size = (median(each[form][which] for each in rounds) for which in range(3))
            ratio = median(each[form][0] / each["json"][0] for each in rounds)
            print(f"  {form:>8}: {read:5.2f} {written:5.2f}   {ratio:.2f}   {size:.0f}")
    tables.main()


def _streams(schema: Schema, *, flat: bool) -> Mapping[str, StreamSpec]:
    given: dict[str, dict[str, Any]] = {
        "json": {},
        "avro": {"avro": {"schema": json.dumps(avro_schema_of(schema, "Row"))}},
        "protobuf": {"protobuf": {"schema": proto_text_of(schema, "Row")}},
    }
    if flat:
        given["csv"] = {}
    return {
        form: StreamSpec.model_validate({"system": "s", "format": form, "schema": str(schema), **more}, strict=False)
        for form, more in given.items()
    }


def _rates(schema: Schema, stream: StreamSpec, rows: pa.Table) -> tuple[float, float, float]:
    """Return the million rows a second that are read and written, and how many bytes a row has."""
    decoder = message_decoder(schema, stream, frozenset(), _NoSchemas(), "UTC")
    began = time.process_time()
    values = encode_messages(rows, stream, columns=schema)
    written = time.process_time()
    messages = MessageTuple(Message(offset, 0, None, value) for offset, value in enumerate(values.to_pylist()))
    ready = time.process_time()
    found = decoder.decode(messages, Ssp("s", "in", 0))
    read = time.process_time()
    assert not found.bad
    assert found.rows.num_rows == rows.num_rows
    return _ROWS / (read - ready) / 1e6, _ROWS / (written - began) / 1e6, values.nbytes / _ROWS


if __name__ == "__main__":
    main()
