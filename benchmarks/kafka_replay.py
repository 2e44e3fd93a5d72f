"""A generator that costs next to nothing: it sends the record batches that a topic holds to it again and again.

A client that is given messages takes half a microsecond for each; here a batch of thousands is one copy. The formats
are Kafka's: https://kafka.apache.org/documentation/#recordbatch, and Produce in version 3,
https://kafka.apache.org/protocol#The_Messages_Produce.
"""

import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException
from tools.kafka.broker import HOST

_ACKS, _TIMEOUT_MS = 1, 60_000
_PRODUCE, _VERSION = 0, 3
_HEADER = struct.Struct(">8x i 45x i")
"""Of a record batch: after its base offset its length from there on, and its count of records."""
_ANSWERED = struct.Struct(">i h 16x")
"""Of a partition: its number and an error's, before offset and time."""


class Batch(NamedTuple):
    """Rows as they are written to a log, with their first offset taken out, as brokers want it."""

    rows: int
    records: bytes


def batches(log: bytes) -> Iterator[Batch]:
    """Return the record batches of a segment of a log."""
    start = 0
    while start < len(log):
        length, rows = _HEADER.unpack_from(log, start)
        end = start + 12 + length
        yield Batch(rows=rows, records=bytes(8) + log[start + 8 : end])
        start = end


def request(topic: str, records: Sequence[bytes]) -> bytes:
    """Make the request with one record batch for each partition, from 0 on; brokers take no more at once."""
    name = topic.encode()
    head = struct.pack(">hhih hhi", _PRODUCE, _VERSION, 0, -1, -1, _ACKS, _TIMEOUT_MS)
    parts = [head, struct.pack(f">ih{len(name)}si", 1, len(name), name, len(records))]
    for partition, batch in enumerate(records):
        parts += (struct.pack(">ii", partition, len(batch)), batch)
    return struct.pack(">i", sum(map(len, parts))) + b"".join(parts)


def refused(answer: bytes) -> dict[int, int]:
    """Return the error code of each partition that did not take its batch; the answer is without its length."""
    _, _, name_length = struct.unpack_from(">iih", answer)
    start = 10 + name_length
    (count,) = struct.unpack_from(">i", answer, start)
    start += 4
    answers = _ANSWERED.iter_unpack(answer[start : start + count * _ANSWERED.size])
    return {partition: error for partition, error in answers if error}


class Replay:
    """Sends what a topic of so many partitions holds now. Another thread may look at `rows`: how many were taken."""

    def __init__(self, port: int, data: Path, topic: str, partitions: int) -> None:
        logs = [sorted((data / f"{topic}-{partition}").glob("*.log")) for partition in range(partitions)]
        self._rounds = zip(
            *(cycle([batch for log in of_partition for batch in batches(log.read_bytes())]) for of_partition in logs),
            strict=True,
        )
        self._port, self._topic = port, topic
        self.rows = 0

    def run(self, rate: int, seconds: float, wanted: Callable[[], bool]) -> float:
        """Send so many rows a second as long as they are wanted, and give the processor seconds that it took.

        Raises:
            KafkaException: the broker did not take a batch.
        """
        with socket.create_connection((HOST, self._port)) as connection, connection.makefile("rb") as answers:
            began, began_work = time.monotonic(), time.thread_time()
            while (passed := time.monotonic() - began) < seconds and wanted():
                early = self.rows / rate - passed
                if early > 0:
                    time.sleep(early)
                of_partitions = next(self._rounds)
                connection.sendall(request(self._topic, [batch.records for batch in of_partitions]))
                for error in refused(answers.read(int.from_bytes(answers.read(4)))).values():
                    raise KafkaException(KafkaError(error))
                self.rows += sum(batch.rows for batch in of_partitions)
            return time.thread_time() - began_work
