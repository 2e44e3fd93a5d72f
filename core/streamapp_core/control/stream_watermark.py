"""The watermark of one stream for one task: the minimum over the partitions that the task owns."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.control.intermediate_partition_watermark import IntermediatePartition
from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.control.rising_minimum import RisingMinimum
from streamapp_core.control.source_partition_watermark import SourcePartition


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkHolder:
    """The partition, and the producer, that keep a watermark from advancing.

    Attributes:
        partition: of the stream.
        producer: the task with the lowest watermark, if the stream is an intermediate one and the task is known.
        watermark: how far it is, in ms; None: it has not reported.
    """

    partition: int
    producer: str | None
    watermark: int | None


class StreamWatermark:
    """The watermark over partitions. Ended and idle ones are left out; when all have ended, the stream has."""

    __slots__ = ("_minimum", "_open", "partitions")

    def __init__(self, partitions: Mapping[int, IntermediatePartition | SourcePartition]) -> None:
        self.partitions = partitions
        self._minimum: RisingMinimum[int] = RisingMinimum()
        self.restore(None)

    @property
    def ended(self) -> bool:
        """Whether all partitions have ended."""
        return not self._open

    @property
    def watermark(self) -> int | None:
        """The event time that the stream has reached, in ms; None before each partition has one."""
        return self._minimum.value if self._open else END_OF_TIME

    @property
    def idle(self) -> bool:
        """Whether all partitions that have not ended are idle, or follow such, and there is one."""
        live = [self.partitions[partition] for partition in self._open]
        return any(state.idle for state in live) and all(state.idle or not state.contributes for state in live)

    def refresh(self, *partitions: int) -> None:
        """Follow changes of partitions that happened at one time."""
        for partition in partitions:
            state = self.partitions[partition]
            if state.contributes:
                self._minimum.put(partition, state.watermark)
            else:
                self._minimum.remove(partition)
            if state.ended:
                self._open.discard(partition)
        self._minimum.advance()

    def restore(self, watermark: int | None) -> None:
        """Restore a watermark, with the partitions as they are."""
        self._open = {partition for partition, state in self.partitions.items() if not state.ended}
        self._minimum.value = watermark
        self._minimum.reset(
            {partition: state.watermark for partition, state in self.partitions.items() if state.contributes}
        )

    def held_back_by(self) -> WatermarkHolder | None:
        """Return the partition that holds the watermark back, the first of several; None if none does."""
        partitions, watermark = self._minimum.lowest_members()
        if not partitions:
            return None
        partition = min(partitions)
        state = self.partitions[partition]
        producer = state.held_back_by() if isinstance(state, IntermediatePartition) else None
        return WatermarkHolder(partition=partition, producer=producer, watermark=watermark)
