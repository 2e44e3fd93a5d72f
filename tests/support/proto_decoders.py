"""What two decoders of Protobuf find in the same messages: the native one has to find what the libraries' does."""

import random

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from streamapp_core.schema import Schema
from streamapp_systems.native.decoded_messages import MessageKind
from streamapp_systems.native.proto_programs import NativeProtoDecoder
from streamapp_systems.protobuf.proto_decoding import ProtoRowReader
from support.binary_messages import exactly
from support.hostile_proto import broken_message, random_proto, random_proto_message

HEADER = b"\x00\x00\x00\x00\x07\x00"


def check_messages(message: Descriptor, schema: Schema, values: list[bytes]) -> tuple[int, int]:
    """Check that what the native decoder is sure of is what the other one finds; return how many rows both find."""
    found = NativeProtoDecoder(message, schema).decode(exactly([HEADER + value for value in values]), HEADER)
    assert found is not None
    found.rows.validate(full=True)
    rows, kept, _ = ProtoRowReader(message, schema).read(values)
    sure = found.kinds == MessageKind.ROW
    assert not (sure & ~kept).any(), [values[place] for place in np.flatnonzero(sure & ~kept)]
    expected = rows.filter(pa.array(sure[kept]))
    assert found.rows.schema == expected.schema
    assert repr(found.rows.to_pylist()) == repr(expected.to_pylist())
    return int(sure.sum()), int(kept.sum())


def compare_messages(draw: random.Random, messages: int) -> tuple[int, int]:
    """Compare what both find in random messages, some of them broken; return how many rows both find."""
    message, schema = random_proto(draw)
    made = random_messages(draw, message, messages, draw.choice([0, 0, 0.02, 0.1]), draw.choice([0, 1, 4]))
    return check_messages(message, schema, made)


def random_messages(draw: random.Random, message: Descriptor, count: int, oddities: float, harmed: int) -> list[bytes]:
    """Return some messages, and for each as many that are broken, in any order."""
    made: list[bytes] = []
    while len(made) < count:
        value = random_proto_message(draw, message, oddities)
        made += [value, *(broken_message(draw, value) for _ in range(harmed))]
    draw.shuffle(made)
    return made
