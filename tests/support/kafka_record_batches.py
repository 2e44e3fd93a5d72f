"""Kafka's record batches (format 2), without compression: as much of them as tests need."""

import struct
from typing import NamedTuple

from simulation.kafka_requests import FetchedRecord

_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_HEADER = struct.Struct(">qiibIhiqqqhii")


class Batch(NamedTuple):
    """A batch as it lies in the log; `marker` is None for records, else whether it commits."""

    offset: int
    next_offset: int
    producer_id: int
    marker: bool | None
    records: tuple[FetchedRecord, ...]


def encode_batch(producer, sequence, records):
    """Write a transactional batch of records."""
    first = records[0].timestamp
    body = b"".join(_encode_record(delta, record, first) for delta, record in enumerate(records))
    latest = max(record.timestamp for record in records)
    checked = struct.pack(
        ">hiqqqhii", _TRANSACTIONAL, len(records) - 1, first, latest, *producer, sequence, len(records)
    )
    checked += body
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, _crc32c(checked)) + checked


def encode_records(records):
    """Write a batch, without a producer's id, of records: a value and the names and values of headers, all bytes."""
    body = b"".join(
        _encode_record(delta, FetchedRecord(delta, 0, None, value), 0, headers)
        for delta, (value, headers) in enumerate(records)
    )
    checked = struct.pack(">hiqqqhii", 0, len(records) - 1, 0, 0, -1, -1, -1, len(records)) + body
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, _crc32c(checked)) + checked


def decode_batches(data):
    """Read the batches that are whole; the last one of an answer may be cut off."""
    place = 0
    while place + 12 <= len(data):
        (length,) = struct.unpack_from(">i", data, place + 8)
        if place + 12 + length > len(data):
            return
        yield _decode_batch(data[place : place + 12 + length])
        place += 12 + length


def _decode_batch(data):
    offset, _, _, _, _, attributes, last_delta, time, _, producer_id, _, _, count = _HEADER.unpack_from(data)
    assert not attributes & 7, "compressed"
    place, records = _HEADER.size, []
    for _ in range(count):
        record, place = _decode_record(data, place, offset, time)
        records.append(record)
    marker = struct.unpack_from(">hh", records[0].key)[1] == 1 if attributes & _CONTROL else None
    return Batch(offset, offset + last_delta + 1, producer_id, marker, tuple(records))


def _encode_record(delta, record, first, headers=()):
    body = b"\0" + _varint(record.timestamp - first) + _varint(delta)
    body += _encode_part(record.key) + _encode_part(record.value) + _varint(len(headers))
    body += b"".join(_encode_part(name) + _encode_part(value) for name, value in headers)
    return _varint(len(body)) + body


def _encode_part(part):
    return _varint(-1) if part is None else _varint(len(part)) + part


def _decode_record(data, place, offset, time):
    length, place = _read_varint(data, place)
    end = place + length
    time_delta, place = _read_varint(data, place + 1)
    offset_delta, place = _read_varint(data, place)
    parts = []
    for _ in range(2):
        size, place = _read_varint(data, place)
        parts.append(None if size < 0 else data[place : place + size])
        place += max(size, 0)
    return FetchedRecord(offset + offset_delta, time + time_delta, *parts), end


def _varint(number):
    zigzag = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while zigzag >= 0x80:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)


def _read_varint(data, place):
    shift = zigzag = 0
    while True:
        byte = data[place]
        place += 1
        zigzag |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (zigzag >> 1) ^ -(zigzag & 1), place


def _crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _table():
    for number in range(256):
        value = number
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        yield value


_TABLE = list(_table())
