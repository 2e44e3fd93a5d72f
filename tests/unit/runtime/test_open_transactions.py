"""A processor writes where nothing is open any more, or says what is."""

import pytest

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.open_transactions import wait_until_ended
from streamapp_systems.protocols import Unavailable

HERE, THERE = Ssp("hub", "out", 0), Ssp("hub", "out", 1)
WRITTEN = {HERE: 40, THERE: 7}


class Partitions:
    """Partitions in which transactions end as time goes by."""

    def __init__(self, *ends):
        self.now = 0.0
        self._ends = ends

    def wait(self):
        wait_until_ended(WRITTEN, self._read, {"out": "team.out"}, clock=lambda: self.now, sleep=self._sleep)

    def _read(self):
        return [ends for since, ends in self._ends if since <= self.now][-1]

    def _sleep(self, seconds):
        self.now += seconds


@pytest.mark.parametrize("ends", [WRITTEN, {HERE: 90, THERE: 8}])
def test_nobody_waits_where_nothing_was_open(ends):
    partitions = Partitions((0.0, ends))
    partitions.wait()
    assert partitions.now == 0.0


def test_transactions_of_others_are_waited_for_and_later_ones_are_not():
    partitions = Partitions((0.0, {HERE: 30, THERE: 7}), (14.0, {HERE: 41, THERE: 7}))
    partitions.wait()
    assert 14.0 <= partitions.now < 15.0


def test_one_that_stays_open_is_told_with_its_place_and_its_end():
    with pytest.raises(Unavailable, match=r"hub\.out\[1\]: .*--topic team\.out --partition 1 --start-offset 5 "):
        Partitions((0.0, {HERE: 40, THERE: 5})).wait()
