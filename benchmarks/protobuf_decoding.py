"""The rows that a core decodes and encodes in a second: as Protobuf (in C, by libraries, by Google's alone) and JSON.

Rates are of CPU time; all are measured by turns, and medians are printed.
"""

import gc
import json
import random
import time
from statistics import median

from google.protobuf.message_factory import GetMessageClass

from benchmarks.avro_decoding import KINDS, flat_row, message_tuple, nested_row
from streamapp_core.protobuf.proto_files import compile_proto, find_message
from streamapp_core.protobuf.proto_writing import proto_text_of
from streamapp_core.schema import parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder, encode_json
from streamapp_runtime.rows.protobuf_messages import ProtobufDecoder
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protobuf.proto_decoding import ProtoRowReader
from streamapp_systems.protobuf.proto_encoding import encode_protobuf_rows

_ROWS, _ROUNDS = 20_000, 9


def main() -> None:
    gc.set_threshold(100_000, 20, 20)  # as in a worker
    draw = random.Random(7)
    for name, schema in KINDS.items():
        columns = schema.replace("decimal(9,2)", "double")  # Protobuf has no decimals
        rows = [flat_row(draw) if name == "flat" else priced(nested_row(draw)) for _ in range(_ROWS)]
        rates = [_rates(columns, [json.dumps(row).encode() for row in rows]) for _ in range(_ROUNDS)]
        print(f"{name}: million rows a second of a core")
        for what in rates[0]:
            print(f"  {what:>16}: {median(rate[what] for rate in rates):.2f}")


def priced(row: dict[str, object]) -> dict[str, object]:
    lines = row["lines"]
    assert isinstance(lines, list)
    return {**row, "lines": [{**line, "price": float(line["price"])} for line in lines]}


def _rates(columns: str, texts: list[bytes]) -> dict[str, float]:
    schema = parse_schema(columns)
    messages = message_tuple(texts)
    decoder = JsonDecoder(arrow_schema(schema))
    message = find_message(compile_proto(proto_text_of(schema, "Row")), None)
    reader, parse = ProtoRowReader(message, schema), GetMessageClass(message).FromString
    values = ProtobufDecoder(schema, message)
    written = message_tuple(encode_protobuf_rows(decoder.decode(messages, Ssp("s", "in", 0)).rows).to_pylist())
    values.decode(written, Ssp("s", "in", 0))  # the reader of the messages is made
    times = [time.process_time()]
    rows = decoder.decode(messages, Ssp("s", "in", 0)).rows
    times.append(time.process_time())
    encode_json(rows)
    times.append(time.process_time())
    encoded = encode_protobuf_rows(rows)
    times.append(time.process_time())
    found = values.decode(written, Ssp("s", "in", 0)).rows
    times.append(time.process_time())
    reader.read(encoded.to_pylist())
    times.append(time.process_time())
    for value in encoded.to_pylist():
        row = parse(value)
        for field in message.fields:
            getattr(row, field.name)
    times.append(time.process_time())
    assert found.equals(rows)
    what = ("JSON decoded", "JSON encoded", "Protobuf encoded", "Protobuf decoded", "by libraries", "by Google's")
    return {name: _ROWS / (end - begin) / 1e6 for name, begin, end in zip(what, times, times[1:], strict=False)}


if __name__ == "__main__":
    main()
