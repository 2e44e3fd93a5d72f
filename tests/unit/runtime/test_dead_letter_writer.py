"""Dead letters as JSON: bytes and headers in base64, and null for what there is not."""

import json

import pytest

from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.decoded_batch import DeadLetter, DecodedBatch
from streamapp_runtime.writing.dead_letter_writer import DeadLetterWriter
from streamapp_systems.protocols import Message

FROM, TO = Ssp("kafka", "orders", 3), Ssp("kafka", "_dead-letters", 0)


class SentRecords(list):
    """A producer that keeps what it sends."""

    def send(self, ssp, value, *, key, timestamp):
        self.append((ssp, json.loads(value), key, timestamp))


@pytest.mark.parametrize(
    "headers, written",
    [
        ((), []),
        (None, None),
        (
            (("trace", b"\xff"), ("none", None), ("trace", b"")),
            [{"name": "trace", "value": "/w=="}, {"name": "none", "value": None}, {"name": "trace", "value": ""}],
        ),
    ],
)
def test_a_letter_has_all_that_its_record_has(headers, written):
    sent = SentRecords()
    letter = DeadLetter(Message(428, 7, b"key", b"\xfe"), "column n: it is no int", headers)
    batch = DecodedBatch(ssp=FROM, next_offset=429, rows=None, dead_letters=(letter,))
    DeadLetterWriter(sent, TO).send(batch)
    content = {"system": "kafka", "stream": "orders", "partition": 3, "offset": 428, "timestamp": 7, "key": "a2V5"}
    content |= {"value": "/g==", "headers": written, "reason": "column n: it is no int"}
    assert sent == [(TO, content, b"key", 7)]
