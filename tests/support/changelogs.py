"""A changelog in a list, which compaction thins out."""

import numpy as np
import pyarrow as pa

from streamapp_systems.protocols import Message, MessageColumns, MessageTuple


def changed_pairs(changes):
    """Return the keys and values of entries."""
    return [pair for keys, values in changes for pair in zip(keys.to_pylist(), values.to_pylist(), strict=True)]


def as_columns(messages):
    """Return messages as Kafka's reader has them, amid others."""
    before = Message(-1, 0, b"before", b"it")
    columns = [list(column) for column in zip(*[before, *messages], strict=True)]
    offsets, times = (np.array(column, np.int64) for column in columns[:2])
    keys, values = (pa.array(column, pa.binary()) for column in columns[2:])
    found = MessageColumns(offset_column=offsets, timestamp_column=times, key_column=keys, value_column=values)
    return found.slice(1, len(found))


class Changelog:
    """What a `TaskState` reads, and the test writes."""

    def __init__(self, name="changelog", at_once=20):
        self.name = name
        self.at_once = at_once
        self.records = []
        self.next = 0

    def append(self, entries):
        for key, value in entries:
            self.records.append(Message(self.next, 0, key, value))
            self.next += 1

    def compact(self):
        newest = {record.key: record.offset for record in self.records}
        self.records = [record for record in self.records if newest[record.key] == record.offset]

    def identity(self):
        return self.name

    def end(self):
        return self.next

    def read(self, start, end):
        here = [record for record in self.records if start <= record.offset < end]
        for first in range(0, len(here), self.at_once):
            some = MessageTuple(here[first : first + self.at_once])
            yield as_columns(some) if first % (2 * self.at_once) else some
        yield MessageTuple()
