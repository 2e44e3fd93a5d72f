"""The tasks of a processor and their tables, assembled from the plan, and the routing of what is read to them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from streamapp_core.control.source_partition_watermark import SourceTiming
from streamapp_core.control.task_watermarks import TaskWatermarks
from streamapp_core.plan.plan import Plan, PlannedTable, StreamRole
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.broadcast_progress import continued_checkpoints
from streamapp_runtime.processor.side_input_bootstrap import BatchReceiver
from streamapp_runtime.processor.state_opener import StateOpener
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.state.checkpoint import Checkpoint, InputPosition
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.tables.lookup_table import LookupTable
from streamapp_runtime.tables.side_inputs import SideInputs
from streamapp_runtime.tasks.pipeline_builder import build_pipeline
from streamapp_runtime.tasks.task import Task
from streamapp_runtime.tasks.task_context import ProcessorContext, TaskContext


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRouting:
    """The partitions that a processor reads, and who receives the rows of each: a broadcast stream goes to several."""

    side_inputs: Mapping[Ssp, Sequence[BatchReceiver]]
    intermediate: Mapping[Ssp, Sequence[Task]]
    inputs: Mapping[Ssp, Sequence[Task]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembledTasks:
    """The tasks of a processor, the side inputs of the tables they share, and the routing of its inputs."""

    tasks: tuple[Task, ...]
    shared: SideInputs
    routing: InputRouting

    @property
    def side_inputs(self) -> tuple[SideInputs, ...]:
        """All side inputs: the shared ones and those of the tasks."""
        return (self.shared, *(task.side_inputs for task in self.tasks))

    @property
    def positions(self) -> dict[Ssp, InputPosition]:
        """The position of each partition: that of the reader that is furthest behind; it waits as long as any does."""
        known: defaultdict[Ssp, list[InputPosition]] = defaultdict(list)
        readers: list[SideInputs | Task] = [*self.side_inputs, *self.tasks]
        for reader in readers:
            for ssp, position in reader.positions.items():
                known[ssp].append(position)
        return {ssp: _furthest_behind(positions) for ssp, positions in known.items()}

    @property
    def later_starts(self) -> Mapping[Ssp, frozenset[int]]:
        """The offsets from which on some tasks take a partition that others are behind in.

        Tasks that were in several processors have read a broadcast stream up to different places, and new tasks nothing
        of it.
        """
        offsets: defaultdict[Ssp, set[int]] = defaultdict(set)
        for task in self.tasks:
            for ssp, position in task.positions.items():
                offsets[ssp].add(position.offset)
        return {ssp: frozenset(known - {min(known)}) for ssp, known in offsets.items() if len(known) > 1}


def _furthest_behind(positions: Sequence[InputPosition]) -> InputPosition:
    behind = min(positions, key=lambda position: position.offset)
    return msgspec.structs.replace(behind, ungated=all(position.ungated for position in positions))


def assemble_tasks(context: ProcessorContext, states: Mapping[str, TaskState], opener: StateOpener) -> AssembledTasks:
    """Make all tasks of a processor on their opened states.

    Stores without a changelog, of a task or shared, are opened where tables need them.
    """
    partitions = {ssp for task in context.tasks.values() for ssp in task.ssps}
    shared = context.tables.open_side_inputs(
        [table for table in _filled_by_side_inputs(context.plan) if table.broadcast],
        partitions,
        {},
        partial(opener.open_shared, context.processor),
    )
    checkpoints = continued_checkpoints(context, {name: states[name].checkpoint for name in context.tasks})
    tasks = [
        _task(context, name, states[name], shared, opener, checkpoint=checkpoints.get(name))
        for name in sorted(context.tasks)
    ]
    return AssembledTasks(tasks=tuple(tasks), shared=shared, routing=_routing(context.plan, tasks, shared))


def _task(
    processor: ProcessorContext,
    name: str,
    state: TaskState,
    shared: SideInputs,
    opener: StateOpener,
    *,
    checkpoint: Checkpoint | None,
) -> Task:
    plan, bad_rows = processor.plan, BadRows()
    side_inputs = _side_inputs(processor, name, state, opener)
    context = TaskContext(
        processor=processor,
        name=name,
        state=state,
        tables={**shared.tables, **side_inputs.tables, **_logged_tables(processor, state, bad_rows)},
        written=Counter(),
        bad_rows=bad_rows,
    )
    read = [ssp for ssp in processor.tasks[name].ssps if _role(plan, ssp) is not StreamRole.SIDE_INPUT]
    producers = _expected_producers(processor, {ssp.stream for ssp in read})
    sources = {ssp.stream for ssp in read} - producers.keys()
    control = TaskWatermarks(
        [(ssp.stream, ssp.partition) for ssp in read],
        producers=producers,
        sources={stream: _timing(plan, stream) for stream in sources},
        now=processor.monotonic_milliseconds(),
    )
    return Task(
        context,
        checkpoint=checkpoint,
        starts={ssp: processor.starts.get(ssp.stream, {}).get(ssp.partition, 0) for ssp in read},
        pipeline=build_pipeline(context),
        control=control,
        side_inputs=side_inputs,
        sources=sources,
        produces=[stream for stream, tasks in processor.producers.items() if name in tasks],
    )


def _logged_tables(processor: ProcessorContext, state: TaskState, bad_rows: BadRows) -> dict[str, LookupTable]:
    """Open the tables of a task that its own rows fill."""
    return {
        planned.name: processor.tables.open_table(planned, state.logged_store(planned.name), bad_rows)
        for planned in processor.plan.tables.values()
        if not planned.spec.side_inputs
    }


def _side_inputs(processor: ProcessorContext, name: str, state: TaskState, opener: StateOpener) -> SideInputs:
    """Open the tables of a task that side inputs fill."""
    ssps, checkpoint = processor.tasks[name].ssps, state.checkpoint
    known = {} if checkpoint is None else checkpoint.positions
    positions = {
        ssp: position for ssp in ssps if (position := known.get(ssp.stream, {}).get(ssp.partition)) is not None
    }
    own = [table for table in _filled_by_side_inputs(processor.plan) if not table.broadcast]
    return processor.tables.open_side_inputs(
        own,
        ssps,
        {ssp: position.offset for ssp, position in positions.items()},
        partial(opener.open_unlogged, name),
        checkpoint_versions={ssp: position.version for ssp, position in positions.items()},
    )


def _expected_producers(processor: ProcessorContext, streams: set[str]) -> dict[str, Sequence[str] | None]:
    """Return the tasks whose watermarks each stream waits for; None where control messages name them (another app)."""
    expected: dict[str, Sequence[str] | None] = {s: tasks for s, tasks in processor.producers.items() if s in streams}
    return expected | dict.fromkeys(stream for stream in streams if _is_of_another_app(processor.plan, stream))


def _routing(plan: Plan, tasks: Sequence[Task], shared: SideInputs) -> InputRouting:
    side_inputs: dict[Ssp, list[SideInputs | Task]] = {ssp: [shared] for ssp in shared.positions}
    intermediate: dict[Ssp, list[Task]] = {}
    inputs: dict[Ssp, list[Task]] = {}
    for task in tasks:
        for ssp in task.side_inputs.positions:
            side_inputs.setdefault(ssp, []).append(task)
        for ssp in task.positions:
            receivers = intermediate if _role(plan, ssp) is StreamRole.INTERMEDIATE else inputs
            receivers.setdefault(ssp, []).append(task)
    return InputRouting(side_inputs=side_inputs, intermediate=intermediate, inputs=inputs)


def _filled_by_side_inputs(plan: Plan) -> list[PlannedTable]:
    return [table for table in plan.tables.values() if table.spec.side_inputs]


def _role(plan: Plan, ssp: Ssp) -> StreamRole:
    return plan.streams[ssp.stream].role


def _is_of_another_app(plan: Plan, stream: str) -> bool:
    """Return whether control messages come in a stream that no task here writes."""
    planned = plan.streams[stream]
    return planned.shared and planned.role is StreamRole.INPUT


def idle_timeouts(plan: Plan) -> Mapping[str, int]:
    """Return the idle timeouts of the inputs that have one, by stream, in ms; another app's stream tells itself."""
    inputs = [name for name, stream in plan.streams.items() if stream.role is StreamRole.INPUT and not stream.shared]
    timings = {name: _timing(plan, name) for name in inputs}
    return {name: time.idle_timeout for name, time in timings.items() if time.idle_timeout is not None}


def _timing(plan: Plan, stream: str) -> SourceTiming:
    spec = plan.streams[stream].spec
    if spec is None or spec.event_time is None:
        return SourceTiming()
    time = spec.event_time
    return SourceTiming(max_out_of_orderness=time.max_out_of_orderness, idle_timeout=time.idle_timeout)
