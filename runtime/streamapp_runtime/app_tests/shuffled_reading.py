"""Consumers that fetch few rows at once, from partitions in an order that is drawn."""

from collections.abc import Collection, Mapping, Sequence
from random import Random

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import Consumer, EndsAnswer, FetchedBatch


class ShuffledConsumer:
    """A consumer that asks for some of the partitions, and of all only if these have nothing; see `Consumer`."""

    def __init__(self, consumer: Consumer, rows_at_once: int, random: Random) -> None:
        self._consumer = consumer
        self._rows_at_once = rows_at_once
        self._random = random

    def assign(self, starts: Mapping[Ssp, int], ends: Mapping[Ssp, int]) -> None:
        """See `Consumer.assign`."""
        self._consumer.assign(starts, ends)

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Sequence[FetchedBatch]:
        """See `Consumer.poll`."""
        rows = min(max_rows, self._rows_at_once)
        some = self._random.sample(sorted(ssps), self._random.randint(1, len(ssps))) if ssps else ()
        return self._consumer.poll(some, rows, 0) or self._consumer.poll(ssps, rows, timeout)

    def ask_ends(self, ssps: Collection[Ssp]) -> EndsAnswer:
        """See `Consumer.ask_ends`."""
        return self._consumer.ask_ends(ssps)

    def close(self) -> None:
        """See `Consumer.close`."""
        self._consumer.close()
