"""The tasks of a processor and their tables, put together from the plan, and where each partition's rows go."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.control.source import SourceTiming
from streamapp_core.control.states import ControlStates
from streamapp_core.job_model.model import TaskModel
from streamapp_core.plan.model import Plan, PlannedTable, StreamRole
from streamapp_core.ssp import Ssp
from streamapp_runtime.functions.function import Function
from streamapp_runtime.processor.intermediate import IntermediateWriter
from streamapp_runtime.processor.processor import Reading
from streamapp_runtime.sql.engine import SqlEngine
from streamapp_runtime.state.memory import MemoryEnvironment
from streamapp_runtime.state.protocol import Environment, Store
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.tables.fill_sql import fill_sql
from streamapp_runtime.tables.table import Table
from streamapp_runtime.tasks.bad_rows import BadRows
from streamapp_runtime.tasks.build import Surroundings, build_pipeline
from streamapp_runtime.tasks.task import Task
from streamapp_systems.arrow_types import arrow_schema, arrow_type
from streamapp_systems.protocols import FileOutput, Producer


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """Tasks and tables, and which partition is read for which of them."""

    tasks: tuple[Task, ...]
    tables: Mapping[str, Sequence[Table]]
    reading: Reading


class Assembly:
    """Makes the tasks of one processor and their tables."""

    def __init__(
        self,
        plan: Plan,
        *,
        owned: Mapping[str, TaskModel],
        producers: Mapping[str, Sequence[str]],
        engine: SqlEngine,
        writer: IntermediateWriter,
        outputs: Mapping[str, FileOutput],
        written: Counter[str],
        functions: Mapping[str, Function],
        producer: Producer,
        time_of_day: Callable[[], int],
    ) -> None:
        """Take the partitions of each task here, and the expected producers of every intermediate stream.

        The tasks write to intermediate streams and to outputs (by stream), whose rows `written` counts; `functions`
        are by operator.
        """
        self._plan = plan
        self._tasks = owned
        self._owned = {name: task.ssps for name, task in owned.items()}
        self._producers = producers
        self._engine = engine
        self._writer = writer
        self._outputs = outputs
        self._written = written
        self._functions = functions
        self._producer = producer
        self._time_of_day = time_of_day
        self._tables: dict[str, list[Table]] = {}
        self._fills: dict[Ssp, list[Table]] = {}

    def assemble(self, states: Mapping[str, TaskState], shared: Environment) -> Assembled:
        """Make everything on the opened state of the tasks, and on that which they share (broadcast tables)."""
        everything = {ssp for ssps in self._owned.values() for ssp in ssps}
        broadcast = self._open_tables(everything, _is_shared, lambda table: shared.store(table.name))
        tasks = {name: self._task(name, states[name], broadcast) for name in sorted(self._owned)}
        return Assembled(tasks=tuple(tasks.values()), tables=self._tables, reading=self._reading(tasks))

    def _task(self, name: str, state: TaskState, broadcast: Mapping[str, Table]) -> Task:
        ssps = self._owned[name]
        own = self._open_tables(ssps, lambda table: not _is_shared(table), lambda table: _own_store(table, state))
        bad_rows = BadRows()
        around = Surroundings(
            number=self._tasks[name].changelog_partition,
            engine=self._engine,
            writer=self._writer,
            producer=self._producer,
            time_of_day=self._time_of_day,
            tables={**broadcast, **own},
            outputs=self._outputs,
            written=self._written,
            state=state,
            functions=self._functions,
            bad_rows=bad_rows,
        )
        read = [ssp for ssp in ssps if self._role(ssp) is not StreamRole.SIDE_INPUT]
        inputs = {ssp.stream for ssp in read}
        sources = inputs - self._producers.keys()
        states = ControlStates(
            [(ssp.stream, ssp.partition) for ssp in read],
            producers={stream: tasks for stream, tasks in self._producers.items() if stream in inputs},
            sources={stream: self._timing(stream) for stream in sources},
            now=self._time_of_day(),
        )
        return Task(
            name,
            ssps=read,
            pipeline=build_pipeline(self._plan, around),
            states=states,
            state=state,
            bad_rows=bad_rows,
            sources=sources,
            produces=[stream for stream, tasks in self._producers.items() if name in tasks],
        )

    def _open_tables(
        self,
        ssps: Iterable[Ssp],
        wanted: Callable[[PlannedTable], bool],
        store_of: Callable[[PlannedTable], Store],
    ) -> dict[str, Table]:
        """Open the wanted tables, and note which of these partitions fill them."""
        opened = {}
        for planned in filter(wanted, self._plan.tables.values()):
            assert planned.key_type is not None
            store = store_of(planned) if planned.spec.persistent else MemoryEnvironment().store(planned.name)
            columns, key = arrow_schema(planned.schema), arrow_type(planned.key_type)
            table = opened[planned.name] = Table(self._engine, store, fill_sql(planned), key, columns)
            self._tables.setdefault(planned.name, []).append(table)
            for ssp in ssps:
                if ssp.stream in planned.spec.side_inputs:
                    self._fills.setdefault(ssp, []).append(table)
        return opened

    def _reading(self, tasks: Mapping[str, Task]) -> Reading:
        intermediate: dict[Ssp, list[Task]] = {}
        inputs: dict[Ssp, list[Task]] = {}
        for task in tasks.values():
            for ssp in task.positions:
                owners = intermediate if self._role(ssp) is StreamRole.INTERMEDIATE else inputs
                owners.setdefault(ssp, []).append(task)
        return Reading(tables=self._fills, intermediate=intermediate, inputs=inputs)

    def _role(self, ssp: Ssp) -> StreamRole:
        return self._plan.streams[ssp.stream].role

    def _timing(self, stream: str) -> SourceTiming:
        spec = self._plan.streams[stream].spec
        if spec is None or spec.event_time is None:
            return SourceTiming()
        time = spec.event_time
        return SourceTiming(max_out_of_orderness=time.max_out_of_orderness, idle_timeout=time.idle_timeout)


def _is_shared(table: PlannedTable) -> bool:
    """Tell whether all tasks of a processor share the table: what fills it is read once for all of them."""
    return table.broadcast and bool(table.spec.side_inputs)


def _own_store(table: PlannedTable, state: TaskState) -> Store:
    """Open a task's store of a table: filled anew by side inputs at each start, or by the graph and changelogged."""
    return state.emptied_store(table.name) if table.spec.side_inputs else state.logged_store(table.name)
