"""Large batches while there is a backlog: what an operator does per key and batch then counts for more rows."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.decoding_input_source import InputSource
from streamapp_runtime.rows.decoded_batch import DecodedBatch

_FEW_ROWS = 10_000
"""A poll that brings fewer has caught up with its partitions."""
_FIRST_ROWS, _LEAST_ROWS = 1_000, 100
"""A function may take a hundredth of a second for each row: nobody knows before the first ones."""
_SECONDS = 2.0
"""How long the operators should take for one batch of all partitions: commits and commands wait for them, and brokers
abort transactions that are open for long."""
_SHRINKS, _GROWS = 1 / 16, 8.0
"""What a batch may be of the one before, at the least and at the most."""


class BatchCoalescer:
    """Polls again and again until there are enough rows, or no more are waiting; see `DecodingInputSource.poll`.

    Enough is what the operators manage in about two seconds, by how long they took last time.
    """

    def __init__(self, inputs: InputSource, clock: Callable[[], float]) -> None:
        """Take what is polled, and a clock that tells seconds."""
        self._inputs = inputs
        self._clock = clock
        self._enough = _FIRST_ROWS
        self._given_rows = 0
        self._given_at = clock()

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[DecodedBatch]:
        """See `DecodingInputSource.poll`."""
        self._learn()
        limit = self._enough = min(max_rows, self._enough)
        parts: dict[Ssp, list[DecodedBatch]] = {}
        rows = more = 0
        while rows < limit and (not parts or more >= _FEW_ROWS):
            more = 0
            for part in self._inputs.poll(ssps, limit - rows, 0.0 if parts else timeout):
                parts.setdefault(part.ssp, []).append(part)
                more += 0 if part.rows is None else len(part.rows)
            rows += more
            if not more:
                break
        self._given_rows, self._given_at = rows, self._clock()
        for of_partition in parts.values():
            yield from _joined(of_partition)

    def _learn(self) -> None:
        """Adapt to how long the last batch took, if it was of the size that is being tried."""
        if 2 * self._given_rows >= self._enough:
            seconds = max(self._clock() - self._given_at, _SECONDS / 100)
            self._enough = max(int(self._enough * min(max(_SECONDS / seconds, _SHRINKS), _GROWS)), _LEAST_ROWS)


def _joined(parts: Sequence[DecodedBatch]) -> Sequence[DecodedBatch]:
    """Make one part of several that follow each other, unless their rows have different columns."""
    rows = [part.rows for part in parts if part.rows is not None]
    if len(parts) == 1 or any(table.schema != rows[0].schema for table in rows):
        return parts
    not_used: Counter[str] = Counter()
    for part in parts:
        not_used.update(part.not_used)
    joined = replace(
        parts[-1],
        rows=pa.concat_tables(rows) if rows else None,
        controls=tuple(control for part in parts for control in part.controls),
        ended=any(part.ended for part in parts),
        not_used=dict(not_used),
        bad_rows=tuple(bad for part in parts for bad in part.bad_rows),
    )
    return [joined]
