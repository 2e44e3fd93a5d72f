"""What two decoders of Avro find in the same records: the native one has to find what NumPy's does."""

import random

import numpy as np
import pyarrow as pa

from streamapp_core.avro.avro_schema import AvroType
from streamapp_core.schema import Schema
from streamapp_systems.avro.avro_decoding import AvroRowReader
from streamapp_systems.native.avro_programs import NativeAvroDecoder
from streamapp_systems.native.decoded_messages import MessageKind
from support.binary_messages import exactly
from support.hostile_avro import broken, random_avro, random_record

HEADER = b"\x00\x00\x00\x00\x07"


def check_records(avro: AvroType, schema: Schema, records: list[bytes]) -> tuple[int, int]:
    """Check that what the native decoder is sure of is what the other one finds; return how many rows both find."""
    found = NativeAvroDecoder(avro, schema).decode(exactly([HEADER + record for record in records]), HEADER)
    assert found is not None
    found.rows.validate(full=True)
    rows, kept, _ = AvroRowReader(avro, schema).read(records)
    sure = found.kinds == MessageKind.ROW
    assert not (sure & ~kept).any(), [records[place] for place in np.flatnonzero(sure & ~kept)]
    expected = rows.filter(pa.array(sure[kept]))
    assert found.rows.schema == expected.schema
    assert repr(found.rows.to_pylist()) == repr(expected.to_pylist())
    return int(sure.sum()), int(kept.sum())


def compare_records(draw: random.Random, records: int) -> tuple[int, int]:
    """Compare what both find in records of a random schema, some of them broken; return how many rows both find."""
    avro, schema = random_avro(draw)
    made = random_records(draw, avro, records, draw.choice([0, 0, 0.02, 0.1]), draw.choice([0, 1, 4]))
    return check_records(avro, schema, made)


def random_records(draw: random.Random, avro: AvroType, count: int, oddities: float, harmed: int) -> list[bytes]:
    """Return some records, and for each as many that are broken, in any order."""
    made: list[bytes] = []
    while len(made) < count:
        record = random_record(draw, avro, oddities)
        made += [record, *(broken(draw, record) for _ in range(harmed))]
    draw.shuffle(made)
    return made
