"""What the generator of the steady benchmark says to a broker."""

import struct

from benchmarks.kafka_replay import Batch, batches, refused, request


def log_batch(offset, rows, records):
    """Make a record batch as a log has it; only its offset, length and count matter here."""
    inner = struct.pack(">ibIhiqqqhii", 7, 2, 0xC0FFEE, 0, rows - 1, 1, 2, -1, -1, -1, rows) + records
    return struct.pack(">qi", offset, len(inner)) + inner


def test_batches_of_a_log_are_as_at_offset_zero():
    log = log_batch(40, 3, b"abc") + log_batch(43, 2, b"")
    assert list(batches(log)) == [
        Batch(rows=3, records=log_batch(0, 3, b"abc")),
        Batch(rows=2, records=log_batch(0, 2, b"")),
    ]


def test_a_request_has_one_batch_for_each_partition():
    head = bytes.fromhex("0000 0003 00000000 ffff ffff 0001 0000ea60 00000001 0002") + b"in"
    of_partitions = bytes.fromhex("00000002 00000000 00000003") + b"abc" + bytes.fromhex("00000001 00000001") + b"x"
    message = head + of_partitions
    assert request("in", [b"abc", b"x"]) == len(message).to_bytes(4) + message


def test_an_answer_tells_which_partitions_refused_their_batch():
    def answer(*errors):
        told = b"".join(struct.pack(">ihqq", partition, error, 9, -1) for partition, error in enumerate(errors))
        return struct.pack(">iih2si", 5, 1, 2, b"in", len(errors)) + told + struct.pack(">i", 0)

    assert refused(answer(0, 10, 0, 3)) == {1: 10, 3: 3}
    assert refused(answer(0, 0)) == {}
