"""Fairness between partitions: the one that has waited longest comes first."""

from collections.abc import Collection, Iterable

from streamapp_core.ssp import Ssp

MINIMUM_SHARE = 1_000
"""Rows: a poll of many partitions leaves some for the next poll rather than fetch a few rows of each."""


class FairOrder:
    """The order in which partitions are served. Not thread-safe."""

    def __init__(self, ssps: Iterable[Ssp]) -> None:
        self._waiting = dict.fromkeys(sorted(ssps))

    def order(self, ssps: Collection[Ssp]) -> list[Ssp]:
        """Order these partitions, longest waiting first; unknown ones are left out."""
        wanted = frozenset(ssps)
        return [ssp for ssp in self._waiting if ssp in wanted]

    def served(self, ssp: Ssp) -> None:
        """Move this partition to the end of the order."""
        del self._waiting[ssp]
        self._waiting[ssp] = None

    def drop(self, ssp: Ssp) -> None:
        """Remove a partition that will bring nothing more."""
        del self._waiting[ssp]


def share(limit: int, partitions: int) -> int:
    """Return how many of `limit` rows each of these partitions (at least one) may have in one poll."""
    return max(-(-limit // partitions), min(limit, MINIMUM_SHARE))
