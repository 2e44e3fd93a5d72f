"""The bootstrap of a processor: its side inputs are read first, so rows find whole tables (docs/adjunct-stores.md)."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.decoding_input_source import InputSource
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.tables.side_inputs import SideInputs

_POLL_ROWS = 100_000
_SAVED_ROWS = 500_000
"""Rows after which stores commit: what they have not committed is held in memory."""
_WAIT_SECONDS = 0.02


class BatchReceiver(Protocol):
    """A receiver of what is read of a partition: a task, or the side inputs that all tasks share."""

    def take(self, decoded: DecodedBatch) -> None:
        """Process what was read of one partition."""
        ...


class SideInputBootstrap:
    """The reading of side inputs up to the ends they had when the processor started.

    With that each table of one stream is a snapshot of it in this processor, each of several streams in its task: the
    ends of the partitions were read at one time. Other processors may have read them earlier or later.
    """

    def __init__(
        self, inputs: InputSource, receivers: Mapping[Ssp, Sequence[BatchReceiver]], side_inputs: Sequence[SideInputs]
    ) -> None:
        """Take the receivers of each partition, and all side inputs: those of the tasks and those that they share."""
        self._inputs = inputs
        self._receivers = receivers
        self._side_inputs = side_inputs
        self._uncommitted = 0

    @property
    def done(self) -> bool:
        """Whether the side inputs have reached the ends that other inputs wait for."""
        return not any(owner.bootstrap_lag() for owner in self._side_inputs)

    def step(self) -> None:
        """Poll once; commit the stores at the end, and before it when much is uncommitted.

        A partition that has reached its end is read further: others may wait for new rows of it (see `PartitionGate`).
        """
        for decoded in self._inputs.poll(self._receivers, _POLL_ROWS, _WAIT_SECONDS):
            self._uncommitted += 0 if decoded.rows is None else len(decoded.rows)
            for receiver in self._receivers[decoded.ssp]:
                receiver.take(decoded)
        if self._uncommitted >= _SAVED_ROWS or self.done:
            self._uncommitted = 0
            for owner in self._side_inputs:
                owner.commit()
