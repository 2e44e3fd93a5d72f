"""The interface between a task and its operators."""

from collections.abc import Callable, Mapping
from typing import Protocol

import pyarrow as pa

InputPort = Callable[[pa.Table], pa.Table | None]
"""Processes a batch (never an empty one) of one input and returns the rows emitted for it at once."""


class TaskOperator(Protocol):
    """One operator of the graph in one task, its inputs aside. Used by one thread.

    Batches carry the hidden event time as their last column, in and out. None stands for no rows. Batches
    and `advance_watermark` come first, then `flush` before each commit.
    """

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Close what ends at or before this watermark (milliseconds): emit its results and delete its state.

        No row before the watermark is expected any more. Watermarks only grow; the end of all inputs is the highest
        one there is. Very many results are emitted some at a time: the operator `has_pending_results` then, and is
        called with the watermark again.
        """
        ...

    def resume(self, watermark: int) -> None:
        """Continue at the watermark that was reached before a restart, before any batch comes: nothing is emitted."""
        ...

    @property
    def has_pending_results(self) -> bool:
        """Whether results of the last watermark have not been emitted yet."""
        ...

    def flush(self) -> None:
        """Write what is in memory to the task's stores: they commit next."""
        ...

    def counters(self) -> Mapping[str, int]:
        """Return how many rows were not used, by reason (`late`, `undated`), since the start."""
        ...


class Operator(TaskOperator, Protocol):
    """A task operator that processes the rows of all its inputs alike."""

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `InputPort`."""
        ...


class BaseOperator:
    """Defaults for operators: watermarks close nothing, nothing is in memory, every row is used."""

    def advance_watermark(self, watermark: int) -> pa.Table | None:  # noqa: ARG002 - the protocol's
        """See `Operator.advance_watermark`."""
        return None

    def resume(self, watermark: int) -> None:
        """See `Operator.resume`."""

    @property
    def has_pending_results(self) -> bool:
        """See `Operator.has_pending_results`."""
        return False

    def flush(self) -> None:
        """See `Operator.flush`."""

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {}
