"""The tasks of a processor and their tables, put together from the plan, and where each partition's rows go."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from streamapp_core.control.source_partition import SourceTiming
from streamapp_core.control.task_watermarks import ControlStates
from streamapp_core.job_model.job_model import TaskModel
from streamapp_core.plan.plan import Plan, PlannedTable, StreamRole
from streamapp_core.ssp import Ssp
from streamapp_runtime.functions.process_function import UserFunction
from streamapp_runtime.processor.processor import InputRouting
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.checkpoint import Position
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.state.unlogged_state import UnloggedState
from streamapp_runtime.tables.side_inputs import SideInputs
from streamapp_runtime.tables.table_opener import TableOpener
from streamapp_runtime.tasks.pipeline_builder import OperatorContext, build_pipeline
from streamapp_runtime.tasks.task import Task
from streamapp_runtime.writing.intermediate_writer import IntermediateWriter
from streamapp_runtime.writing.output_writer import OutputWriter
from streamapp_systems.protocols import FileOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """Tasks, the side inputs of the tables they share, and who reads which partition."""

    tasks: tuple[Task, ...]
    shared: SideInputs
    reading: InputRouting

    @property
    def side_inputs(self) -> tuple[SideInputs, ...]:
        """All side inputs: the shared ones and those of the tasks."""
        return (self.shared, *(task.side_inputs for task in self.tasks))

    @property
    def positions(self) -> dict[Ssp, Position]:
        """How far each partition has been read: of side inputs, by the one of their readers that is behind."""
        positions: dict[Ssp, Position] = {}
        for side_inputs in self.side_inputs:
            for ssp, position in side_inputs.positions.items():
                positions[ssp] = min(position, positions.get(ssp, position), key=lambda known: known.offset)
        return positions | {ssp: position for task in self.tasks for ssp, position in task.positions.items()}


class Assembly:
    """Makes the tasks of one processor and their tables."""

    def __init__(
        self,
        plan: Plan,
        *,
        owned: Mapping[str, TaskModel],
        producers: Mapping[str, Sequence[str]],
        engine: SqlEngine,
        tables: TableOpener,
        writer: IntermediateWriter,
        outputs: Mapping[str, FileOutput],
        functions: Mapping[str, UserFunction],
        output_writer: OutputWriter,
        starts: Mapping[str, Mapping[int, int]],
        time_of_day: Callable[[], int],
    ) -> None:
        """Take the partitions of each task here, and the expected producers of every intermediate stream.

        The tasks write to intermediate streams and to outputs (by stream); `functions` are by operator, and `tables`
        opens their tables. `starts` are the offsets where inputs are read first, by stream and partition.
        """
        self._plan = plan
        self._tasks = owned
        self._owned = {name: task.ssps for name, task in owned.items()}
        self._producers = producers
        self._engine = engine
        self._tables = tables
        self._writer = writer
        self._outputs = outputs
        self._functions = functions
        self._output_writer = output_writer
        self._starts = starts
        self._time_of_day = time_of_day

    def assemble(
        self,
        states: Mapping[str, TaskState],
        *,
        open_unlogged: Callable[[str], UnloggedState],
        open_shared: Callable[[], UnloggedState],
    ) -> Assembled:
        """Make everything on the opened state of the tasks.

        The rest is opened where tables need it: the stores without changelog of a task, and those that tasks share.
        """
        everything = {ssp for ssps in self._owned.values() for ssp in ssps}
        shared = self._tables.side_inputs(
            [table for table in self._filled_by_side_inputs() if table.broadcast], everything, {}, open_shared
        )
        tasks = {
            name: self._task(name, states[name], shared, partial(open_unlogged, name)) for name in sorted(self._owned)
        }
        return Assembled(tasks=tuple(tasks.values()), shared=shared, reading=self._reading(tasks, shared))

    def _task(
        self, name: str, state: TaskState, shared: SideInputs, open_unlogged: Callable[[], UnloggedState]
    ) -> Task:
        ssps = self._owned[name]
        bad_rows, written = BadRows(), Counter[str]()
        side_inputs = self._side_inputs(name, state, open_unlogged)
        logged = {
            planned.name: self._tables.table(planned, state.logged_store(planned.name), bad_rows)
            for planned in self._plan.tables.values()
            if not planned.spec.side_inputs
        }
        around = OperatorContext(
            number=self._tasks[name].changelog_partition,
            engine=self._engine,
            writer=self._writer,
            output_writer=self._output_writer,
            tables={**shared.tables, **side_inputs.tables, **logged},
            outputs=self._outputs,
            written=written,
            state=state,
            functions=self._functions,
            bad_rows=bad_rows,
        )
        read = [ssp for ssp in ssps if self._role(ssp) is not StreamRole.SIDE_INPUT]
        inputs = {ssp.stream for ssp in read}
        expected: dict[str, Sequence[str] | None] = {s: tasks for s, tasks in self._producers.items() if s in inputs}
        expected |= dict.fromkeys(stream for stream in inputs if self._is_of_another_app(stream))
        sources = inputs - expected.keys()
        states = ControlStates(
            [(ssp.stream, ssp.partition) for ssp in read],
            producers=expected,
            sources={stream: self._timing(stream) for stream in sources},
            now=self._time_of_day(),
        )
        return Task(
            name,
            starts={ssp: self._starts.get(ssp.stream, {}).get(ssp.partition, 0) for ssp in read},
            pipeline=build_pipeline(self._plan, around),
            states=states,
            state=state,
            side_inputs=side_inputs,
            bad_rows=bad_rows,
            written=written,
            sources=sources,
            produces=[stream for stream, tasks in self._producers.items() if name in tasks],
        )

    def _side_inputs(self, name: str, state: TaskState, open_unlogged: Callable[[], UnloggedState]) -> SideInputs:
        """Open the tables of a task that side inputs fill."""
        ssps, checkpoint = self._owned[name], state.checkpoint
        known = {} if checkpoint is None else checkpoint.positions
        offsets = {
            ssp: position.offset
            for ssp in ssps
            if (position := known.get(ssp.stream, {}).get(ssp.partition)) is not None
        }
        own = [table for table in self._filled_by_side_inputs() if not table.broadcast]
        return self._tables.side_inputs(own, ssps, offsets, open_unlogged)

    def _filled_by_side_inputs(self) -> list[PlannedTable]:
        return [table for table in self._plan.tables.values() if table.spec.side_inputs]

    def _reading(self, tasks: Mapping[str, Task], shared: SideInputs) -> InputRouting:
        side_inputs: dict[Ssp, list[SideInputs | Task]] = {ssp: [shared] for ssp in shared.positions}
        intermediate: dict[Ssp, list[Task]] = {}
        inputs: dict[Ssp, list[Task]] = {}
        for task in tasks.values():
            for ssp in task.side_inputs.positions:
                side_inputs.setdefault(ssp, []).append(task)
            for ssp in task.positions:
                owners = intermediate if self._role(ssp) is StreamRole.INTERMEDIATE else inputs
                owners.setdefault(ssp, []).append(task)
        return InputRouting(side_inputs=side_inputs, intermediate=intermediate, inputs=inputs)

    def _role(self, ssp: Ssp) -> StreamRole:
        return self._plan.streams[ssp.stream].role

    def _is_of_another_app(self, stream: str) -> bool:
        """Tell whether control messages come in a stream that no task here writes."""
        planned = self._plan.streams[stream]
        return planned.shared and planned.role is StreamRole.INPUT

    def _timing(self, stream: str) -> SourceTiming:
        spec = self._plan.streams[stream].spec
        if spec is None or spec.event_time is None:
            return SourceTiming()
        time = spec.event_time
        return SourceTiming(max_out_of_orderness=time.max_out_of_orderness, idle_timeout=time.idle_timeout)
