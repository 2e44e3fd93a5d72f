"""The CPU that decoding and encoding of JSON messages takes, for flat rows and for nested ones.

Rates are of a second of CPU, as if a core did nothing else; kinds of rows and decoders go by turns, and medians of all
turns are printed: those of machines with other work are still comparable. Arrow's own parser, on one buffer of lines,
shows what a good reader of JSON takes that neither judges what it skips nor says which record is bad; it reads no maps.
"""

import gc
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.json

from streamapp_core.schema import parse_schema
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder, encode_json
from streamapp_runtime.rows.json_objects import JsonObjectDecoder
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.native.library import native_library
from streamapp_systems.protocols import MessageColumns

_ROWS, _ROUNDS = 10_000, 30
_RATIO, _ROWS_OF_SMALL, _NESTED_SHARE = 3.0, 3e6, 0.4
SMALL = "id bigint, user string, amount double, at timestamp, status string, note string, count int, ok boolean"
_UNREAD = ("id", "status", "note", "count", "ok")
FLAT = ", ".join(
    [*(f"text{n} string" for n in range(16)), *(f"number{n} bigint" for n in range(8)), "amount double, at timestamp"]
)
NESTED = (
    "id string, at timestamp, "
    "customer struct<name:string,mail:string,address:struct<street:string,city:string,zip:int>>, "
    "lines array<struct<sku:string,name:string,count:int,price:double,tags:array<string>>>, labels map<string,string>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Rows of one kind: their messages, and what reads them, by name."""

    size: int
    readers: Mapping[str, Callable[[], object]]
    written: pa.Table


def main() -> None:
    gc.set_threshold(100_000, 20, 20)  # as in a worker
    draw = random.Random(7)
    kinds = {
        "small": _kind(SMALL, [_small(draw) for _ in range(_ROWS)], _UNREAD),
        "flat": _kind(FLAT, [_flat(draw) for _ in range(_ROWS)]),
        "nested": _kind(NESTED, [_nested(draw) for _ in range(_ROWS)]),
    }
    rounds = [{name: _times(kind) for name, kind in kinds.items()} for _ in range(_ROUNDS)]
    for name, kind in kinds.items():
        print(f"{name}: rows of {kind.size} bytes, {len(_UNREAD) if name == 'small' else 0} columns not read")
        for what in rounds[0][name]:
            seconds = median(times[name][what] for times in rounds)
            print(f"  {what:>22}: {_ROWS / seconds / 1e6:5.2f} M rows/s, {_ROWS * kind.size / seconds / 1e6:5.0f} MB/s")
    if why := native_library().why_absent:
        print(f"there is no native library: {why}")
        return
    ratios = {name: median(times[name]["by objects"] / times[name]["native"] for times in rounds) for name in kinds}
    print("native against objects:", ", ".join(f"{name} {ratio:.1f}" for name, ratio in ratios.items()), end=" ")
    print(f"times the rate (at least {_RATIO:.1f})")
    small = _ROWS / median(times["small"]["native"] for times in rounds)
    print(f"small rows: {small / 1e6:.2f} M a second (at least {_ROWS_OF_SMALL / 1e6:.1f})")
    sizes = kinds["nested"].size / kinds["flat"].size
    share = median(sizes * times["flat"]["native"] / times["nested"]["native"] for times in rounds)
    print(f"nested rows are decoded at {share:.0%} of the flat rate per byte (at least {_NESTED_SHARE:.0%})")


def _kind(columns: str, rows: list[dict[str, object]], unread: tuple[str, ...] = ()) -> _Kind:
    values = [json.dumps(row, separators=(",", ":")).encode() for row in rows]
    messages = MessageColumns(
        offset_column=np.arange(len(values)),
        timestamp_column=np.zeros(len(values), np.int64),
        key_column=pa.nulls(len(values), pa.binary()),
        value_column=pa.array(values, pa.binary()),
    )
    schema, ssp = arrow_schema(parse_schema(columns)), Ssp("s", "in", 0)
    read = pa.schema([field for field in schema if field.name not in unread and not pa.types.is_map(field.type)])
    native, objects = JsonDecoder(schema, unread), JsonObjectDecoder(schema, unread)
    found = native.decode(messages, ssp)
    assert len(found.rows) == len(values)
    return _Kind(
        size=sum(map(len, values)) // len(values),
        readers={
            "native": partial(native.decode, messages, ssp),
            "by objects": partial(objects.decode, messages, ssp),
            "Arrow's parser": partial(_parse, b"\n".join(values), read),
        },
        written=objects.decode(messages, ssp).rows,
    )


def _parse(lines: bytes, schema: pa.Schema) -> pa.Table:
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    read = pa.json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    return pa.json.read_json(pa.BufferReader(lines), read_options=read, parse_options=options)


def _times(kind: _Kind) -> dict[str, float]:
    """Return the seconds of CPU that each reader takes, and the encoding of the rows."""
    return {
        name: _seconds(work) for name, work in [*kind.readers.items(), ("encoding", partial(encode_json, kind.written))]
    }


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    made = work()
    done = time.process_time()
    del made
    return done - began


def _small(draw: random.Random) -> dict[str, object]:
    return {
        "id": draw.randrange(10**8),
        "user": f"user-{draw.randrange(10**6):06}",
        "amount": round(draw.random() * 1000, 2),
        "at": _at(draw),
        "status": draw.choice(["paid", "open", "late"]),
        "note": _text(draw, 20),
        "count": draw.randrange(100),
        "ok": True,
    }


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
