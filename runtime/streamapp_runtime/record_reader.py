"""Reads some records of partitions that no task reads for itself: those at their ends, or from an offset on."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Generic, Protocol, TypeVar

from streamapp_core.ssp import Ssp
from streamapp_systems.protocols import BadRecord, Consumer, FetchedBatch

_POLL_SECONDS = 1.0
_OFFSETS = 2
"""How many offsets are read for a record: in Kafka each transaction takes one for its end."""


class _Placed(Protocol):
    @property
    def offset(self) -> int: ...


Record = TypeVar("Record", bound=_Placed)


class RecordReader(Generic[Record]):
    """Reads records of partitions up to their ends: the last `rows` of each, or the first from an offset on."""

    def __init__(
        self,
        open_consumer: Callable[[], Consumer],
        records: Callable[[FetchedBatch | BadRecord], Iterable[Record]],
        *,
        ends: Mapping[Ssp, int],
        rows: int,
        bounded: bool,
    ) -> None:
        """Take what opens a consumer, and what makes records of a batch; `bounded`: the ends are those of streams."""
        self._open = open_consumer
        self._records = records
        self._ends = ends
        self._bounded = bounded
        self._rows = rows

    def first(self, starts: Mapping[Ssp, int], least: int) -> dict[Ssp, Sequence[Record]]:
        """Read from `starts` on until there are enough records with the offset `least` or a later one."""
        found: dict[Ssp, list[Record]] = {ssp: [] for ssp in starts}
        for ssp, record in self.read(starts, lambda ssp: len(found[ssp]) < self._rows):
            if record.offset >= least and len(found[ssp]) < self._rows:
                found[ssp].append(record)
        return {**found}

    def last(self, firsts: Mapping[Ssp, int]) -> dict[Ssp, Sequence[Record]]:
        """Read the last records, from further ahead where other things have most of the last offsets."""
        found: dict[Ssp, Sequence[Record]] = {}
        missing, offsets = set(firsts), _OFFSETS * self._rows
        while missing:
            starts = {ssp: max(firsts[ssp], self._ends[ssp] - offsets) for ssp in missing}
            kept = {ssp: deque[Record](maxlen=self._rows) for ssp in missing}
            for ssp, record in self.read(starts):
                kept[ssp].append(record)
            found |= kept
            missing = {ssp for ssp in missing if len(kept[ssp]) < self._rows and starts[ssp] > firsts[ssp]}
            offsets *= _OFFSETS
        return found

    def read(
        self, starts: Mapping[Ssp, int], wanted: Callable[[Ssp], bool] = lambda _: True
    ) -> Iterator[tuple[Ssp, Record]]:
        """Read partitions to their ends, or until no more of them is wanted."""
        unread = {ssp for ssp, start in starts.items() if start < self._ends[ssp]}
        if not unread:
            return
        with closing(self._open()) as consumer:
            ends = {ssp: self._ends[ssp] for ssp in unread}
            consumer.assign({ssp: starts[ssp] for ssp in unread}, ends if self._bounded else {})
            while unread:
                fetched: Sequence[FetchedBatch] = ()
                try:
                    fetched = consumer.poll(sorted(unread), self._rows, _POLL_SECONDS)
                except BadRecord as bad:
                    yield from ((bad.ssp, record) for record in self._records(bad))
                for batch in fetched:
                    yield from ((batch.ssp, record) for record in self._records(batch))
                ended = {batch.ssp for batch in fetched if batch.ended or batch.next_offset >= ends[batch.ssp]}
                unread = {ssp for ssp in unread - ended if wanted(ssp)}
