"""The CPU that decoding and encoding of JSON messages takes, for flat rows and for nested ones of the same size.

Rates are bytes of JSON in a second of CPU, as if a core did nothing else; both kinds of rows are decoded by turns,
and medians of all turns are printed: those of machines with other work are still comparable.
"""

import gc
import json
import random
import time
from statistics import median

from streamapp_core.schema import parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder, encode_json
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import Message, MessageTuple

_ROWS, _ROUNDS, _LEAST = 5_000, 30, 0.5
FLAT = ", ".join(
    [*(f"text{n} string" for n in range(16)), *(f"number{n} bigint" for n in range(8)), "amount double, at timestamp"]
)
NESTED = (
    "id string, at timestamp, "
    "customer struct<name:string,mail:string,address:struct<street:string,city:string,zip:int>>, "
    "lines array<struct<sku:string,name:string,count:int,price:double,tags:array<string>>>, labels map<string,string>"
)


def main() -> None:
    gc.set_threshold(100_000, 20, 20)  # as in a worker
    draw = random.Random(7)
    kinds = {
        "flat": (FLAT, [_flat(draw) for _ in range(_ROWS)]),
        "nested": (NESTED, [_nested(draw) for _ in range(_ROWS)]),
    }
    values = {
        name: [json.dumps(row, separators=(",", ":")).encode() for row in rows] for name, (_, rows) in kinds.items()
    }
    rates = [{name: _rates(schema, values[name]) for name, (schema, _) in kinds.items()} for _ in range(_ROUNDS)]
    for name, texts in values.items():
        decoded, encoded = (median(rate[name][which] for rate in rates) for which in range(2))
        size = sum(map(len, texts)) // _ROWS
        print(f"{name:>6}: rows of {size} bytes, decoded {decoded:.0f} MB/s, encoded {encoded:.0f} MB/s")
    share = median(rate["nested"][0] / rate["flat"][0] for rate in rates)
    print(f"nested rows are decoded at {share:.0%} of the flat rate (at least {_LEAST:.0%})")


def _rates(columns: str, values: list[bytes]) -> tuple[float, float]:
    """Return how many MB of these messages a second of CPU decodes, and encodes."""
    messages = MessageTuple(Message(offset, 0, None, value) for offset, value in enumerate(values))
    decoder = JsonDecoder(arrow_schema(parse_schema(columns)))
    began = time.process_time()
    read = decoder.decode(messages, Ssp("s", "in", 0))
    decoded = time.process_time()
    encode_json(read.rows)
    done = time.process_time()
    assert not read.bad
    assert len(read.rows) == _ROWS
    size = sum(map(len, values)) / 1e6
    return size / (decoded - began), size / (done - decoded)


def _text(draw: random.Random, length: int) -> str:
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz ", k=length))


def _at(draw: random.Random) -> str:
    return f"2024-05-{draw.randint(1, 28):02}T{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:00.125Z"


def _flat(draw: random.Random) -> dict[str, object]:
    texts = {f"text{n}": _text(draw, 34) for n in range(16)}
    numbers = {f"number{n}": draw.randrange(10**9) for n in range(8)}
    return {**texts, **numbers, "amount": draw.random(), "at": _at(draw)}


def _nested(draw: random.Random) -> dict[str, object]:
    address = {"street": _text(draw, 24), "city": _text(draw, 12), "zip": draw.randrange(10**5)}
    lines = [
        {
            "sku": _text(draw, 10),
            "name": _text(draw, 40),
            "count": draw.randrange(9),
            "price": draw.random(),
            "tags": [_text(draw, 8), _text(draw, 8)],
        }
        for _ in range(4)
    ]
    return {
        "id": _text(draw, 20),
        "at": _at(draw),
        "customer": {"name": _text(draw, 20), "mail": _text(draw, 20), "address": address},
        "lines": lines,
        "labels": {_text(draw, 6): _text(draw, 20) for _ in range(4)},
    }
