"""The coalescing of polls into large batches while there is a backlog: operators cost less per row in them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.decoding_input_source import InputSource
from streamapp_runtime.rows.decoded_batch import DecodedBatch

_FEW_ROWS = 10_000
"""A poll that returns fewer has caught up with its partitions."""
_FIRST_ROWS, _LEAST_ROWS = 1_000, 100
"""The sizes of the first batch and of the smallest: a user's function may take a hundredth of a second per row."""
_SECONDS = 2.0
"""The time that operators should take for one batch of all partitions: commits and commands wait for them, and brokers
abort transactions that are open for long."""
_NONE: Mapping[Ssp, Collection[int]] = MappingProxyType({})
_SHRINKS, _GROWS = 1 / 16, 8.0
"""The factors by which a batch may differ from the previous one."""


class BatchCoalescer:
    """An input source that polls another one until there are enough rows, or no more are available.

    Enough is what the operators process in about two seconds, by how long they took for the last batch.
    """

    def __init__(
        self, inputs: InputSource, clock: Callable[[], float], later_starts: Mapping[Ssp, Collection[int]] = _NONE
    ) -> None:
        """Wrap an input source; `clock` counts seconds. No two batches are joined over one of `later_starts`."""
        self._inputs = inputs
        self._later_starts = later_starts
        self._clock = clock
        self._enough = _FIRST_ROWS
        self._last_rows = 0
        self._last_at = clock()

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[DecodedBatch]:
        """See `InputSource.poll`."""
        self._adapt()
        limit = self._enough = min(max_rows, self._enough)
        batches: dict[Ssp, list[DecodedBatch]] = {}
        rows = more = 0
        while rows < limit and (not batches or more >= _FEW_ROWS):
            more = 0
            for batch in self._inputs.poll(ssps, limit - rows, 0.0 if batches else timeout):
                batches.setdefault(batch.ssp, []).append(batch)
                more += 0 if batch.rows is None else len(batch.rows)
            rows += more
            if not more:
                break
        self._last_rows, self._last_at = rows, self._clock()
        for ssp, of_partition in batches.items():
            for part in _parts(of_partition, self._later_starts.get(ssp, ())):
                yield from _joined(part)

    def _adapt(self) -> None:
        """Adapt the size of a batch to how long the last one took, unless that was much smaller."""
        if 2 * self._last_rows >= self._enough:
            seconds = max(self._clock() - self._last_at, _SECONDS / 100)
            self._enough = max(int(self._enough * min(max(_SECONDS / seconds, _SHRINKS), _GROWS)), _LEAST_ROWS)


def _parts(batches: Sequence[DecodedBatch], starts: Collection[int]) -> Iterator[Sequence[DecodedBatch]]:
    """Yield consecutive batches of a partition that may be joined: none but the last ends where a task begins."""
    part: list[DecodedBatch] = []
    for batch in batches:
        part.append(batch)
        if batch.next_offset in starts:
            yield part
            part = []
    if part:
        yield part


def _joined(batches: Sequence[DecodedBatch]) -> Sequence[DecodedBatch]:
    """Join consecutive batches of a partition into one, unless their rows have different columns."""
    rows = [batch.rows for batch in batches if batch.rows is not None]
    if len(batches) == 1 or any(table.schema != rows[0].schema for table in rows):
        return batches
    not_used: Counter[str] = Counter()
    for batch in batches:
        not_used.update(batch.not_used)
    joined = replace(
        batches[-1],
        rows=pa.concat_tables(rows) if rows else None,
        controls=tuple(control for batch in batches for control in batch.controls),
        sequence=tuple(number for batch in batches for number in batch.sequence),
        ended=any(batch.ended for batch in batches),
        not_used=dict(not_used),
        bad_rows=tuple(bad for batch in batches for bad in batch.bad_rows),
        dead_letters=tuple(letter for batch in batches for letter in batch.dead_letters),
    )
    return [joined]
