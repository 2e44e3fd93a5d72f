"""Writes records that can't be read, with their places and reasons, as JSON (docs/dead-letters.md)."""

import base64
import json

from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_systems.protocols import Headers, Producer


class DeadLetterWriter:
    """Sends dead letters in the transaction of what was read with them; each has its record's key and timestamp."""

    def __init__(self, producer: Producer, to: Ssp) -> None:
        """Take the partition that all go to."""
        self._producer = producer
        self._to = to

    def send(self, decoded: DecodedBatch) -> None:
        """Send those of a batch."""
        system, stream, partition = decoded.ssp
        for letter in decoded.dead_letters:
            message = letter.message
            content = {
                "system": system,
                "stream": stream,
                "partition": partition,
                "offset": message.offset,
                "timestamp": message.timestamp,
                "key": _text(message.key),
                "value": _text(message.value),
                "headers": _listed(letter.headers),
                "reason": letter.reason,
            }
            self._producer.send(self._to, json.dumps(content).encode(), key=message.key, timestamp=message.timestamp)


def _listed(headers: Headers | None) -> list[dict[str, str | None]] | None:
    return None if headers is None else [{"name": name, "value": _text(value)} for name, value in headers]


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
