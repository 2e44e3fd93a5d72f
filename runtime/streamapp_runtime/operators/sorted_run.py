"""Rows of one side of a join, sorted so that a whole batch finds its matches by one binary search."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

RowIndices = npt.NDArray[np.int64]
_TIME_BITS = 32
_LATEST = (1 << _TIME_BITS) - 1


@dataclass(frozen=True, slots=True)
class TimeOrder:
    """An order of rows by hash, then event time, as one number; times far apart lose their last bits."""

    earliest: int
    shift: int

    @classmethod
    def over(cls, times: npt.NDArray[np.int64]) -> "TimeOrder":
        """Return the order that distinguishes these times as finely as possible."""
        earliest, latest = int(times.min()), int(times.max())
        return cls(earliest, max((latest - earliest).bit_length() - _TIME_BITS, 0))

    def numbers(self, hashes: npt.NDArray[np.uint32], times: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
        """Encode hashes and times, also times before or after those it was chosen for."""
        offsets = np.clip((times - self.earliest) >> self.shift, 0, _LATEST).astype(np.uint64)
        order: npt.NDArray[np.uint64] = (hashes.astype(np.uint64) << np.uint64(_TIME_BITS)) | offsets
        return order


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Rows (at least one) in the order that `sorted_order` gave: by the hash of their key, then by event time.

    `matched` marks those that have matched or were emitted alone: they are not emitted alone again. It is the
    only field that changes.
    """

    hashes: npt.NDArray[np.uint32]
    times: npt.NDArray[np.int64]
    matched: npt.NDArray[np.bool_]
    earliest: int = field(init=False)
    latest: int = field(init=False)
    order: TimeOrder = field(init=False, repr=False)
    numbers: npt.NDArray[np.uint64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        order = TimeOrder.over(self.times)
        object.__setattr__(self, "earliest", order.earliest)
        object.__setattr__(self, "latest", int(self.times.max()))
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "numbers", order.numbers(self.hashes, self.times))

    def __len__(self) -> int:
        return len(self.hashes)

    def matches(self, other: "SortedRun", before: int, after: int) -> tuple[RowIndices, RowIndices]:
        """Find the pairs with equal hashes, the other row at most `before` milliseconds earlier and `after` later.

        Returns the indices in this run, and those of their matches in the other one.
        """
        if self.latest + after < other.earliest or self.earliest - before > other.latest:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        first = np.searchsorted(other.numbers, other.order.numbers(self.hashes, self.times - before), "left")
        last = np.searchsorted(other.numbers, other.order.numbers(self.hashes, self.times + after), "right")
        mine, theirs = indices_of_ranges(first, last)
        apart = other.times[theirs] - self.times[mine]
        near = (-before <= apart) & (apart <= after)
        return mine[near], theirs[near]


def sorted_order(hashes: npt.NDArray[np.uint32], times: npt.NDArray[np.int64]) -> RowIndices:
    """Return the order in which rows form a sorted run."""
    return np.argsort(TimeOrder.over(times).numbers(hashes, times))


def indices_of_ranges(first: RowIndices, last: RowIndices) -> tuple[RowIndices, RowIndices]:
    """Return all indices of ranges [first, last), one after the other, and before them the number of their range."""
    counts = last - first
    numbers = np.repeat(np.arange(len(counts)), counts)
    return numbers, np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts - first, counts)
