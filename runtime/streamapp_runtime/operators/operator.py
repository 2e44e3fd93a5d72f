"""What a task asks of its operators."""

from collections.abc import Callable, Mapping
from typing import Protocol

import pyarrow as pa

InputPort = Callable[[pa.Table], pa.Table | None]
"""Takes a batch (never an empty one) of one input and gives out what follows from it at once."""


class TaskOperator(Protocol):
    """One step of the graph in one task, but for its inputs. Used by one thread.

    Batches carry the hidden event time as their last column, in and out. None stands for no rows. First come batches
    and `advance_watermark`, then `flush`.
    """

    def advance_watermark(self, watermark: int) -> pa.Table | None:
        """Learn that no row before this event time (milliseconds) is expected any more; give out what that settles.

        Watermarks only grow; the end of all inputs is the highest one there is. If that is very much, some of it at a
        time: the operator `has_pending_results` then, and is given the watermark again.
        """
        ...

    @property
    def has_pending_results(self) -> bool:
        """Whether the last watermark has settled more than was given out so far."""
        ...

    def flush(self) -> None:
        """Write what is kept in memory to the task's stores: they commit next."""
        ...

    def counters(self) -> Mapping[str, int]:
        """Tell how many rows were not used, by reason (`late`, `undated`), since the start."""
        ...


class Operator(TaskOperator, Protocol):
    """A step whose inputs are all alike."""

    def process(self, rows: pa.Table) -> pa.Table | None:
        """See `InputPort`."""
        ...


class BaseOperator:
    """What operators share to which time means nothing: watermarks settle nothing, no row is unused."""

    def advance_watermark(self, watermark: int) -> pa.Table | None:  # noqa: ARG002 - the protocol's
        """See `Operator.advance_watermark`."""
        return None

    @property
    def has_pending_results(self) -> bool:
        """See `Operator.has_pending_results`."""
        return False

    def flush(self) -> None:
        """See `Operator.flush`."""

    def counters(self) -> Mapping[str, int]:
        """See `Operator.counters`."""
        return {}
