"""Readers in another order: each partition has all its rows, in their order, however few are fetched at once."""

from collections import defaultdict
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.ssp import Ssp
from streamapp_runtime.app_tests.shuffled_reading import ShuffledConsumer
from streamapp_systems.protocols import FetchedBatch

SSPS = [Ssp("log", "s", partition) for partition in range(3)]


class Partitions:
    """A consumer of partitions with so many records each, whose order is its own."""

    def __init__(self, counts):
        self.left = {ssp: list(range(count)) for ssp, count in zip(SSPS, counts, strict=True)}

    def poll(self, ssps, max_rows, timeout):
        for ssp in sorted(ssps):
            if self.left[ssp]:
                taken, self.left[ssp] = self.left[ssp][:max_rows], self.left[ssp][max_rows:]
                return [FetchedBatch(ssp=ssp, offset=taken[0], next_offset=taken[-1] + 1)]
        return []


def read(counts, rows, random):
    consumer = ShuffledConsumer(Partitions(counts), rows, random)
    return [batch for _ in range(sum(counts)) for batch in consumer.poll(SSPS, 100, 0)]


@given(st.tuples(*[st.integers(0, 5)] * 3), st.integers(1, 3), st.randoms())
def test_each_partition_has_all_its_rows_in_their_order(counts, rows, random):
    found = defaultdict(list)
    for batch in read(counts, rows, random):
        assert 0 < batch.next_offset - batch.offset <= rows
        found[batch.ssp] += range(batch.offset, batch.next_offset)
    assert found == {ssp: list(range(count)) for ssp, count in zip(SSPS, counts, strict=True) if count}


def test_the_order_of_partitions_is_drawn():
    orders = {tuple(batch.ssp.partition for batch in read((2, 2, 2), 1, Random(seed))) for seed in range(50)}
    assert len(orders) > 10
