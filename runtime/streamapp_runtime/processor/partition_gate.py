"""The order of a key's rows across an expansion: which batches wait for which partitions (docs/expansion.md).

A key's earlier rows may lie in an older partition of the same stream, a *parent*, and its later ones in a younger one.
So a batch of a younger partition waits until every parent has been read up to the end that it had after the batch was
fetched: what was written to a parent before a row of the batch lies below that end. A partition waits only for smaller
ones of its stream, and for an end that stands still, so every wait comes to its end.

After the grace period no producer writes a key to an older partition any more. The first ends that were asked for after
it are the last ones a partition waits for. That holds for one that is read long after the growth, too.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from streamapp_core.ssp import Ssp

BatchT = TypeVar("BatchT")


@dataclass(frozen=True, slots=True, kw_only=True)
class YoungerPartition:
    """A partition that came with an expansion: its parents, and when its grace period ends (ms since 1970)."""

    parents: tuple[Ssp, ...]
    until: int


@dataclass(slots=True, kw_only=True)
class _Held(Generic[BatchT]):
    """The batches that wait until `ends` (None: not asked for yet) have been reached; those that have are removed."""

    batches: list[BatchT]
    ends: list[tuple[Ssp, int]] | None = None
    last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Released(Generic[BatchT]):
    """The batches of a partition that may be processed. After the `last` ones to wait, it is gated no more."""

    ssp: Ssp
    batches: list[BatchT]
    last: bool


@dataclass(slots=True)
class PartitionGate(Generic[BatchT]):
    """The decision which batches wait. At most what one poll brought is held of each partition: the rest stays unread.

    `younger` are the gated partitions. `positions` are the offsets up to which they and their parents have been
    processed. `empty` are gated partitions of which no row has been read so far.
    """

    younger: dict[Ssp, YoungerPartition]
    positions: dict[Ssp, int]
    empty: set[Ssp]
    _ended: set[Ssp] = field(default_factory=set)
    _held: dict[Ssp, _Held[BatchT]] = field(default_factory=dict)
    _first_ends: dict[Ssp, int] = field(default_factory=dict)

    @property
    def waiting(self) -> Collection[Ssp]:
        """The partitions with a batch that waits: nothing more is to be read of them."""
        return self._held.keys()

    @property
    def following(self) -> Iterator[Ssp]:
        """The gated partitions that have been read to an end and had no row yet."""
        return (ssp for ssp in self.empty if ssp in self._first_ends and self.positions[ssp] >= self._first_ends[ssp])

    @property
    def streams_to_ask(self) -> frozenset[str]:
        """The streams whose ends must be asked for now: of partitions whose end is not known, or of held batches."""
        unknown = [ssp for ssp, held in self._held.items() if held.ends is None]
        return frozenset(ssp.stream for ssp in (*unknown, *(self.empty - self._first_ends.keys())))

    def hold(self, ssp: Ssp, batch: BatchT) -> None:
        """Hold the next batch of a gated partition, perhaps the next of several that one poll brought."""
        held = self._held.setdefault(ssp, _Held(batches=[]))
        assert held.ends is None, "what was fetched after the question is not covered by the answer"
        held.batches.append(batch)
        self.empty.discard(ssp)

    def answer(self, ends: Mapping[Ssp, int], asked_at: int) -> None:
        """Note the ends that were asked for: per partition the offset after its last record, committed or not.

        Records of a transaction that is still open count: others of them may lie before rows that are committed.
        `asked_at` is the time of day before the question (ms since 1970).
        """
        for ssp in self.empty & ends.keys():
            self._first_ends.setdefault(ssp, ends[ssp])
        for ssp, held in self._held.items():
            younger = self.younger[ssp]
            if held.ends is None and ends.keys() >= set(younger.parents):
                held.ends = [(parent, ends[parent]) for parent in younger.parents]
                held.last = asked_at >= younger.until

    def passed(self, ssp: Ssp, position: int, *, ended: bool) -> None:
        """Note up to which offset a partition has been processed, and whether it has ended."""
        if ssp in self.positions:
            self.positions[ssp] = position
            if ended:
                self._ended.add(ssp)

    def release(self, ssps: Iterable[Ssp]) -> Released[BatchT] | None:
        """Return the held batches of one of these partitions that wait for nothing any more; None if there are none.

        Call `passed` for them before the next call: what they let pass depends on it.
        """
        for ssp in sorted(self._held.keys() & set(ssps)):
            held = self._held[ssp]
            if self._may_go(held):
                del self._held[ssp]
                if held.last:
                    del self.younger[ssp]
                return Released(ssp=ssp, batches=held.batches, last=held.last)
        return None

    def _may_go(self, held: _Held[BatchT]) -> bool:
        if held.ends is None:
            return False
        while held.ends and self._reached(*held.ends[-1]):
            held.ends.pop()
        return not held.ends

    def _reached(self, ssp: Ssp, end: int) -> bool:
        return ssp in self._ended or self.positions[ssp] >= end
