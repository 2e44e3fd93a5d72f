"""The rows that a core decodes and encodes in a second: as Avro, in C, by NumPy, by fastavro; and as JSON.

Rates are of CPU time; all are measured by turns, and medians are printed.
"""

import gc
import io
import json
import random
import time
from collections.abc import Iterable
from statistics import median

import fastavro

from streamapp_core.avro.avro_schema import parse_avro_schema
from streamapp_core.avro.avro_writing import avro_schema_of
from streamapp_core.schema import parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.avro_messages import AvroDecoder
from streamapp_runtime.rows.json_messages import JsonDecoder, encode_json
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.avro.avro_decoding import AvroRowReader
from streamapp_systems.avro.avro_encoding import AvroRowWriter
from streamapp_systems.protocols import Message, MessageTuple

_ROWS, _ROUNDS = 20_000, 9
KINDS = {
    "flat": "id bigint, customer string, amount double, at timestamp, kind string, count int, paid boolean, "
    "note string",
    "nested": "id bigint, customer struct<name:string,zip:int>, at timestamp, "
    "lines array<struct<sku:string,count:int,price:decimal(9,2)>>, labels map<string,string>",
}


def main() -> None:
    gc.set_threshold(100_000, 20, 20)  # as in a worker
    draw = random.Random(7)
    for name, schema in KINDS.items():
        rows = [flat_row(draw) if name == "flat" else nested_row(draw) for _ in range(_ROWS)]
        rates = [_rates(schema, [json.dumps(row).encode() for row in rows]) for _ in range(_ROUNDS)]
        print(f"{name}: million rows a second of a core")
        for what in rates[0]:
            print(f"  {what:>16}: {median(rate[what] for rate in rates):.2f}")


def _rates(columns: str, texts: list[bytes]) -> dict[str, float]:
    schema = parse_schema(columns)
    messages = message_tuple(texts)
    decoder, document = JsonDecoder(arrow_schema(schema)), avro_schema_of(schema, "row")
    theirs = fastavro.parse_schema(document)
    record = parse_avro_schema(json.dumps(document))
    reader, writer = AvroRowReader(record, schema), AvroRowWriter(record, schema)
    records = AvroDecoder(schema, json.dumps(document))
    written = message_tuple(writer.write(decoder.decode(messages, Ssp("s", "in", 0)).rows).to_pylist())
    records.decode(written, Ssp("s", "in", 0))  # the reader of the schema is made
    times = [time.process_time()]
    rows = decoder.decode(messages, Ssp("s", "in", 0)).rows
    times.append(time.process_time())
    encode_json(rows)
    times.append(time.process_time())
    values = writer.write(rows)
    times.append(time.process_time())
    found = records.decode(written, Ssp("s", "in", 0)).rows
    times.append(time.process_time())
    reader.read(values.to_pylist())
    times.append(time.process_time())
    for value in values.to_pylist():
        fastavro.schemaless_reader(io.BytesIO(value), theirs, None)
    times.append(time.process_time())
    assert found.equals(rows)
    what = ("JSON decoded", "JSON encoded", "Avro encoded", "Avro decoded", "by NumPy", "by fastavro")
    return {name: _ROWS / (end - begin) / 1e6 for name, begin, end in zip(what, times, times[1:], strict=False)}


def message_tuple(values: Iterable[bytes]) -> MessageTuple:
    return MessageTuple(Message(offset, 0, None, value) for offset, value in enumerate(values))


def flat_row(draw: random.Random) -> dict[str, object]:
    return {
        "id": draw.randrange(10**6),
        "customer": draw.choice([None, f"customer {draw.randrange(10**4)}"]),
        "amount": draw.random(),
        "at": f"2024-05-01T10:{draw.randrange(60):02}:00.{draw.randrange(10**6):06}Z",
        "kind": draw.choice("AB"),
        "count": draw.randrange(100),
        "paid": draw.random() < 0.5,
        "note": f"some text of a note {draw.randrange(10**6)}",
    }


def nested_row(draw: random.Random) -> dict[str, object]:
    return {
        "id": draw.randrange(10**6),
        "customer": {"name": f"customer {draw.randrange(10**4)}", "zip": draw.randrange(10**5)},
        "at": "2024-05-01T10:00:00Z",
        "lines": [
            {"sku": f"sku {draw.randrange(10**4)}", "count": draw.randrange(9), "price": f"{draw.randrange(9999)}.50"}
            for _ in range(draw.randrange(4))
        ],
        "labels": {"a": "x", "b": f"{draw.randrange(10**4)}"},
    }


if __name__ == "__main__":
    main()
