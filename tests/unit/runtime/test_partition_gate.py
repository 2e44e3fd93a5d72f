"""The gate against producers with old and new metadata: the rows of every key keep their order, and none waits forever.

A log in memory has one key per row, and of each key the numbers 0, 1, 2, ... in the order they were written. Everything
happens in a random order.
"""

from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.ssp import Ssp
from streamapp_core.tasks import MODULO
from streamapp_core.tasks.parent_partitions import parents
from streamapp_runtime.processor.partition_gate import PartitionGate, YoungerPartition

GRACE_END = 100
KEYS = 5


def ssp(partition):
    return Ssp("log", "in", partition)


class Stream:
    """A stream with `partitions` partitions, read through a gate by what may be restarted at any time."""

    def __init__(self, initial):
        self.initial = initial
        self.partitions = {partition: [] for partition in range(initial)}
        self.counts = [initial]
        self.written = dict.fromkeys(range(KEYS), 0)
        self.committed = dict.fromkeys(range(initial), 0)
        self.ungated = set()
        self.processed = defaultdict(list)
        self.now = 0
        self.start()

    def write(self, key, metadata):
        """Append the next row of a key, as a producer that knows the number of partitions after so many growths."""
        self.partitions[key % self.counts[metadata]].append((key, self.written[key]))
        self.written[key] += 1

    def grow(self, factor):
        count = self.counts[-1] * factor
        self.counts.append(count)
        self.partitions |= {partition: [] for partition in range(self.counts[-2], count)}
        self.committed |= dict.fromkeys(range(self.counts[-2], count), 0)
        self.start()

    def start(self):
        """Start again from what is committed: batches that waited are gone."""
        self.read = dict(self.committed)
        grew_from = MODULO.initial_partitions(self.counts[-1], self.initial)
        younger = {
            ssp(partition): YoungerPartition(parents=tuple(map(ssp, parents(partition, grew_from))), until=GRACE_END)
            for partition in range(self.initial, self.counts[-1])
            if partition not in self.ungated
        }
        positions = {ssp(partition): position for partition, position in self.committed.items()}
        self.gate = PartitionGate(younger, positions, {one for one in younger if not positions[one]})

    def fetch(self, partition, most):
        """Read a batch of a partition, unless one of it waits; process or hold it."""
        partition %= self.counts[-1]
        one, start = ssp(partition), self.read[partition]
        batch = self.partitions[partition][start : start + most]
        if one in self.gate.waiting or not batch:
            return
        self.read[partition] = start + len(batch)
        if one in self.gate.younger:
            self.gate.hold(one, batch)
        else:
            self.process(partition, batch)

    def answer(self):
        """Answer with the ends of all streams that the gate asks for."""
        if self.gate.streams_to_ask:
            self.gate.answer({ssp(p): len(rows) for p, rows in self.partitions.items()}, self.now)

    def release(self):
        while released := self.gate.release(map(ssp, self.partitions)):
            if released.last:
                self.ungated.add(released.ssp.partition)
            for batch in released.batches:
                self.process(released.ssp.partition, batch)

    def process(self, partition, batch):
        for key, number in batch:
            self.processed[key].append(number)
        self.committed[partition] += len(batch)
        self.gate.passed(ssp(partition), self.committed[partition], ended=False)

    def settle(self, random):
        """Read everything there is."""
        for _ in range(2 + sum(map(len, self.partitions.values()))):
            for partition in random.sample(list(self.partitions), len(self.partitions)):
                self.fetch(partition, 1)
            self.answer()
            self.release()


def history(random, growths, steps=150):
    """Writes, reads and growths; a key's producer takes up new metadata at any time, and never goes back."""
    known = dict.fromkeys(range(KEYS), 0)
    when = {random.randrange(steps) for _ in range(growths)}
    grown = 0
    for step in range(steps):
        if step in when:
            grown += 1
            yield "grow", random.choice([2, 2, 3])
        what = random.choices(["write", "fetch", "answer", "release", "start"], [8, 8, 3, 3, 0.3])[0]
        if what == "write":
            key = random.randrange(KEYS)
            known[key] = random.choice([known[key]] * 3 + [grown])
            yield what, key, known[key]
        elif what == "fetch":
            yield what, random.randrange(64), random.randrange(1, 5)
        else:
            yield (what,)


def run(stream, steps):
    for name, *arguments in steps:
        getattr(stream, name)(*arguments)


def in_order(stream):
    return dict(stream.processed) == {key: list(range(count)) for key, count in stream.written.items() if count}


@settings(max_examples=150)
@given(st.randoms(use_true_random=True), st.integers(1, 4), st.integers(1, 3))
def test_every_key_is_processed_in_order_and_once_and_nothing_waits_forever(random, initial, growths):
    stream = Stream(initial)
    run(stream, history(random, growths))
    for numbers in stream.processed.values():
        assert numbers == list(range(len(numbers)))
    stream.settle(random)
    assert in_order(stream)
    assert not stream.gate.waiting


@settings(max_examples=100)
@given(st.randoms(use_true_random=True), st.integers(1, 4), st.integers(1, 3))
def test_a_backlog_read_after_the_grace_period_keeps_its_order_and_each_partition_is_ungated_for_good(
    random, initial, growths
):
    stream = Stream(initial)
    run(stream, (step for step in history(random, growths) if step[0] in ("write", "grow")))
    stream.now = GRACE_END
    newest = len(stream.counts) - 1
    run(stream, (step if step[0] != "write" else ("write", step[1], newest) for step in history(random, 0)))
    stream.settle(random)
    assert in_order(stream)
    read = {partition for partition, rows in stream.partitions.items() if rows}
    assert stream.ungated == {partition for partition in read if partition >= initial}
    stream.start()
    assert {one.partition for one in stream.gate.younger} == stream.partitions.keys() - range(initial) - read


def gate(*, empty=(), until=GRACE_END):
    """Partitions 1 and 2 came after 0."""
    younger = {
        ssp(1): YoungerPartition(parents=(ssp(0),), until=until),
        ssp(2): YoungerPartition(parents=(ssp(0), ssp(1)), until=until),
    }
    return PartitionGate(younger, dict.fromkeys(map(ssp, range(3)), 0), set(map(ssp, empty)))


def released(gate):
    found = gate.release(map(ssp, range(3)))
    return found and (found.ssp.partition, *found.batches, found.last)


def test_a_batch_waits_for_the_end_its_parent_had_after_it_was_fetched():
    g = gate()
    g.answer({ssp(0): 5, ssp(1): 0}, 0)
    g.hold(ssp(1), "rows")
    g.passed(ssp(0), 5, ended=False)
    assert released(g) is None
    assert g.streams_to_ask == {"in"}
    g.answer({ssp(0): 7, ssp(1): 1, ssp(2): 0}, 0)
    assert not g.streams_to_ask
    g.passed(ssp(0), 6, ended=False)
    assert released(g) is None
    g.passed(ssp(0), 7, ended=False)
    assert released(g) == (1, "rows", False)


def test_all_that_one_poll_brought_of_a_partition_waits_together():
    g = gate()
    g.hold(ssp(1), "rows")
    g.hold(ssp(1), "more")
    g.answer(dict.fromkeys(map(ssp, range(3)), 0), 0)
    assert released(g) == (1, "rows", "more", False)
    assert not g.waiting


def test_only_asked_partitions_are_released():
    g = gate()
    g.hold(ssp(1), "rows")
    g.answer(dict.fromkeys(map(ssp, range(3)), 0), 0)
    assert g.release([ssp(2)]) is None
    assert released(g) == (1, "rows", False)


def test_a_parent_that_has_ended_is_waited_for_no_more():
    g = gate()
    g.hold(ssp(1), "rows")
    g.answer(dict.fromkeys(map(ssp, range(3)), 9), 0)
    g.passed(ssp(0), 4, ended=True)
    assert released(g) == (1, "rows", False)


def test_a_grandchild_waits_for_the_held_batch_of_its_parent():
    g = gate()
    g.hold(ssp(2), "later")
    g.hold(ssp(1), "earlier")
    g.answer({ssp(0): 1, ssp(1): 1, ssp(2): 1}, 0)
    g.passed(ssp(0), 1, ended=False)
    assert released(g) == (1, "earlier", False)
    assert released(g) is None
    g.passed(ssp(1), 1, ended=False)
    assert released(g) == (2, "later", False)


def test_the_first_ends_after_the_grace_period_are_the_last_to_wait_for():
    g = gate()
    g.hold(ssp(1), "rows")
    ends = dict.fromkeys(map(ssp, range(3)), 0)
    g.answer(ends, GRACE_END - 1)
    assert released(g) == (1, "rows", False)
    g.hold(ssp(1), "more")
    g.answer(ends, GRACE_END)
    assert released(g) == (1, "more", True)
    assert g.younger.keys() == {ssp(2)}


def test_an_empty_partition_follows_until_it_has_rows():
    g = gate(empty=(1, 2))
    assert list(g.following) == []
    assert g.streams_to_ask == {"in"}
    g.answer({ssp(0): 3, ssp(1): 0, ssp(2): 2}, 0)
    assert list(g.following) == [ssp(1)]
    g.passed(ssp(2), 2, ended=False)
    assert set(g.following) == {ssp(1), ssp(2)}
    g.hold(ssp(1), "rows")
    assert list(g.following) == [ssp(2)]


def test_ends_that_lack_a_parent_are_asked_for_again():
    g = gate()
    g.hold(ssp(1), "rows")
    g.answer({ssp(1): 4}, 0)
    assert g.streams_to_ask == {"in"}
    assert released(g) is None
