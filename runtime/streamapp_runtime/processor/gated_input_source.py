"""An input source that keeps the order of a key's rows across an expansion (see `PartitionGate`)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan, PlannedStream
from streamapp_core.ssp import Ssp
from streamapp_core.tasks import ExpansionRefusedError
from streamapp_core.tasks.parent_partitions import parents
from streamapp_runtime.processor.decoding_input_source import InputSource
from streamapp_runtime.processor.partition_gate import PartitionGate, YoungerPartition
from streamapp_runtime.processor.task_assembly import AssembledTasks
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.state.checkpoint import InputPosition
from streamapp_runtime.tasks.task import Task

_LEAST_ROWS = 1_000
_NEVER = 2**63 - 1
"""The end of the grace period of a growth at an unknown time."""


def gate_inputs(
    inputs: InputSource,
    plan: Plan,
    model: JobModel,
    assembled: AssembledTasks,
    *,
    written_offsets: Callable[[Collection[str]], Mapping[Ssp, int]],
    time_of_day: Callable[[], int],
) -> InputSource:
    """Return the inputs gated where streams have grown, else as they are; for the parameters see `GatedInputSource`."""
    positions, owners = assembled.positions, assembled.routing.inputs
    younger = younger_partitions(plan, model, positions)
    if not younger:
        return inputs
    members = {*younger, *(parent for gated in younger.values() for parent in gated.parents)}
    gate: PartitionGate[DecodedBatch] = PartitionGate(
        younger,
        {ssp: positions[ssp].offset for ssp in members},
        {ssp for ssp in younger if not positions[ssp].rows},
    )
    return GatedInputSource(inputs, gate, owners=owners, written_offsets=written_offsets, time_of_day=time_of_day)


def younger_partitions(
    plan: Plan, model: JobModel, positions: Mapping[Ssp, InputPosition]
) -> dict[Ssp, YoungerPartition]:
    """Return those of some partitions that came with an expansion and may still have to wait for others.

    A stream that every task reads may have grown in a way that no algorithm accepts: then nothing is known of where its
    keys were, and nothing waits.
    """
    younger: dict[Ssp, YoungerPartition] = {}
    for name in sorted({ssp.stream for ssp in positions}):
        stream = plan.streams[name]
        mine = [ssp for ssp in positions if ssp.stream == name and ssp.partition >= stream.initial_partitions]
        waiting = [ssp for ssp in mine if not positions[ssp].ungated]
        if waiting and (initial := _initial_partitions(plan, stream)):
            grown_at = model.streams[name].grown_at
            until = _NEVER if grown_at is None else grown_at + plan.app.spec.job.expansion_grace_period
            for ssp in waiting:
                older = tuple(ssp._replace(partition=partition) for partition in parents(ssp.partition, initial))
                younger[ssp] = YoungerPartition(parents=older, until=until)
    return younger


def _initial_partitions(plan: Plan, stream: PlannedStream) -> Sequence[int]:
    try:
        return plan.expansion.initial_partitions(stream.partitions, stream.initial_partitions)
    except ExpansionRefusedError:
        return ()


class GatedInputSource:
    """An input source of which some partitions wait for others."""

    def __init__(
        self,
        inputs: InputSource,
        gate: PartitionGate[DecodedBatch],
        *,
        owners: Mapping[Ssp, Sequence[Task]],
        written_offsets: Callable[[Collection[str]], Mapping[Ssp, int]],
        time_of_day: Callable[[], int],
    ) -> None:
        """Wrap an input source; `owners` are the tasks by the partitions they own (side inputs have none).

        `written_offsets` asks for the offset after the last record, committed or not, per partition of some streams.
        """
        self._inputs = inputs
        self._gate = gate
        self._owners = owners
        self._written_offsets = written_offsets
        self._time_of_day = time_of_day

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[DecodedBatch]:
        """Yield what there is of these partitions and may be processed.

        All gated partitions together hold about as many rows as one poll returns.
        """
        younger = self._gate.younger
        if not younger:
            yield from self._inputs.poll(ssps, max_rows, timeout)
            return
        yield from self._passing(self._inputs.poll([ssp for ssp in ssps if ssp not in younger], max_rows, timeout))
        readable = [ssp for ssp in ssps if ssp in younger and ssp not in self._gate.waiting]
        if readable:
            share = max(max_rows // len(younger), _LEAST_ROWS)
            yield from self._passing(self._hold_rows(self._inputs.poll(readable, share, 0.0)))
        if streams := self._gate.streams_to_ask:
            asked_at = self._time_of_day()
            self._gate.answer(self._written_offsets(streams), asked_at)
        yield from self._passing(self._released(ssps))
        self._note_silent_partitions()

    def _passing(self, batches: Iterable[DecodedBatch]) -> Iterator[DecodedBatch]:
        for decoded in batches:
            yield decoded
            self._gate.passed(decoded.ssp, decoded.next_offset, ended=decoded.ended)

    def _hold_rows(self, batches: Iterable[DecodedBatch]) -> Iterator[DecodedBatch]:
        """Hold rows and what follows them; pass on the positions and ends before them, which have no order to keep."""
        for decoded in batches:
            if decoded.rows is None and decoded.ssp not in self._gate.waiting:
                yield decoded
            else:
                self._gate.hold(decoded.ssp, decoded)

    def _released(self, ssps: Collection[Ssp]) -> Iterator[DecodedBatch]:
        while released := self._gate.release(ssps):
            *others, latest = released.batches
            yield from others
            yield replace(latest, ungated=True) if released.last else latest

    def _note_silent_partitions(self) -> None:
        """Note in the tasks which partitions are not silent but wait, and which are empty so far."""
        for ssp in self._gate.waiting:
            for task in self._owners.get(ssp, ()):
                task.wait(ssp)
        for ssp in self._gate.following:
            for task in self._owners.get(ssp, ()):
                task.follow(ssp)
