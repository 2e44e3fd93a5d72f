"""Rows as JSON messages: one object a message, for streams that other programs read and write."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_systems.file.json_format import json_lines, parse_lines
from streamapp_systems.file.pieces import Misfit
from streamapp_systems.protocols import BadRecord, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRows:
    """The rows of some messages, when each was written (milliseconds), and the messages that are no rows."""

    rows: pa.Table
    timestamps: tuple[int, ...]
    bad: tuple[BadRecord, ...]


def decode_json(messages: Sequence[Message], schema: pa.Schema, ssp: Ssp) -> JsonRows:
    """Read messages that have values; fields the schema lacks are ignored, those it has more are null."""
    lines = [_one_line(message.value or b"") for message in messages]
    batches, timestamps, bad = [], [], []
    position = 0
    for piece in parse_lines(lines, schema) if lines else ():
        message = messages[position]
        if isinstance(piece, Misfit):
            bad.append(BadRecord(ssp, message.offset, piece.reason))
            position += 1
        else:
            batches.append(piece)
            timestamps += [m.timestamp for m in messages[position : position + len(piece)]]
            position += len(piece)
    return JsonRows(rows=pa.Table.from_batches(batches, schema), timestamps=tuple(timestamps), bad=tuple(bad))


def encode_json(rows: pa.Table) -> Iterator[bytes]:
    """Write each row as the value of a message."""
    return (line.encode() for line in json_lines(rows))


def _one_line(value: bytes) -> bytes:
    """Bring an object that is written over several lines onto one; what is no JSON stays, and is found out later."""
    if b"\n" not in value:
        return value + b"\n"
    try:
        return json.dumps(json.loads(value)).encode() + b"\n"
    except ValueError:
        return value.replace(b"\n", b" ") + b"\n"
