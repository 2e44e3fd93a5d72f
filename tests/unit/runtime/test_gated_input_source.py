"""Gated inputs over a system in memory: what is passed on, what is held, and what tasks note."""

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.gated_input_source import GatedInputSource
from streamapp_runtime.processor.partition_gate import PartitionGate, YoungerPartition
from streamapp_runtime.rows.decoded_batch import DecodedBatch

OLD, NEW = Ssp("log", "in", 0), Ssp("log", "in", 1)
ROWS = pa.table({"n": [1, 2]})


class Partitions:
    """What the next polls bring, and what was asked of them."""

    def __init__(self):
        self.waiting = []
        self.asked = []

    def poll(self, ssps, max_rows, timeout):
        self.asked.append((set(ssps), max_rows))
        brought = [part for part in self.waiting if part.ssp in ssps]
        self.waiting = [part for part in self.waiting if part.ssp not in ssps]
        yield from brought


class Owner:
    """A task, as far as it notes which of its partitions wait."""

    def __init__(self):
        self.noted = []

    def wait(self, ssp):
        self.noted.append(("waits", ssp))

    def follow(self, ssp):
        self.noted.append(("follows", ssp))


def part(ssp, next_offset, rows=ROWS):
    return DecodedBatch(ssp=ssp, next_offset=next_offset, rows=rows)


class Setting:
    def __init__(self, *, empty=False):
        self.partitions, self.owner = Partitions(), Owner()
        self.ends, self.now = {OLD: 0, NEW: 0}, 0
        self.gate = PartitionGate(
            {NEW: YoungerPartition(parents=(OLD,), until=100)}, {OLD: 0, NEW: 0}, {NEW} if empty else set()
        )
        self.inputs = GatedInputSource(
            self.partitions,
            self.gate,
            owners={OLD: [self.owner], NEW: [self.owner]},
            written_offsets=lambda streams: self.ends,
            time_of_day=lambda: self.now,
        )

    def poll(self):
        return [(p.ssp, p.next_offset, p.ungated) for p in self.inputs.poll([OLD, NEW], 5_000, 0.0)]


def test_rows_of_a_new_partition_come_after_what_its_parent_held_then():
    s = Setting()
    s.ends = {OLD: 7, NEW: 2}
    s.partitions.waiting = [part(NEW, 2), part(OLD, 4)]
    assert s.poll() == [(OLD, 4, False)]
    assert s.owner.noted == [("waits", NEW)]
    s.partitions.waiting = [part(NEW, 9), part(OLD, 7)]
    s.partitions.asked.clear()
    assert s.poll() == [(OLD, 7, False), (NEW, 2, False)]
    assert s.partitions.asked == [({OLD}, 5_000)]
    s.ends = {OLD: 7, NEW: 9}
    assert s.poll() == [(NEW, 9, False)]


def test_what_follows_held_rows_waits_with_them():
    s = Setting()
    s.ends = {OLD: 1, NEW: 4}
    s.partitions.waiting = [part(NEW, 1, rows=None), part(NEW, 2), part(NEW, 3, rows=None), part(NEW, 4)]
    assert s.poll() == [(NEW, 1, False)]
    s.partitions.waiting = [part(OLD, 1)]
    assert s.poll() == [(OLD, 1, False), (NEW, 2, False), (NEW, 3, False), (NEW, 4, False)]


def test_after_the_grace_period_and_one_more_wait_nothing_is_gated_or_asked():
    s = Setting()
    s.now = 100
    s.partitions.waiting = [part(NEW, 2), part(NEW, 4)]
    assert s.poll() == [(NEW, 2, False), (NEW, 4, True)]
    s.ends = {}
    s.partitions.waiting = [part(NEW, 6)]
    assert s.poll() == [(NEW, 6, False)]
    assert s.partitions.asked[-1] == ({OLD, NEW}, 5_000)


def test_an_empty_partition_follows_its_parents_until_rows_wait_in_it():
    s = Setting(empty=True)
    assert s.poll() == []
    assert s.owner.noted == [("follows", NEW)]
    s.owner.noted.clear()
    s.ends = {OLD: 1, NEW: 1}
    s.partitions.waiting = [part(NEW, 1)]
    assert s.poll() == []
    assert s.owner.noted == [("waits", NEW)]


def test_gated_partitions_share_the_rows_of_one_poll():
    s = Setting()
    s.gate.younger.update(
        {Ssp("log", "in", number): YoungerPartition(parents=(OLD,), until=100) for number in range(2, 5)}
    )
    s.poll()
    assert s.partitions.asked == [({OLD}, 5_000), ({NEW}, 1_250)]
