"""A changelog in a list, which compaction thins out."""

from streamapp_systems.protocols import Message, MessageTuple

_AT_ONCE = 20


def changed_pairs(changes):
    """Return the keys and values of entries."""
    return [pair for keys, values in changes for pair in zip(keys.to_pylist(), values.to_pylist(), strict=True)]


class Changelog:
    """What a `TaskState` reads, and the test writes."""

    def __init__(self, name="changelog"):
        self.name = name
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
        for first in range(0, len(here), _AT_ONCE):
            yield MessageTuple(here[first : first + _AT_ONCE])
        yield MessageTuple()
