"""Where new tasks of an app without state begin in streams that every task reads.

All tasks process the rows of such a stream, but only one of them, the broadcast writer, writes what comes of them. In
an app without state the others need none of the rows that were there before them: those may be many, or deleted.
"""

from collections.abc import Collection, Mapping

from streamapp_core.control.control_snapshot import ControlSnapshot
from streamapp_core.job_model.job_model import JobModel
from streamapp_core.plan.plan import Plan
from streamapp_core.ssp import Ssp
from streamapp_runtime.state.checkpoint import Checkpoint
from streamapp_runtime.tasks.task_context import ProcessorContext


def continued_checkpoints(
    context: ProcessorContext, checkpoints: Mapping[str, Checkpoint | None]
) -> Mapping[str, Checkpoint]:
    """Return the checkpoint that each task of a processor continues from: its own, or part of that of another one.

    In an app without state a task without a checkpoint takes over where another one is in the broadcast streams, with
    positions, watermarks and ends: of each stream, the one that is furthest behind. Tasks that are not in the result
    begin where the run began.
    """
    known = {task: checkpoint for task, checkpoint in checkpoints.items() if checkpoint is not None}
    new = checkpoints.keys() - known.keys() - {context.broadcast_writer}
    if context.plan.stateful or not known or not new:
        return known
    streams = {name for name, stream in context.plan.streams.items() if stream.broadcast}
    return known | dict.fromkeys(new, _broadcast_part(list(known.values()), streams))


def _broadcast_part(checkpoints: Collection[Checkpoint], streams: Collection[str]) -> Checkpoint:
    behind = {
        stream: min(having, key=lambda checkpoint: _read(checkpoint, stream))
        for stream in sorted(streams)
        if (having := [checkpoint for checkpoint in checkpoints if stream in checkpoint.positions])
    }
    snapshots = {stream: checkpoint.snapshot() for stream, checkpoint in behind.items()}
    control = ControlSnapshot(
        watermarks={stream: snapshot.watermarks.get(stream) for stream, snapshot in snapshots.items()},
        intermediate=tuple(
            part for stream, snapshot in snapshots.items() for part in snapshot.intermediate if part.stream == stream
        ),
        sources=tuple(
            part for stream, snapshot in snapshots.items() for part in snapshot.sources if part.stream == stream
        ),
    )
    return Checkpoint(
        positions={stream: checkpoint.positions[stream] for stream, checkpoint in behind.items()},
        control=control.model_dump_json(),
        not_used={},
        received={stream: checkpoint.received.get(stream, {}) for stream, checkpoint in behind.items()},
    )


def _read(checkpoint: Checkpoint, stream: str) -> int:
    return sum(position.offset for position in checkpoint.positions[stream].values())


def streams_read_for_others(plan: Plan, model: JobModel, processor: str) -> frozenset[str]:
    """Return the broadcast streams of which nothing that a processor reads has an effect: the writer is in another."""
    if plan.stateful or model.tasks[model.broadcast_writer].processor == processor:
        return frozenset()
    return frozenset(name for name, stream in plan.streams.items() if stream.broadcast)


def raise_starts(starts: Mapping[str, Mapping[int, int]], oldest: Mapping[Ssp, int]) -> Mapping[str, Mapping[int, int]]:
    """Return the starts by stream and partition, none of them before the oldest offset of its partition, if known."""
    raised = {stream: dict(offsets) for stream, offsets in starts.items()}
    for ssp, offset in oldest.items():
        offsets = raised.setdefault(ssp.stream, {})
        offsets[ssp.partition] = max(offsets.get(ssp.partition, 0), offset)
    return raised
